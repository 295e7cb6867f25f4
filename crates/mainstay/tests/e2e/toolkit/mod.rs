//! The dialect `toolkit`, against its contract and with the families behind it.

mod fixtures;
mod templates;
mod tool_names;
