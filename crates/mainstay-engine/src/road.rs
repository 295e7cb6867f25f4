//! The one road of a call. Every transport and every dialect comes through here; there is no other way to a tool.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use mainstay_auth::consent::{ConsentRequest, WaitUntil};
use mainstay_core::{
    AnyTool, BoxFuture, Call, Called, Caller, Context, Effect, Error, Kind, Outcome, Pace, Prompt, Reason, Resources,
    Result, Scope, Target, ToolInfo, canonical_digest, redacted_brief,
};
use serde_json::Value;

use crate::policy::idempotency::{self, Claim, Entry};
use crate::policy::record::{Portrait, Record, unrecorded};
use crate::policy::scope;
use crate::{Engine, Lane, shown};

impl Engine {
    /// Takes one call from its arrival to its record.
    pub async fn call(&self, call: Call, lane: &Lane) -> Result<Outcome> {
        let ticket = self.gate().enter(lane, &call.cancel).await?;
        let deed = match Deed::find(self, &call.target) {
            Ok(deed) => deed,
            Err(error) => return self.turn_away(&call, error).await,
        };
        if !deed.effect().changes() {
            return self.travel(call, deed).await;
        }
        // What changes something is finished and recorded even if the one who asked for it has gone: the transport may
        // drop this future at any moment, but not the task.
        let hurry = call.cancel.clone().drop_guard();
        let engine = self.clone();
        let work = async move {
            // Its place is free when it is done, not when nobody waits for it any more.
            let _ticket = ticket;
            engine.travel(call, deed).await
        };
        let result = tokio::spawn(work).await;
        hurry.disarm();
        result.unwrap_or_else(|error| Err(Error::internal(error)))
    }

    /// A call of something that is not there is counted and recorded like any other.
    async fn turn_away(&self, call: &Call, error: Error) -> Result<Outcome> {
        let (method, name) = (call.target.method(), call.target.label());
        let target = format!("{method} {name}");
        let record = Record::open(self, call, Portrait::unheard(&target, method), String::new());
        let admitted = self.admit(&call.caller, name, call.dialect, []);
        record.end(Err(admitted.err().unwrap_or(error))).await
    }

    async fn travel(&self, mut call: Call, deed: Deed) -> Result<Outcome> {
        let args = take_args(&mut call.target);
        let args_digest = canonical_digest(&args);
        let mut record = Record::open(self, &call, deed.portrait(&args), args_digest.clone());
        let result = self.walk(&mut call, &deed, args, &args_digest, &mut record).await;
        record.end(result).await
    }

    /// The road itself: each rule is asked once, in this order, and the first that says no ends it.
    async fn walk(
        &self,
        call: &mut Call,
        deed: &Deed,
        args: Value,
        args_digest: &str,
        record: &mut Record,
    ) -> Result<Outcome> {
        self.admit(&call.caller, deed.label(), call.dialect, deed.scopes())?;
        if let Some(first) = self.first_result(call, deed).await? {
            return first;
        }
        call.narrowed.as_ref().map_or(Ok(()), |narrowed| narrowed.check(&args))?;
        deed.check(&args)?;
        let claim = match self.claim(call, deed, args_digest).await? {
            Entry::Replay(result) => return result,
            Entry::Go(claim) => claim,
        };
        let context = self.context(call);
        if let Err(refusal) = self.clear(&context, deed, &args, args_digest, record).await {
            self.release(claim).await?;
            return Err(refusal);
        }
        record.run();
        let ran = self.run(deed, args, &context, self.deadline(call, deed)).await;
        if let Err(error) = self.settle(claim, &ran).await {
            return Err(unrecorded(error));
        }
        ran.result()
    }

    /// Whether the caller's scopes allow this call. One of a tool that does not exist is refused for that, not for this.
    pub fn permits(&self, caller: &Caller, tool: &str, args: &Value) -> bool {
        let registry = self.registry();
        registry.tool(tool).is_none_or(|tool| {
            let deed = Deed::Tool { tool: tool.clone(), effect: tool.info().effect_of(args) };
            deed.scopes().all(|needed| scope::allow(caller, needed).is_ok())
        })
    }

    /// What a key that has been used gave, where that counts whatever the key is used for now: the same call, another
    /// one, or one that could not be made.
    async fn first_result(&self, call: &Call, deed: &Deed) -> Result<Option<Result<Outcome>>> {
        let key = call.idempotency_key.as_deref().filter(|_| call.first_result_wins && deed.tool().is_some());
        let Some(key) = key else { return Ok(None) };
        let principal = call.caller.principal.as_str();
        idempotency::first(self.store().idempotency(), principal, key, self.clock().now_ms()).await
    }

    /// Takes the idempotency key, if the call has one and can use it.
    async fn claim(&self, call: &Call, deed: &Deed, args_digest: &str) -> Result<Entry> {
        let asked = idempotency::Asked {
            principal: call.caller.principal.as_str(),
            key: call.idempotency_key.as_deref().filter(|_| deed.effect().changes()),
            first_result_wins: call.first_result_wins,
            target: deed.label(),
            args_digest,
            now_ms: self.clock().now_ms(),
            hours: self.settings().idempotency_hours,
        };
        idempotency::begin(self.store().idempotency(), asked).await
    }

    /// The last that can refuse: a person's consent, and the record that has to be there first.
    async fn clear(
        &self,
        context: &Context,
        deed: &Deed,
        args: &Value,
        args_digest: &str,
        record: &mut Record,
    ) -> Result<()> {
        if self.consent().is_required(deed.tool(), deed.effect()) {
            let (target, display_name, effect) = (deed.label(), deed.shown(), deed.effect());
            let request = ConsentRequest { target, display_name, effect, args, args_digest };
            let timeout = Duration::from_secs(self.settings().deadline_seconds);
            let wait = WaitUntil { timeout, shutdown: &self.gate().over };
            self.consent().obtain(context, &request, &wait).await?;
        }
        record.begin().await?;
        // The one who asked may have gone while this was waited for; then nothing has happened yet.
        context.check()
    }

    /// Runs the deed: within its deadline, stoppable, and without taking the server down if it panics.
    pub(crate) async fn run(&self, deed: &Deed, args: Value, context: &Context, deadline: Duration) -> Ran {
        let work = AssertUnwindSafe(deed.perform(args, context)).catch_unwind();
        match self.within(context, deadline, work).await {
            Ok(Ok(result)) => Ran::ToItsEnd(result),
            Ok(Err(panic)) => Ran::ToItsEnd(Err(Error::internal(format!("panicked: {}", panic_text(panic.as_ref()))))),
            Err(error) => {
                // What goes on elsewhere on behalf of this call learns that nobody waits for it.
                context.cancel.cancel();
                Ran::CutOff(error)
            }
        }
    }

    /// Waits on behalf of a call, no longer than it may last: until it is cancelled, the server stops, or time is up.
    pub(crate) async fn within<T>(
        &self,
        context: &Context,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Result<T> {
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => Err(Error::new(Kind::Cancelled, "The call was cancelled.")),
            () = self.gate().over.cancelled() => Err(Error::unavailable("The server stopped before this call was finished.")),
            done = tokio::time::timeout(limit, work) => done.map_err(|_| {
                Error::new(Kind::TimedOut, format!("The call took longer than {} s and was stopped.", limit.as_secs_f64()))
            }),
        }
    }

    pub(crate) fn deadline(&self, call: &Call, deed: &Deed) -> Duration {
        let limit = match deed.pace() {
            Pace::Instant | Pace::Quick => self.settings().deadline_seconds,
            Pace::Long | Pace::Task => self.settings().long_deadline_seconds,
        };
        let limit = Duration::from_secs(limit);
        call.deadline.map_or(limit, |wish| wish.min(limit))
    }

    async fn release(&self, claim: Option<Claim>) -> Result<()> {
        match claim {
            Some(claim) => claim.abandon(self.store().idempotency()).await,
            None => Ok(()),
        }
    }

    /// Keeps the outcome under the key, unless the call only asked a question and is to be made again. What was cut off
    /// has no known outcome: its key stays taken, so that a second attempt is not a second effect.
    async fn settle(&self, claim: Option<Claim>, ran: &Ran) -> Result<()> {
        match (claim, ran) {
            (Some(claim), Ran::ToItsEnd(result)) if asks(result) => claim.abandon(self.store().idempotency()).await,
            (Some(claim), Ran::ToItsEnd(result)) => claim.finish(self.store().idempotency(), result).await,
            (Some(_), Ran::CutOff(_)) | (None, _) => Ok(()),
        }
    }
}

/// How a deed ended.
pub(crate) enum Ran {
    ToItsEnd(Result<Outcome>),
    /// It was stopped somewhere on its way.
    CutOff(Error),
}

impl Ran {
    pub(crate) fn result(self) -> Result<Outcome> {
        match self {
            Self::ToItsEnd(result) => result,
            Self::CutOff(error) => Err(error),
        }
    }
}

fn asks(result: &Result<Outcome>) -> bool {
    result.as_ref().is_err_and(|error| error.kind == Kind::InputRequired)
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

/// What a target turned out to be.
pub(crate) enum Deed {
    Tool { tool: Arc<dyn AnyTool>, effect: Effect },
    Resource { shelf: Arc<dyn Resources>, uri: String },
    Prompt { prompt: Arc<dyn Prompt>, name: String },
}

impl Deed {
    pub(crate) fn find(engine: &Engine, target: &Target) -> Result<Self> {
        let registry = engine.registry();
        match target {
            Target::Tool { name, args } => match registry.tool(name) {
                Some(tool) if !registry.is_enabled(tool.info()) => Err(Error::unavailable(format!(
                    "The tool {name:?} is switched off on this server (disabled_tools in its configuration)."
                ))),
                Some(tool) => Ok(Self::Tool { tool: tool.clone(), effect: tool.info().effect_of(args) }),
                None => Err(Error::unknown(format!("There is no tool called {name:?}."))),
            },
            Target::Resource { uri } => match registry.shelf(uri) {
                Some(shelf) => Ok(Self::Resource { shelf: shelf.clone(), uri: uri.clone() }),
                None => Err(Error::not_found(format!("There is no resource {uri:?}.")).with_reason(Reason::uri(uri))),
            },
            Target::Prompt { name, .. } => match registry.prompt(name) {
                Some(prompt) => Ok(Self::Prompt { prompt: prompt.clone(), name: name.clone() }),
                None => Err(Error::unknown(format!("There is no prompt called {name:?}."))),
            },
        }
    }

    pub(crate) fn effect(&self) -> Effect {
        match self {
            Self::Tool { effect, .. } => *effect,
            Self::Resource { .. } | Self::Prompt { .. } => Effect::Reads,
        }
    }

    /// A call that does more than its tool's effect says takes the right to both.
    pub(crate) fn scopes(&self) -> impl Iterator<Item = Scope> {
        let (declared, besides) = match self {
            Self::Tool { tool, effect } => (effect.changes().then_some(tool.info().effect), tool.info().scope),
            Self::Resource { .. } | Self::Prompt { .. } => (None, None),
        };
        std::iter::once(self.effect()).chain(declared).map(Effect::scope).chain(besides)
    }

    fn pace(&self) -> Pace {
        match self {
            Self::Tool { tool, .. } => tool.info().pace,
            Self::Resource { .. } | Self::Prompt { .. } => Pace::Quick,
        }
    }

    /// The name in the record, and the one policies are keyed on, whichever spelling the caller used.
    fn label(&self) -> &str {
        match self {
            Self::Tool { tool, .. } => &tool.info().listed,
            Self::Resource { uri, .. } => uri,
            Self::Prompt { name, .. } => name,
        }
    }

    /// The name people know it by.
    fn shown(&self) -> &str {
        self.tool().map_or(self.label(), shown::tool_name)
    }

    fn tool(&self) -> Option<&ToolInfo> {
        match self {
            Self::Tool { tool, .. } => Some(tool.info()),
            Self::Resource { .. } | Self::Prompt { .. } => None,
        }
    }

    /// How it looks in the records.
    fn portrait(&self, args: &Value) -> Portrait<'_> {
        let what = match self {
            Self::Tool { .. } => Called::Tool,
            Self::Resource { .. } => Called::Resource,
            Self::Prompt { .. } => Called::Prompt(Arc::new(redacted_brief(args))),
        };
        Portrait { what, target: self.label(), shown: self.shown(), metric: self.metric(), effect: self.effect() }
    }

    /// The name in the metrics, where a URI a caller made up must not become a time series.
    fn metric(&self) -> Arc<str> {
        match self {
            Self::Tool { tool, .. } => tool.info().listed.as_str().into(),
            Self::Resource { .. } => "resources/read".into(),
            Self::Prompt { .. } => "prompts/get".into(),
        }
    }

    pub(crate) fn check(&self, args: &Value) -> Result<()> {
        match self {
            Self::Tool { tool, .. } => tool.check(args),
            Self::Resource { .. } => Ok(()),
            Self::Prompt { prompt, name } => check_prompt(prompt.as_ref(), name, args),
        }
    }

    fn perform<'a>(&'a self, args: Value, context: &'a Context) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(async move {
            match self {
                Self::Tool { tool, .. } => tool.call(args, context).await.map(Outcome::Reply),
                Self::Resource { shelf, uri } => shelf.read(uri, context).await.map(Outcome::Contents),
                Self::Prompt { prompt, .. } => {
                    let args = serde_json::from_value(args).map_err(Error::internal)?;
                    prompt.render(&args, context).await.map(Outcome::Prompt)
                }
            }
        })
    }
}

/// A target's arguments as one value, for the digest and the rules. A tool may be called without any.
fn take_args(target: &mut Target) -> Value {
    match target {
        Target::Tool { args, .. } if args.is_null() => Value::Object(serde_json::Map::new()),
        Target::Tool { args, .. } => args.take(),
        Target::Resource { uri } => Value::String(std::mem::take(uri)),
        Target::Prompt { args, .. } => {
            std::mem::take(args).into_iter().map(|(name, value)| (name, Value::String(value))).collect()
        }
    }
}

/// Every required argument is there and none is made up; all problems at once, as for tools.
fn check_prompt(prompt: &dyn Prompt, name: &str, args: &Value) -> Result<()> {
    let declared = prompt.info().arguments;
    let missing = declared
        .iter()
        .filter(|a| a.required && args.get(&a.name).is_none())
        .map(|a| format!("{} is required", a.name));
    let given = args.as_object().into_iter().flatten().map(|(key, _)| key);
    let surplus = given
        .filter(|key| declared.iter().all(|a| a.name != **key))
        .map(|key| format!("{key} is not an argument of it"));
    let problems: Vec<String> = missing.chain(surplus).collect();
    if problems.is_empty() {
        return Ok(());
    }
    Err(Error::invalid(format!("The prompt {name:?} cannot be made: {}.", problems.join("; "))))
}
