//! How a deed is answered, and its rehearsal.

use mainstay_core::{Error, Result};
use mainstay_store::Intent;
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
    pub(crate) fn new(intent: Intent, would: impl FnOnce() -> String, done: impl FnOnce() -> T) -> Self {
        match intent {
            Intent::Act => Self::Done(done()),
            Intent::Rehearse => {
                let message = format!("Would {}", would());
                Self::Rehearsed(Rehearsal { success: true, dry_run: true, message })
            }
        }
    }
}

pub(crate) fn intent(dry_run: bool) -> Intent {
    if dry_run { Intent::Rehearse } else { Intent::Act }
}

/// JSON that was stored.
pub(crate) fn value(json: &str) -> Result<Value> {
    serde_json::from_str(json).map_err(Error::internal)
}
