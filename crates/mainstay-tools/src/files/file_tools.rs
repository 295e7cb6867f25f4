//! What every file tool works with, and the one way in which they change files.

use mainstay_core::{Context, Effect, Pace, Result, Spec};
use mainstay_sandbox::Workspace;

use crate::files::planning::{DiffInReply, Plan, Report};
use crate::files::walk::page::PageLimits;

/// The workspace and the limits of this family's tools.
#[derive(Debug, Clone)]
pub(crate) struct FileTools {
    pub(crate) workspace: Workspace,
    /// The most bytes of content one call returns.
    pub(crate) read_bytes: u64,
}

/// The declaration of a tool of this family, before its title and description. Most tools reply at once, and every one
/// that changes something has a dry run.
pub(crate) const fn spec(verb: &'static str, effect: Effect) -> Spec {
    Spec { pace: Pace::Instant, dry_run: effect.changes(), tags: &["fs"], ..Spec::new("files", verb, effect) }
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
    /// Plans a change, then commits it or, in a dry run, only reports it: the report comes from the same plan either
    /// way. The planner's own result is returned beside the report.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        context: &Context,
        dry_run: bool,
        diff: DiffInReply,
        planner: impl FnOnce(&mut Plan) -> Result<T> + Send + 'static,
    ) -> Result<(T, Report)> {
        let mut plan = Plan::new(&self.workspace, &context.cancel);
        crate::progress::blocking(move || {
            let planned = planner(&mut plan)?;
            Ok((planned, plan.finish(dry_run, diff)?))
        })
        .await
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
