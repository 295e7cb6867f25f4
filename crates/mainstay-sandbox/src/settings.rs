//! The configuration of file access.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which files the tools may read and change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FilesSettings {
    /// Nothing in the workspace may be changed.
    pub read_only: bool,
    /// Additional directories besides the workspace.
    pub roots: Vec<RootSettings>,
    /// Names to protect besides the default ones; `*` matches any characters.
    pub protect: Vec<String>,
    /// Default protected names that are not to be protected.
    pub unprotect: Vec<String>,
    /// Whether files with several hard links may be read: another of their names may be outside the workspace.
    pub hard_links: HardLinks,
    /// Maximum number of content bytes that one call returns.
    pub read_bytes: u64,
    /// Maximum number of bytes that one call copies. A sparse file counts with its size.
    pub copy_bytes: u64,
    /// Maximum number of paths that one call changes. Each takes file descriptors until the call ends.
    pub change_paths: usize,
    /// Changes of files that programs outside the sandbox run or obey without asking, such as `.mcp.json`, `CLAUDE.md` or
    /// `.vscode/tasks.json`.
    pub auto_run: AutoRunPolicy,
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
            copy_bytes: 4 * 1024 * 1024 * 1024,
            change_paths: 2000,
            auto_run: AutoRunPolicy::Ask,
        }
    }
}

/// A directory besides the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RootSettings {
    pub path: PathBuf,
    #[serde(default)]
    pub read_only: bool,
}

/// How files with several hard links are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HardLinks {
    /// They may be read. A change never writes through a hard link: it puts a new file in its place.
    Allow,
    /// They may not be read.
    Refuse,
}

/// What happens to a change of a file that programs outside the sandbox run or obey.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AutoRunPolicy {
    /// It is made like any other.
    Allow,
    /// A person has to approve it.
    Ask,
    /// It is refused.
    Refuse,
}
