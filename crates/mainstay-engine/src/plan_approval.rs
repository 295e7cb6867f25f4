//! Calls that plan their change: what the arguments did not tell is approved or refused before anything happens.

use std::time::Duration;

use mainstay_auth::consent::ConsentRequest;
use mainstay_core::{Approval, Context, Error, Kind, PlannedChange, Reason, Result};
use serde_json::Value;

use crate::Engine;
use crate::policy;
use crate::target::ResolvedTarget;

impl Engine {
    /// What the call would change; `None` if nothing. A call that fails before it changes anything fails here, and nobody is
    /// asked.
    pub(crate) async fn plan<T: ResolvedTarget>(
        &self,
        target: &T,
        args: &Value,
        context: &mut Context,
        deadline: Duration,
    ) -> Result<Option<PlannedChange>> {
        context.approval = Approval::Missing;
        match self.run(target, args.clone(), context, deadline).await?.map_err(unapproved) {
            Err(Ok(plan)) => Ok(Some(plan)),
            Err(Err(error)) => Err(error),
            Ok(_) => Ok(None),
        }
    }

    /// Applies scope and consent to a plan. An approval is bound to the plan's state: it is good for what was there when
    /// the person looked, and for nothing that has taken its place since.
    pub(crate) async fn approve<T: ResolvedTarget>(
        &self,
        context: &mut Context,
        target: &T,
        args: &Value,
        args_digest: &str,
        deadline: Duration,
        plan: PlannedChange,
    ) -> Result<()> {
        policy::authorize(&context.caller, [Some(plan.effect.scope())])?;
        let required = |effect| self.consent().is_required(target.tool(), effect);
        if plan.ask || required(target.effect()) || required(plan.effect) {
            self.obtain_consent(context, target, args, args_digest, deadline, Some(&plan)).await?;
        }
        context.approval = Approval::Plan(plan.state);
        Ok(())
    }

    pub(crate) async fn obtain_consent<T: ResolvedTarget>(
        &self,
        context: &Context,
        target: &T,
        args: &Value,
        args_digest: &str,
        deadline: Duration,
        plan: Option<&PlannedChange>,
    ) -> Result<()> {
        let (timeout, shutdown) = (Duration::from_secs(self.settings().deadline_seconds), &self.0.gate.over);
        let (name, display_name) = (target.label(), target.display_name());
        let effect = plan.map_or(target.effect(), |plan| plan.effect.max(target.effect()));
        let request = ConsentRequest { target: name, display_name, effect, args, args_digest, plan, timeout, shutdown };
        self.consent().obtain(context, &request, self.preview(target, args, context, deadline)).await
    }

    /// Runs the target. A plan that goes further than the call's arguments told is approved or refused, and then the
    /// target runs again.
    pub(crate) async fn run_approved<T: ResolvedTarget>(
        &self,
        target: &T,
        args: Value,
        context: &mut Context,
        args_digest: &str,
        deadline: Duration,
    ) -> Result<Result<T::Output>> {
        if !target.plans() {
            return self.run(target, args, context, deadline).await;
        }
        let plan = match self.run(target, args.clone(), context, deadline).await?.map_err(unapproved) {
            Ok(output) => return Ok(Ok(output)),
            Err(Err(error)) => return Ok(Err(error)),
            Err(Ok(plan)) => plan,
        };
        if matches!(context.approval, Approval::Plan(_)) {
            return Ok(Err(changed_since()));
        }
        if let Err(refusal) = self.approve(context, target, &args, args_digest, deadline, plan).await {
            return Ok(Err(refusal));
        }
        let ran = self.run(target, args, context, deadline).await?;
        Ok(ran.map_err(|error| unapproved(error).map_or_else(|error| error, |_| changed_since())))
    }
}

/// The plan that a call returned instead of an outcome; any other error as it is.
fn unapproved(mut error: Error) -> Result<PlannedChange> {
    match error.reason.take().map(|reason| *reason) {
        Some(Reason::Unapproved(plan)) => Ok(plan),
        reason => Err(Error { reason: reason.map(Box::new), ..error }),
    }
}

/// The plan is not the one that was approved.
fn changed_since() -> Error {
    let line = "What this call changes has changed since it was approved. Nothing was done; make the call again.";
    Error::new(Kind::Conflict, line)
}
