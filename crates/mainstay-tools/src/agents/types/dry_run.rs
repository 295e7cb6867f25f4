//! How a deed is answered, and its rehearsal.

use mainstay_core::{Error, Result};
use mainstay_store::WriteMode;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// What was done, or what would be.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Answer<T> {
    Done(T),
    Rehearsed(Rehearsal),
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Rehearsal {
    success: bool,
    dry_run: bool,
    /// What would have been done.
    message: String,
}

impl<T> Answer<T> {
    /// The deed has been done by the same statements either way; a rehearsal has been undone.
    pub(crate) fn new(intent: WriteMode, would: impl FnOnce() -> String, done: impl FnOnce() -> T) -> Self {
        match intent {
            WriteMode::Commit => Self::Done(done()),
            WriteMode::DryRun => {
                let message = format!("Would {}", would());
                Self::Rehearsed(Rehearsal { success: true, dry_run: true, message })
            }
        }
    }
}

pub(crate) fn intent(dry_run: bool) -> WriteMode {
    if dry_run { WriteMode::DryRun } else { WriteMode::Commit }
}

/// JSON that was stored.
pub(crate) fn value(json: &str) -> Result<Value> {
    serde_json::from_str(json).map_err(Error::internal)
}
