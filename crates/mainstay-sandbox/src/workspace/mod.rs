//! Access to user files.
//!
//! A path that a caller names selects a root and a list of names; each name is then opened beneath the root's handle.
//! Where a path leads is decided by opening it, never by comparing strings, so a symbolic link, a `..` or a directory
//! that is exchanged meanwhile cannot lead out of the roots.
//!
//! * [`Workspace`] and [`Root`] (`roots.rs`): which directories are accessible, and with which rules.
//! * [`WorkspacePath`], [`Dir`], [`OpenFile`], [`WriteTarget`]: a path before and after it was opened.
//! * `resolve.rs`: opens names beneath a root. Everything else relies on it.
//! * `change/`: atomic changes of one or several files. `journal.rs`: undoing them after a crash.
//! * [`AtomicDir`]: building a directory and exchanging it for another in one step, without workspace or journal.

mod atomic_dir;
mod change;
mod dir;
mod errors;
mod file;
mod fs_ops;
mod journal;
mod metadata;
mod path;
mod resolve;
mod roots;

pub use atomic_dir::{AtomicDir, AtomicSubdir, ReplaceCheck};
pub use change::{Content, Expect, Staging, Step, StepResult};
pub use dir::{Dir, Entry};
pub use errors::is_outside_workspace;
pub use file::OpenFile;
pub(crate) use fs_ops::DIRECTORY;
pub use metadata::{EntryKind, Metadata, etag_of};
pub use path::{WorkspacePath, WriteTarget};
pub use roots::{Root, Workspace};
