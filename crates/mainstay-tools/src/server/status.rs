//! `server_status`: describes the server and the caller's permissions.

use std::path::PathBuf;
use std::time::Instant;

use mainstay_core::{Context, Effect, Pace, Result, Spec, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::setup::Setup;

/// What does not change while the server runs is kept from its start.
pub(crate) struct Status {
    version: &'static str,
    workspace: PathBuf,
    store: &'static str,
    started: Instant,
}

impl Status {
    pub(crate) fn new(setup: &Setup) -> Self {
        Self {
            version: setup.version,
            // The first root is the workspace; the others are additional directories.
            workspace: setup.workspace.roots()[0].path().to_owned(),
            store: setup.store.engine(),
            started: setup.started,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    version: String,
    /// Directory that the server works on.
    workspace: String,
    /// Storage engine: sqlite or postgres.
    store: String,
    uptime_seconds: u64,
    /// Identity of the caller.
    principal: String,
    /// Scopes of the caller.
    scopes: Vec<String>,
}

impl Tool for Status {
    const SPEC: Spec = Spec {
        title: "Server status",
        description: "Returns the server's version, workspace, storage engine and uptime, and your identity and scopes.",
        pace: Pace::Instant,
        tags: &["diagnostic"],
        ..Spec::new("server", "status", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, _args: Args, context: &Context) -> Result<Output> {
        Ok(Output {
            version: self.version.to_owned(),
            workspace: self.workspace.display().to_string(),
            store: self.store.to_owned(),
            uptime_seconds: self.started.elapsed().as_secs(),
            principal: context.caller.principal.to_string(),
            scopes: context.caller.scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
        })
    }
}
