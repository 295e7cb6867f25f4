//! What the tools share: the client, the sessions' slots, and how an answer becomes a reply.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use mainstay_core::{Annotations, Block, Context, Error, Problem, Reason, Reply, Result, Role};
use mainstay_solana::methods::{ArgumentProblem, CacheClass, Commitment, Method, MethodEffect, Params, RetryClass};
use mainstay_solana::rpc::{Answer, CacheUse, Client, Query, RpcError};
use serde_json::{Map, Value, json};

use super::failure;
use super::metrics::SolanaMetrics;
use super::session_slots::SessionSlots;
use super::settings::{SolanaSettings, invalid_settings};

/// The chain as the tools see it. Cheap to clone.
#[derive(Clone)]
pub(super) struct Chain(Arc<Inner>);

struct Inner {
    client: Client,
    commitment: Commitment,
    deadline: Duration,
    slots: SessionSlots,
    metrics: Arc<SolanaMetrics>,
}

/// What a node answered to a method of the table.
pub(super) struct Reading {
    pub(super) network: String,
    pub(super) value: Value,
    pub(super) slot: Option<u64>,
    pub(super) api_version: Option<String>,
    pub(super) cached: bool,
    pub(super) age: Duration,
}

impl Chain {
    pub(super) fn new(settings: &SolanaSettings) -> Result<Self> {
        let metrics = Arc::new(SolanaMetrics::default());
        let client =
            Client::new(settings.client().map_err(invalid_settings)?, metrics.clone()).map_err(invalid_settings)?;
        let (commitment, deadline) = (settings.commitment, settings.deadline());
        Ok(Self(Arc::new(Inner { client, commitment, deadline, slots: SessionSlots::default(), metrics })))
    }

    pub(super) fn client(&self) -> &Client {
        &self.0.client
    }

    pub(super) fn metrics(&self) -> &Arc<SolanaMetrics> {
        &self.0.metrics
    }

    /// The names of the networks, the default one first.
    pub(super) fn networks(&self) -> Vec<&str> {
        let default = self.0.client.default_network();
        let others = self.0.client.networks().iter().map(|network| network.name.as_str());
        std::iter::once(default).chain(others.filter(|name| *name != default)).collect()
    }

    /// The network that the arguments name, or the default one.
    pub(super) fn network<'a>(&'a self, args: &'a Map<String, Value>) -> &'a str {
        args.get("network").and_then(Value::as_str).unwrap_or_else(|| self.0.client.default_network())
    }

    /// The longest that a call with all its retries takes.
    pub(super) fn deadline(&self) -> Duration {
        self.0.deadline
    }

    /// What is sent for the arguments that a tool was called with.
    pub(super) fn params(&self, method: &Method, args: &Map<String, Value>) -> Result<Params> {
        method.params(args, self.0.commitment).map_err(|problems| invalid(&problems))
    }

    /// Asks a node, with arguments that a tool was called with.
    pub(super) async fn read(
        &self,
        method: &'static Method,
        args: &Map<String, Value>,
        context: &Context,
    ) -> Result<std::result::Result<(Params, Reading), RpcError>> {
        let params = self.params(method, args)?;
        let reading = self.ask(self.network(args), method, &params, context).await;
        Ok(reading.map(|reading| (params, reading)))
    }

    /// Asks a node. A session that has seen a slot of this network is not shown an older state.
    pub(super) async fn ask(
        &self,
        network: &str,
        method: &'static Method,
        params: &Params,
        context: &Context,
    ) -> std::result::Result<Reading, RpcError> {
        let commitment = params.commitment.unwrap_or(self.0.commitment);
        let seen = || context.session.as_ref().and_then(|session| self.0.slots.minimum(session, network, commitment));
        let minimum = params.min_context_slot.or_else(|| params.has_context.then(seen).flatten());
        let mut sent = params.sent.clone();
        if let Some(minimum) = minimum.filter(|_| method.takes_option("minContextSlot"))
            && let Some(Value::Object(options)) = sent.last_mut()
        {
            options.insert("minContextSlot".to_owned(), minimum.into());
        }
        let query = Query {
            network,
            method: method.name,
            params: &sent,
            cache: cache_use(method.cache),
            retry: method.retry == RetryClass::Read && method.effect == MethodEffect::Reads,
            has_context: params.has_context,
            min_context_slot: minimum,
            commitment: params.commitment.map(Commitment::as_str),
            deadline: self.0.deadline,
        };
        let Answer { value, context: answered, cached, age } = self.0.client.query(query).await?;
        let value = serde_json::from_str(value.get()).map_err(|error| RpcError::Malformed {
            network: network.to_owned(),
            host: "unknown".to_owned(),
            reason: error.to_string(),
        })?;
        let slot = answered.as_ref().map(|answered| answered.slot);
        if let (Some(session), Some(slot)) = (&context.session, slot) {
            self.0.slots.saw(session, network, commitment, slot);
        }
        let api_version = answered.and_then(|answered| answered.api_version);
        Ok(Reading { network: network.to_owned(), value, slot, api_version, cached, age })
    }
}

fn cache_use(class: CacheClass) -> CacheUse {
    match class {
        CacheClass::Immutable => CacheUse::Immutable,
        CacheClass::ImmutableIfFinalized => CacheUse::ImmutableIfFinalized,
        CacheClass::Slot => CacheUse::Slot,
        CacheClass::Never => CacheUse::Never,
    }
}

/// What is wrong with arguments beyond what their schema says, every problem at once.
pub(super) fn invalid(problems: &[ArgumentProblem]) -> Error {
    let lines: Vec<String> = problems.iter().map(|problem| format!("- {problem}")).collect();
    let count = match problems.len() {
        1 => "1 problem".to_owned(),
        count => format!("{count} problems"),
    };
    let problem = |problem: &ArgumentProblem| Problem {
        path: format!("/{}", problem.argument),
        rule: "value".to_owned(),
        property: None,
        reason: problem.reason.clone(),
    };
    Error::invalid(format!("The arguments are not valid ({count}).\n{}", lines.join("\n")))
        .with_reason(Reason::Problems(problems.iter().map(problem).collect()))
}

impl Reading {
    /// The envelope that every tool of the table returns.
    pub(super) fn envelope(&self) -> Map<String, Value> {
        let mut envelope =
            Map::from_iter([("network".to_owned(), json!(self.network)), ("value".to_owned(), self.value.clone())]);
        if let Some(slot) = self.slot {
            let mut context = json!({ "slot": slot });
            if let Some(version) = &self.api_version {
                context["apiVersion"] = json!(version);
            }
            envelope.insert("context".to_owned(), context);
        }
        if self.cached {
            envelope.insert("cached".to_owned(), true.into());
            let age = u64::try_from(self.age.as_millis()).unwrap_or(u64::MAX);
            envelope.insert("ageMs".to_owned(), age.into());
        }
        envelope
    }

    /// When the node said so.
    pub(super) fn time(&self, now: Timestamp) -> Timestamp {
        SignedDuration::try_from(self.age).ok().and_then(|age| now.checked_sub(age).ok()).unwrap_or(now)
    }
}

/// The reply with this value. It is of use to the model and to the person, and as old as the node's answer.
pub(super) fn reply(value: Map<String, Value>, modified: Timestamp) -> Reply {
    let value = Value::Object(value);
    let annotations =
        Annotations { audience: vec![Role::User, Role::Assistant], priority: Some(0.8), last_modified: Some(modified) };
    Reply {
        content: vec![Block::text(value.to_string()).annotated(annotations)],
        structured: Some(value),
        failed: false,
    }
}

/// The reply for an error of the chain, which is a result and no error of the protocol.
pub(super) fn failed(error: &RpcError, context: &Context) -> Reply {
    Reply { failed: true, ..reply(failure::of_rpc(error), context.clock.now()) }
}
