//! Argument and reply types that several tools of the family share.

mod enums;
pub(crate) mod validation;
mod write_reply;

pub(crate) use enums::*;
pub(crate) use write_reply::{WriteReply, updated_row, write_mode};

use mainstay_core::{Error, Result};
use serde_json::Value;

use crate::pagination::PageArgs;

/// The name that a page begins after; empty for the first page.
pub(crate) fn names_after(page: &PageArgs) -> Result<String> {
    page.after().map_or_else(|| Ok(String::new()), |name| validation::name("cursor", name.to_owned()))
}

/// Parses a JSON column. The tools wrote it, so text that does not parse is a fault of ours.
pub(crate) fn stored_json(json: &str) -> Result<Value> {
    serde_json::from_str(json).map_err(Error::internal)
}
