//! `server_status`: describes the server and the caller's permissions.

use mainstay_core::{Context, Effect, Pace, Result, Spec, Tool};

use crate::setup::Setup;

/// What it reports of the server does not change while the server runs, apart from the uptime.
pub(crate) struct Status(pub(crate) Setup);

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {}

#[derive(serde::Serialize, schemars::JsonSchema)]
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
        let setup = &self.0;
        Ok(Output {
            version: setup.version.to_owned(),
            // The first root is the workspace; the others are additional directories.
            workspace: setup.workspace.roots()[0].path().display().to_string(),
            store: setup.store.engine().to_owned(),
            uptime_seconds: setup.started.elapsed().as_secs(),
            principal: context.caller.principal.to_string(),
            scopes: context.caller.scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
        })
    }
}
