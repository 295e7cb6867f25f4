//! The journal of changes: undoes after a crash what a change of several files had begun.
//!
//! `records.rs` writes a record before the first name changes, `undo.rs` knows how to reverse one step, and
//! `recovery.rs` applies the records that a dead process left behind.

mod records;
mod recovery;
mod undo;

pub(super) use records::{Journal, Record};
pub(super) use undo::{Action, DirLocation, UndoEntry};
