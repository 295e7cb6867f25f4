//! The name under which people know a tool.

use mainstay_core::ToolInfo;

/// The name people know a tool by: the one it has in contract 001, or the listed one.
pub(crate) fn tool_name(tool: &ToolInfo) -> &str {
    tool.spelling("agents").unwrap_or(&tool.listed)
}
