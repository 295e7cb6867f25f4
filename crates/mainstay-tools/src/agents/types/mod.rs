//! Argument and reply types that several tools of the family share.

mod enums;
mod pagination;
pub(crate) mod validation;
mod write_reply;

pub(crate) use enums::*;
pub(crate) use pagination::PageArgs;
pub(crate) use write_reply::{WriteReply, updated_row, write_mode};

use mainstay_core::{Error, Result};
use serde_json::Value;

/// Parses a JSON column. The tools wrote it, so text that does not parse is a fault of ours.
pub(crate) fn stored_json(json: &str) -> Result<Value> {
    serde_json::from_str(json).map_err(Error::internal)
}
