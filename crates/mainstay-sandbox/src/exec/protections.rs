//! The protections of a command, in words, and the results of examining the machine for them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ExecSettings;

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

/// Whether one protection is in force, and what to do if it is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub name: &'static str,
    pub enforced: bool,
    pub what: String,
    /// What the operator can do, if it is not enforced.
    pub remedy: Option<&'static str>,
}

impl Finding {
    /// A protection that is in force.
    pub(super) fn good(name: &'static str, what: impl Into<String>) -> Self {
        Self { name, enforced: true, what: what.into(), remedy: None }
    }

    /// A protection that is not in force, with what the operator can do.
    pub(super) fn missing(name: &'static str, what: impl Into<String>, remedy: &'static str) -> Self {
        Self { name, enforced: false, what: what.into(), remedy: Some(remedy) }
    }
}
