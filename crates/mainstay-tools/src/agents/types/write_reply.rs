//! Replies of tools that change something, and of their dry runs.

use mainstay_core::{Error, Result};
use mainstay_store::{ChangeOutcome, WriteMode};
use schemars::JsonSchema;
use serde::Serialize;

/// The result of a change, or a description of the change if the call was a dry run. The contract has `success` in both;
/// it is always true, because a failed call is answered with an error.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum WriteReply<T> {
    Done {
        success: bool,
        #[serde(flatten)]
        result: T,
    },
    DryRun {
        success: bool,
        dry_run: bool,
        /// What the call would have done.
        message: String,
    },
}

impl<T> WriteReply<T> {
    /// Either way the store has executed the same statements; those of a dry run were rolled back. `would` completes the
    /// sentence "Would …".
    pub(crate) fn new(dry_run: bool, would: impl FnOnce() -> String, result: T) -> Self {
        if dry_run {
            Self::DryRun { success: true, dry_run, message: format!("Would {}", would()) }
        } else {
            Self::Done { success: true, result }
        }
    }
}

/// A dry run executes the same statements and rolls them back, so it fails where the call itself would.
pub(crate) fn write_mode(dry_run: bool) -> WriteMode {
    if dry_run { WriteMode::DryRun } else { WriteMode::Commit }
}

/// The row that a change by id has left, or the error that says why nothing changed. The error names no tool, because
/// each dialect has another name for the one that lists the ids.
pub(crate) fn updated_row<T>(
    changed: ChangeOutcome<T>,
    (noun, id): (&str, i64),
    refusal: impl FnOnce(T) -> Error,
) -> Result<T> {
    match changed {
        ChangeOutcome::Done(row) => Ok(row),
        ChangeOutcome::Rejected(row) => Err(refusal(row)),
        ChangeOutcome::NotFound => {
            Err(Error::not_found(format!("There is no {noun} {id}. List the {noun}s to find the id you mean.")))
        }
    }
}
