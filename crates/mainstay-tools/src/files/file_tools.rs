//! What every file tool works with.

use mainstay_core::{Context, Effect, Pace, Result, Spec};
use mainstay_sandbox::{FilesSettings, Workspace, names_auto_run};
use serde_json::Value;

use crate::planning::{ChangeLimits, DiffInReply, Plan, Planner, Report};
use crate::walk::page::PageLimits;

/// The workspace and the limits of this family's tools.
#[derive(Debug, Clone)]
pub(crate) struct FileTools {
    pub(crate) workspace: Workspace,
    /// The most bytes of content one call returns.
    pub(crate) read_bytes: u64,
    pub(crate) limits: ChangeLimits,
}

/// The declaration of a tool of this family, before its title and description. Most tools reply at once, and every one
/// that changes something has a dry run.
pub(crate) const fn spec(verb: &'static str, effect: Effect) -> Spec {
    let changes = effect.changes();
    Spec {
        pace: Pace::Instant,
        dry_run: changes,
        plans: changes,
        may_ask: if changes { Some(may_ask) } else { None },
        tags: &["fs"],
        ..Spec::new("files", verb, effect)
    }
}

/// Files that other programs run, and files that lose their content, are usually recognised by the arguments already.
fn may_ask(args: &Value) -> bool {
    let is_empty = |name: &&str| args[*name].as_str().is_some_and(str::is_empty);
    ["content", "content_base64"].iter().any(is_empty) || args["path"].as_str().is_some_and(names_auto_run)
}

/// The arguments of a tool that makes one change.
#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct ChangeArgs<C> {
    #[serde(flatten)]
    pub(crate) change: C,
    /// Change nothing; return what would change, with a unified diff.
    #[serde(default)]
    pub(crate) dry_run: bool,
}

impl FileTools {
    pub(crate) fn new(workspace: &Workspace, settings: &FilesSettings) -> Self {
        Self { workspace: workspace.clone(), read_bytes: settings.read_bytes, limits: ChangeLimits::new(settings) }
    }

    fn planner(&self) -> Planner {
        Planner { workspace: self.workspace.clone(), limits: self.limits }
    }

    /// An empty plan for a change by this call.
    #[cfg(test)]
    pub(crate) fn plan(&self, context: &Context) -> Plan {
        self.planner().plan(context)
    }

    /// See [`Planner::change`].
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        context: &Context,
        dry_run: bool,
        diff: DiffInReply,
        planner: impl FnOnce(&mut Plan) -> Result<T> + Send + 'static,
    ) -> Result<(T, Report)> {
        self.planner().change(context, dry_run, diff, planner).await
    }

    /// Makes one change and returns its report: for the tools that return nothing else.
    pub(crate) async fn report<C: Send + 'static>(
        &self,
        context: &Context,
        args: ChangeArgs<C>,
        planner: fn(C, &mut Plan) -> Result<()>,
    ) -> Result<Report> {
        let ChangeArgs { change, dry_run } = args;
        let changed = self.change(context, dry_run, DiffInReply::Never, move |plan| planner(change, plan));
        changed.await.map(|((), report)| report)
    }

    /// The limits of one page: as many items as the caller wants, and no more bytes than one call may return.
    pub(crate) fn page_limits(&self, items: usize) -> PageLimits {
        PageLimits { items, bytes: usize::try_from(self.read_bytes).unwrap_or(usize::MAX) }
    }
}
