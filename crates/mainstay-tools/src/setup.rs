//! What the tool families are built from.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use mainstay_sandbox::exec::ExecSettings;
use mainstay_sandbox::{FilesSettings, Workspace};
use mainstay_store::Store;
use serde_json::Value;

use crate::settings::{AgentsSettings, ContextSettings};
use crate::watch::ResourceWatcher;

/// Settings and shared services, handed to each family when it is built.
#[derive(Debug, Clone)]
pub struct Setup {
    pub version: &'static str,
    pub workspace: Workspace,
    pub files: FilesSettings,
    pub exec: ExecSettings,
    pub agents: AgentsSettings,
    pub context: ContextSettings,
    /// The directory of the context caches.
    pub caches: PathBuf,
    pub store: Store,
    /// The OpenAPI description of the server, set once its routes are known.
    pub openapi: Arc<OnceLock<Value>>,
    /// The watcher of files that clients have read as resources. Whoever builds the families runs it.
    pub watcher: ResourceWatcher,
    pub started: Instant,
}
