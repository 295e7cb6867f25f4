//! What the tool families are built from, with the configuration sections of three of them. Those are here and not in the
//! families, because the program reads them before it builds any family.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use mainstay_sandbox::exec::ExecSettings;
use mainstay_sandbox::{FilesSettings, Workspace};
use mainstay_store::Store;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::search::SearchSettings;
use crate::solana::SolanaSettings;
use crate::watch::ResourceWatcher;

/// The OpenAPI description of the server. It is made when somebody asks: most clients on stdio never do.
pub type LazyDocument = Arc<LazyLock<Value, Box<dyn FnOnce() -> Value + Send>>>;

/// Settings and shared services, handed to each family when it is built.
#[derive(Debug, Clone)]
pub struct Setup {
    pub version: &'static str,
    pub workspace: Workspace,
    pub files: FilesSettings,
    pub exec: ExecSettings,
    pub agents: AgentsSettings,
    pub context: ContextSettings,
    pub code: CodeSettings,
    /// The directory in which metrics of source files are kept from one start to the next.
    pub code_cache: PathBuf,
    pub templates: TemplatesSettings,
    pub search: SearchSettings,
    /// The directory of the search indexes.
    pub search_indexes: PathBuf,
    pub solana: SolanaSettings,
    /// The directory of the context caches.
    pub caches: PathBuf,
    pub store: Store,
    pub openapi: LazyDocument,
    /// The watcher of files that clients have read as resources. Whoever builds the families runs it.
    pub watcher: ResourceWatcher,
    pub started: Instant,
}

/// Coordination of a team of agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentsSettings {
    /// Seconds without any call of an agent after which agents_list reports it as not alive.
    pub heartbeat_seconds: u32,
    /// Hours that agents_check_conflicts looks back at activities.
    pub conflict_hours: u32,
}

impl Default for AgentsSettings {
    fn default() -> Self {
        Self { heartbeat_seconds: 90, conflict_hours: 24 }
    }
}

/// Context caches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ContextSettings {
    /// The directory that holds the caches. Default: `caches` in the data directory.
    pub cache_root: Option<PathBuf>,
    /// The maximum duration of a call of the dialect `context`, in seconds.
    #[schemars(range(min = 1))]
    pub tool_timeout_secs: u64,
    /// The maximum size of a reply, in bytes.
    pub reply_bytes: u64,
    /// The maximum memory for indexes of caches, in bytes. A cache whose index does not fit is read from disk for every
    /// call.
    pub memory_bytes: u64,
}

impl Default for ContextSettings {
    fn default() -> Self {
        Self { cache_root: None, tool_timeout_secs: 30, reply_bytes: 64 * 1024 * 1024, memory_bytes: 512 * 1024 * 1024 }
    }
}

/// Analysis of source code and of its history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CodeSettings {
    /// Maximum size of a source file that is analysed, in bytes. A larger one is reported as not measured.
    pub file_bytes: u64,
    /// Maximum number of source files that one call analyses.
    #[schemars(range(min = 1))]
    pub files: usize,
    /// Maximum duration of one run of git, in seconds.
    #[schemars(range(min = 1))]
    pub git_seconds: u64,
}

impl Default for CodeSettings {
    fn default() -> Self {
        Self { file_bytes: 4 * 1024 * 1024, files: 200_000, git_seconds: 300 }
    }
}

/// Templates for new projects.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TemplatesSettings {
    /// Directories with templates of your own, one subdirectory for each; docs/templates.md describes the format.
    pub directories: Vec<PathBuf>,
}
