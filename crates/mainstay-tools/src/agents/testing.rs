//! A team for tests: a fresh store and workspace, and a clock that stands still.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Clock as _, Context, Family, ManualClock, Registry, Result};
use serde_json::{Value, json};

use super::{AgentTools, family};
use crate::setup::Setup;
use crate::testing::setup_in;

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

    pub(crate) fn tools(&self) -> AgentTools {
        AgentTools::new(&self.setup)
    }

    pub(crate) fn family(&self) -> Family {
        family(&self.setup)
    }

    pub(crate) fn root(&self) -> std::path::PathBuf {
        self.directory.path().join("ws")
    }

    pub(crate) fn advance_seconds(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// The time in replies.
    pub(crate) fn now(&self) -> String {
        self.clock.now().to_string()
    }

    /// Calls a tool by any of its names and returns its structured value.
    pub(crate) async fn call(&self, tool: &str, args: Value) -> Result<Value> {
        let mut context = Context::detached();
        context.clock = self.clock.clone();
        let tool = self.registry.tool(tool).unwrap_or_else(|| panic!("there is no tool {tool}"));
        tool.check(&args)?;
        Ok(tool.call(args, &context).await?.structured.unwrap())
    }

    /// Logs an activity that has started.
    pub(crate) async fn start_activity(&self, agent: &str, details: Value) {
        let args =
            json!({"agent": agent, "activity": "work", "category": "task", "status": "started", "details": details});
        self.call("log_activity", args).await.unwrap();
    }
}
