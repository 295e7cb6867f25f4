//! The call pipeline. Every call, from any transport and in any dialect, goes through it; there is no other way to a
//! tool, a resource or a prompt. [`Engine::apply_policies`] is the order of the policies.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::time::Duration;

use futures::FutureExt;
use mainstay_core::{
    Approval, BoxFuture, Call, Caller, Contents, Context, Effect, Error, Kind, Pace, PromptReply, Reply, Result,
    canonical_digest, recorded,
};
use serde_json::{Map, Value};

use crate::policy;
use crate::policy::idempotency::{Claim, Entry};
use crate::policy::record::{AuditSubject, Record, unrecorded};
use crate::target::{PromptTarget, ResolvedTarget, ResourceTarget, ToolTarget};
use crate::{Engine, Lane};

impl Engine {
    /// Calls a tool by any of its names. `args` is an object, or null for none.
    ///
    /// Boxed, as are the next two: otherwise the pipeline is compiled again in every crate that awaits it.
    pub fn call_tool<'a>(
        &'a self,
        name: &'a str,
        args: Value,
        call: Call,
        lane: &'a Lane,
    ) -> BoxFuture<'a, Result<Reply>> {
        let args = if args.is_null() { Value::Object(Map::new()) } else { args };
        Box::pin(self.execute::<ToolTarget>(name, args, call, lane))
    }

    /// Reads a resource.
    pub fn read_resource<'a>(
        &'a self,
        uri: &'a str,
        call: Call,
        lane: &'a Lane,
    ) -> BoxFuture<'a, Result<Vec<Contents>>> {
        Box::pin(self.execute::<ResourceTarget>(uri, Value::String(uri.to_owned()), call, lane))
    }

    /// Renders a prompt.
    pub fn get_prompt<'a>(
        &'a self,
        name: &'a str,
        args: BTreeMap<String, String>,
        call: Call,
        lane: &'a Lane,
    ) -> BoxFuture<'a, Result<PromptReply>> {
        let args = args.into_iter().map(|(name, value)| (name, Value::String(value))).collect();
        Box::pin(self.execute::<PromptTarget>(name, args, call, lane))
    }

    /// Whether the caller's scopes allow this call of a tool. A tool that does not exist is rejected for that instead.
    pub fn permits(&self, caller: &Caller, tool: &str, args: &Value) -> bool {
        let target = ToolTarget::resolve(self.registry(), tool, args);
        target.map_or(true, |target| policy::authorize(caller, target.scopes()).is_ok())
    }

    /// Takes one call from its arrival to its audit entry.
    async fn execute<T: ResolvedTarget>(&self, name: &str, args: Value, call: Call, lane: &Lane) -> Result<T::Output> {
        // Before anything else: a call that waits for a slot has cost nothing yet.
        let permit = self.0.gate.enter(lane, &call.caller.principal, &call.cancel).await?;
        let target = match T::resolve(self.registry(), name, &args) {
            Ok(target) => target,
            Err(error) => {
                let target = format!("{} {}", T::METHOD, recorded(&T::recorded_name(name)));
                return self.reject(&target, name, &call, error).await;
            }
        };
        if !target.effect().changes() {
            return self.run_audited(call, target, args).await;
        }
        // What changes something is finished and recorded even if the client has gone: the transport may drop this
        // future at any moment, but not the task.
        let cancel_if_dropped = call.cancel.clone().drop_guard();
        let engine = self.clone();
        let work = async move {
            // Held until the call is done, not until nobody waits for it any more.
            let _permit = permit;
            engine.run_audited(call, target, args).await
        };
        let result = tokio::spawn(work).await;
        cancel_if_dropped.disarm();
        result.unwrap_or_else(|error| Err(Error::internal(error)))
    }

    /// A call of something that does not exist counts against the rate limits and is recorded like any other.
    async fn reject<O>(&self, target: &str, name: &str, call: &Call, error: Error) -> Result<O> {
        let record = Record::open(self, call, AuditSubject::query(target), String::new());
        let admitted = self.admit(call, name, []).await;
        record.end(Err(admitted.err().unwrap_or(error)), |_| false).await
    }

    /// Applies the policies and writes the audit entries, whatever the outcome.
    async fn run_audited<T: ResolvedTarget>(&self, mut call: Call, target: T, args: Value) -> Result<T::Output> {
        let args_digest = canonical_digest(&args);
        let mut record = Record::open(self, &call, subject(&target, &args), args_digest.clone());
        let result = self.apply_policies(&mut call, &target, args, &args_digest, &mut record).await;
        record.end(result, |output| T::as_reply(output).is_some_and(|reply| reply.failed)).await
    }

    /// The policies: each is applied once, in this order, and the first that fails ends the call.
    async fn apply_policies<T: ResolvedTarget>(
        &self,
        call: &mut Call,
        target: &T,
        args: Value,
        args_digest: &str,
        record: &mut Record,
    ) -> Result<T::Output> {
        self.admit(call, target.label(), target.scopes()).await?;
        if target.tool().is_some()
            && let Some(first) = self.first_result(call).await?
        {
            return replayed::<T>(first);
        }
        // The dialect first: its problems are the ones its clients can understand.
        call.narrowed.as_ref().map_or(Ok(()), |narrowed| narrowed.check(&args))?;
        target.check(&args)?;
        // After the checks: a call with invalid arguments must not use up its key.
        let key = call.idempotency_key.as_deref().filter(|_| target.effect().changes());
        let claim = match self.claim(key, call, target.label(), args_digest).await? {
            Entry::Replay(result) => return replayed::<T>(result),
            Entry::Go(claim) => claim,
        };
        let mut context = self.context(call);
        context.approval = Approval::Effect(target.effect());
        let deadline = self.deadline(call, target.pace());
        let authorized = self.authorize(&mut context, target, &args, args_digest, deadline, record).await;
        if let Err(refusal) = authorized {
            record.mark = context.audit_mark();
            // It was rejected before it ran, so its key may be used again.
            if let Some(claim) = claim {
                claim.abandon(self.0.store.idempotency()).await?;
            }
            return Err(refusal);
        }
        // From here on the outcome is an effect: it is recorded, kept under the key and announced.
        record.ran = true;
        let ran = self.run_approved(target, args, &mut context, args_digest, deadline).await;
        record.mark = context.audit_mark();
        if let Err(error) = self.settle::<T>(claim, &ran).await {
            return Err(unrecorded(error));
        }
        ran.flatten()
    }

    /// The last two that can reject a call: consent of a person, and the audit entry that has to be on disk first.
    async fn authorize<T: ResolvedTarget>(
        &self,
        context: &mut Context,
        target: &T,
        args: &Value,
        args_digest: &str,
        deadline: Duration,
        record: &mut Record,
    ) -> Result<()> {
        if self.consent().is_required(target.tool(), target.effect()) {
            if target.plans() {
                match self.plan(target, args, context, deadline).await? {
                    Some(plan) => self.approve(context, target, args, args_digest, deadline, plan).await?,
                    // It has nothing to change, as the second call of what was done already. Should that be different when
                    // it runs, it is planned again.
                    None => context.approval = Approval::Effect(Effect::Reads),
                }
            } else {
                self.obtain_consent(context, target, args, args_digest, deadline, None).await?;
            }
        }
        record.begin().await?;
        // The client may have gone meanwhile; nothing has happened yet.
        context.check()
    }

    /// Runs the target: within its deadline, cancellable, and without taking the server down if it panics. The outer
    /// error is that of a run that was cut off: what it has done until then is not known. A change that is
    /// [held](Context::hold) is never cut off, but told to stop and awaited.
    pub(crate) async fn run<T: ResolvedTarget>(
        &self,
        target: &T,
        args: Value,
        context: &Context,
        deadline: Duration,
    ) -> Result<Result<T::Output>> {
        let mut work = pin!(AssertUnwindSafe(target.run(args, context)).catch_unwind());
        // A transport drops what only reads when its client goes away; work on other threads has to hear of it.
        let cancel_if_dropped = context.cancel.clone().drop_guard();
        let stopped = match self.within(context, deadline, work.as_mut()).await {
            Ok(done) => {
                cancel_if_dropped.disarm();
                return Ok(done.unwrap_or_else(|panic| Err(panicked(panic.as_ref()))));
            }
            Err(stopped) => stopped,
        };
        context.cancel.cancel();
        if !context.is_held() {
            return Err(stopped);
        }
        // The change goes on where dropping it would not stop it: what it did in the end is the outcome, and until then
        // the call has none.
        match work.await.unwrap_or_else(|panic| Err(panicked(panic.as_ref()))) {
            Err(error) if error.kind == Kind::Cancelled => Ok(Err(nothing_changed(stopped))),
            outcome => Ok(outcome),
        }
    }

    /// Waits on behalf of a call until it is cancelled, the server stops, or time is up.
    pub(crate) async fn within<T>(
        &self,
        context: &Context,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T> {
        tokio::select! {
            // Cancellation first: a call that is cancelled and done at once counts as cancelled.
            biased;
            () = context.cancel.cancelled() => Err(Error::new(Kind::Cancelled, "The call was cancelled.")),
            () = self.0.gate.over.cancelled() => Err(Error::unavailable("The server stopped before this call was finished.")),
            done = tokio::time::timeout(limit, work) => done.map_err(|_| {
                Error::new(Kind::TimedOut, format!("The call took longer than {} s and was stopped.", limit.as_secs_f64()))
            }),
        }
    }

    /// The engine's limit, or the dialect's where that is shorter.
    pub(crate) fn deadline(&self, call: &Call, pace: Pace) -> Duration {
        let limit = match pace {
            Pace::Instant | Pace::Quick => self.settings().deadline_seconds,
            Pace::Long | Pace::Task => self.settings().long_deadline_seconds,
        };
        let limit = Duration::from_secs(limit);
        call.policy.deadline.map_or(limit, |dialect| dialect.min(limit))
    }

    /// Keeps the result under the key, unless the call failed without changing anything: it asked a question, or found a
    /// conflict that can be resolved, and will be made again. What was cut off has no known outcome: its key stays
    /// claimed, so that a second attempt is not a second effect.
    async fn settle<T: ResolvedTarget>(&self, claim: Option<Claim>, ran: &Result<Result<T::Output>>) -> Result<()> {
        let (Some(claim), Ok(result)) = (claim, ran) else { return Ok(()) };
        let keys = self.0.store.idempotency();
        match result {
            Err(error) if error.kind.changed_nothing() => claim.abandon(keys).await,
            Err(error) => claim.finish(keys, Err(error)).await,
            Ok(output) => match T::as_reply(output) {
                Some(reply) => claim.finish(keys, Ok(reply)).await,
                None => claim.abandon(keys).await,
            },
        }
    }
}

/// A kept result as the output of this target.
fn replayed<T: ResolvedTarget>(kept: Result<Reply>) -> Result<T::Output> {
    T::from_reply(kept?).ok_or_else(|| Error::internal("a reply was kept under a key that is no tool's"))
}

/// What the audit, the metrics and the event say about the target.
fn subject<'a, T: ResolvedTarget>(target: &'a T, args: &Value) -> AuditSubject<'a> {
    AuditSubject {
        called: target.called(args),
        target: target.shared_label(),
        display_name: target.display_name(),
        metric: target.metric(),
        effect: target.effect(),
    }
}

/// The error of a call that was stopped before it changed anything.
fn nothing_changed(mut stopped: Error) -> Error {
    stopped.public = format!("{} Nothing was changed.", stopped.public).into();
    stopped
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Error {
    Error::internal(format!("panicked: {}", panic_text(panic)))
}

/// The message of a panic, for the log.
fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
