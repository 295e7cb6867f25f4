//! A team for tests: a fresh store, and a clock that stands still.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Clock as _, Context, Family, ManualClock, Registry, Result};
use mainstay_sandbox::{FilesSettings, Workspace};
use mainstay_store::{Store, StoreOptions};
use serde_json::{Value, json};

use super::{AgentsSettings, Desk, family};
use crate::Setup;
use crate::watch::Watch;

/// What the families are built from, on a workspace in this directory.
async fn setup_in(directory: &tempfile::TempDir) -> Setup {
    let root = directory.path().join("ws");
    std::fs::create_dir(&root).unwrap();
    let url = format!("sqlite:{}", directory.path().join("store.db").display());
    let files = FilesSettings::default();
    let workspace = Workspace::open(&root, &files).unwrap();
    Setup {
        version: "0",
        watch: Watch::new(&workspace),
        workspace,
        files,
        exec: mainstay_sandbox::exec::ExecSettings::default(),
        agents: AgentsSettings::default(),
        context: crate::ContextSettings::default(),
        caches: directory.path().join("caches"),
        store: Store::open(&url, StoreOptions::default()).await.unwrap(),
        openapi: Arc::default(),
        started: std::time::Instant::now(),
    }
}

/// For tests that only look at what is declared: its files are gone already.
pub(crate) async fn setup() -> Setup {
    setup_in(&tempfile::tempdir().unwrap()).await
}

pub(crate) struct Team {
    directory: tempfile::TempDir,
    registry: Registry,
    pub(crate) setup: Setup,
    clock: Arc<ManualClock>,
}

impl Team {
    pub(crate) async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let setup = setup_in(&directory).await;
        let registry = Registry::new(vec![family(&setup)]).unwrap();
        Self { directory, registry, setup, clock: Arc::new(ManualClock::at_ms(1_758_189_600_000)) }
    }

    pub(crate) fn desk(&self) -> Desk {
        Desk {
            store: self.setup.store.clone(),
            settings: self.setup.agents.clone(),
            tally: super::activity_count::Tally::default(),
        }
    }

    pub(crate) fn family(&self) -> Family {
        family(&self.setup)
    }

    pub(crate) fn root(&self) -> std::path::PathBuf {
        self.directory.path().join("ws")
    }

    pub(crate) fn wait_seconds(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// As it is told.
    pub(crate) fn now(&self) -> String {
        self.clock.now().to_string()
    }

    /// Calls a tool by any of its names; gives its structured value.
    pub(crate) async fn call(&self, tool: &str, args: Value) -> Result<Value> {
        let mut context = Context::detached();
        context.clock = self.clock.clone();
        let tool = self.registry.tool(tool).unwrap_or_else(|| panic!("there is no tool {tool}"));
        tool.check(&args)?;
        Ok(tool.call(args, &context).await?.structured.unwrap())
    }

    /// Logs that an agent is at something.
    pub(crate) async fn touches(&self, agent: &str, details: Value) {
        let args =
            json!({"agent": agent, "activity": "work", "category": "task", "status": "started", "details": details});
        self.call("log_activity", args).await.unwrap();
    }
}
