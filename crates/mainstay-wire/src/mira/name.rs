//! The dialect's name, and the names of tools in it.

use mainstay_core::ToolInfo;

pub const NAME: &str = "mira";

/// The name a tool has here: `family/verb`, unless it declares another.
pub(super) fn tool_name(tool: &ToolInfo) -> String {
    tool.spelling(NAME).map_or_else(|| format!("{}/{}", tool.name.family, tool.name.verb), str::to_owned)
}
