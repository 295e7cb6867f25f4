//! Makes one change from start to end: plan, approval, commit or dry run. The one way in which a tool changes files.

use mainstay_core::{Context, Result};
use mainstay_sandbox::Workspace;

use crate::planning::commit::DiffInReply;
use crate::planning::limits::ChangeLimits;
use crate::planning::plan::Plan;
use crate::planning::report::Report;

/// The workspace that is changed, and the limits of one change.
#[derive(Debug, Clone)]
pub(crate) struct Planner {
    pub(crate) workspace: Workspace,
    pub(crate) limits: ChangeLimits,
}

impl Planner {
    /// An empty plan for a change by this call.
    pub(crate) fn plan(&self, context: &Context) -> Plan {
        Plan::new(&self.workspace, self.limits, context)
    }

    /// Plans a change, then commits it or, in a dry run, only reports it: the report comes from the same plan either
    /// way. The planner's own result is returned beside the report. What the call is not approved to change is not
    /// committed but returned as [`Reason::Unapproved`](mainstay_core::Reason::Unapproved).
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        context: &Context,
        dry_run: bool,
        diff: DiffInReply,
        planner: impl FnOnce(&mut Plan) -> Result<T> + Send + 'static,
    ) -> Result<(T, Report)> {
        // The commit runs on another thread, which goes on if this future is dropped.
        let _held = (!dry_run).then(|| context.hold());
        let (mut plan, context) = (self.plan(context), context.clone());
        crate::progress::blocking(move || {
            let planned = planner(&mut plan)?;
            if !dry_run {
                plan.check_approval(&context)?;
            }
            Ok((planned, plan.finish(dry_run, diff)?))
        })
        .await
    }
}
