//! The file tree that commands see.
//!
//! `namespaces.rs` creates the namespaces that all commands share, once; `tree.rs` builds the file tree in them;
//! `private.rs` adds what each command has for itself: `/tmp`, `/proc`, terminals, and masks over protected names;
//! `pins.rs` keeps the directories above those in their place.

mod namespaces;
mod pins;
mod private;
mod tree;

pub(super) use namespaces::Namespaces;
pub(super) use pins::{PinFinder, PinnedTree};
pub(super) use private::{MAX_BELOW_TMP, Mask, MaskKind, set_up};
pub(super) use tree::FileTree;
