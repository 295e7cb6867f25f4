//! The journal of changes: undoes after a crash what a change of several files had begun.
//!
//! `records.rs` writes a record before the first name changes, and `undo.rs` knows how to reverse one step. Applying the
//! records that a dead process left behind is up to `change/recovery.rs`.

mod records;
mod undo;

pub(super) use records::{BEGUN, COMPLETED, Journal, Record};
pub(super) use undo::{Action, DirLocation, UndoEntry};
