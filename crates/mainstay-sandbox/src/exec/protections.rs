//! The protections of a command, in words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::settings::ExecSettings;

/// What was in force, and in parentheses what enforced it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Protections {
    /// namespaces, landlock or off.
    pub level: String,
    /// Which files could be read and written.
    pub filesystem: String,
    pub network: String,
    /// Which processes the command could see and signal, and when its own end.
    pub processes: String,
    pub privileges: String,
    /// Whether files such as .env and .git were hidden.
    pub protected_names: String,
    pub limits: String,
}

/// For everything that the sandbox would protect if it were on.
pub(super) const NONE: &str = "none: sandbox = \"off\"";

/// The limits that every process has, on every system.
pub(super) fn limits_of_each(settings: &ExecSettings) -> String {
    format!("{} open files, files of {} MB, no core dumps", settings.open_files, settings.file_mb)
}
