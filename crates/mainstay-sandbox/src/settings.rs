//! The sections of the configuration that say what may be reached.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which files the tools may reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FilesSettings {
    /// Nothing in the workspace may be changed.
    pub read_only: bool,
    /// Directories besides the workspace.
    pub roots: Vec<RootSettings>,
    /// Names to protect besides the usual ones; `*` stands for any run of characters.
    pub protect: Vec<String>,
    /// Names of the usual ones that are not to be protected.
    pub unprotect: Vec<String>,
    /// What to do about a file that has more than one name, some of which may lie elsewhere.
    pub hard_links: HardLinks,
    /// The most bytes of content one call returns unless it asks for fewer.
    pub read_bytes: u64,
}

impl Default for FilesSettings {
    fn default() -> Self {
        Self {
            read_only: false,
            roots: Vec::new(),
            protect: Vec::new(),
            unprotect: Vec::new(),
            hard_links: HardLinks::Allow,
            read_bytes: 4 * 1024 * 1024,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RootSettings {
    pub path: PathBuf,
    #[serde(default)]
    pub read_only: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HardLinks {
    /// Read them; a change never goes through one, because it makes a new file in its place.
    Allow,
    /// Do not read them either.
    Refuse,
}
