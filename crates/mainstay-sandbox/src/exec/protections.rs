//! Which protections a command ran under, in words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::settings::ExecSettings;

/// What was in force, and what enforced it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Protections {
    /// namespaces, landlock or off.
    pub level: String,
    /// Which files could be reached.
    pub filesystem: String,
    pub network: String,
    /// What becomes of processes that outlive their parent, and whom they can see.
    pub processes: String,
    pub privileges: String,
    /// Whether files such as .env and .git were hidden.
    pub protected_names: String,
    pub limits: String,
}

pub(crate) const NONE: &str = "none: sandbox = \"off\"";

/// The limits that every process has wherever it runs.
pub(crate) fn limits_of_each(settings: &ExecSettings) -> String {
    format!("{} open files, files of {} MB, no core dumps", settings.open_files, settings.file_mb)
}
