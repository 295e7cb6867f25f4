//! The engine: what happens to every call, whoever makes it and however it arrives.
//!
//! `pipeline.rs` is the order of the policies, `policy/` has one file for each, `target.rs` is what they are applied to,
//! `plan_approval.rs` what a call's plan adds to its arguments, and `audited_query.rs` is for requests that are no calls. The engine knows no wire format and names no dialect: what
//! differs between dialects comes with each call as a `DialectPolicy`.

mod audit_log;
mod audited_query;
mod events;
mod feed;
mod gate;
mod metrics;
mod pipeline;
mod plan_approval;
mod policy;
mod preview;
mod retention;
mod session;
mod settings;
mod target;

use std::sync::Arc;
use std::time::{Duration, Instant};

use mainstay_auth::consent::ConsentPolicy;
use mainstay_auth::{Backend, Observer};
use mainstay_core::{
    Call, Caller, Clock, Context, DialectPolicy, Event, Quota, Registry, Result, Scope, ToolInfo, Watch,
};
use mainstay_store::Store;
use serde_json::Value;

pub use audit_log::{AuditRow, Phase};
pub use events::Events;
pub use feed::{FeedEvent, FeedUpdate, Listener};
pub use gate::Lane;
pub use retention::RetentionSettings;
pub use settings::{EngineSettings, RateSettings};

use gate::Gate;
use metrics::Metrics;
use policy::rate::RateLimits;
use policy::shared_limits::SharedLimits;

/// A handle to the one engine; cloning it is cheap.
#[derive(Clone)]
pub struct Engine(Arc<Parts>);

/// Private to the crate; its modules use the fields directly.
struct Parts {
    settings: EngineSettings,
    registry: Registry,
    store: Store,
    clock: Arc<dyn Clock>,
    started: Instant,
    gate: Gate,
    rate: RateLimits,
    /// Instead of the counters of `rate`, where several replicas have one store.
    shared_limits: Option<SharedLimits>,
    consent: ConsentPolicy,
    metrics: Metrics,
    events: Events,
    announce: Arc<dyn Fn(Event) + Send + Sync>,
}

impl Engine {
    /// Fails if a setting names a tool that the registry does not have.
    pub fn new(settings: EngineSettings, registry: Registry, store: Store, clock: Arc<dyn Clock>) -> Result<Self> {
        let settings = settings.resolved(&registry)?;
        let events = Events::new(clock.clone());
        let announcer = events.clone();
        Ok(Self(Arc::new(Parts {
            gate: Gate::new(&settings),
            rate: RateLimits::new(&settings.rate, registry.all_tools().map(|tool| tool.listed.as_str())),
            shared_limits: store.is_shared().then(|| SharedLimits::new(store.clone(), clock.clone())),
            consent: ConsentPolicy::new(settings.consent.clone(), store.clone(), clock.clone()),
            settings,
            registry,
            store,
            clock,
            started: Instant::now(),
            metrics: Metrics::default(),
            events,
            announce: Arc::new(move |event| announcer.publish(event)),
        })))
    }

    /// The settings in force, with every tool under the name it is listed by.
    pub fn settings(&self) -> &EngineSettings {
        &self.0.settings
    }

    /// What lists show and calls are dispatched to; it stays the same for as long as the server runs.
    pub fn registry(&self) -> &Registry {
        &self.0.registry
    }

    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.0.clock
    }

    /// Watches a resource for a client that wants to hear of its changes. Its provider may have nothing to do for that.
    pub async fn watch_resource(&self, uri: &str) -> Result<Option<Watch>> {
        let Some(provider) = self.registry().provider(uri) else { return Ok(None) };
        let events = self.events().clone();
        provider.watch(uri, Arc::new(move |event| events.publish(event))).await
    }

    /// Where events are published and subscribed to.
    pub fn events(&self) -> &Events {
        &self.0.events
    }

    pub fn uptime(&self) -> Duration {
        self.0.started.elapsed()
    }

    /// Whether a call of this tool with these arguments may wait for the consent of a person.
    pub fn asks_first(&self, tool: &ToolInfo, args: &Value) -> bool {
        self.consent().is_required(Some(tool), tool.effect) || tool.may_ask.is_some_and(|may_ask| may_ask(args))
    }

    /// The name people are shown for a tool, whichever of its spellings is given.
    pub fn display_name(&self, tool: &str) -> Option<String> {
        self.registry().tool(tool).map(|tool| tool.info().display_name().to_owned())
    }

    /// The quota of a dialect: the configured one, or else the one it declares.
    pub fn quota(&self, policy: DialectPolicy) -> Option<Quota> {
        self.0.rate.quota(policy)
    }

    /// Checks the scope that reading lists and metrics needs.
    pub fn admit_reader(&self, caller: &Caller) -> Result<()> {
        policy::authorize(caller, [Some(Scope::Read)])
    }

    /// Counts a list request of the standard protocol against the rate limits, under its method.
    pub async fn admit_listing(&self, caller: &Caller, method: &str) -> Result<()> {
        self.count(caller, None, method, DialectPolicy::default()).await
    }

    /// The share of concurrent calls of a new connection.
    pub fn lane(&self) -> Lane {
        self.0.gate.lane()
    }

    /// The metrics in the text format of Prometheus; gauges are read at this moment.
    pub fn render_metrics(&self) -> Result<String> {
        let metrics = &self.0.metrics;
        metrics.in_flight.set(i64::try_from(self.0.gate.running()).unwrap_or(i64::MAX));
        metrics.store_queue.set(i64::try_from(self.0.store.queued()).unwrap_or(i64::MAX));
        metrics.render(self.uptime(), self.registry().metrics())
    }

    /// Sets the gauge of open sessions.
    pub fn sessions_open(&self, count: usize) {
        self.0.metrics.sessions.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Fails if the store does not answer; for health checks.
    pub async fn healthy(&self) -> Result<()> {
        Ok(self.0.store.ping().await?)
    }

    /// Removes what has expired, and what is more than the settings keep. The binary calls it periodically.
    pub async fn sweep(&self) -> Result<()> {
        self.0.rate.sweep();
        if let Some(shared) = &self.0.shared_limits {
            shared.sweep();
        }
        self.0.store.sweep(self.clock().now_ms()).await?;
        self.apply_retention().await
    }

    /// Rejects new calls and waits for the running ones, at most `drain_seconds`. Returns whether all finished.
    pub async fn drain(&self) -> bool {
        self.0.gate.drain(Duration::from_secs(self.settings().drain_seconds)).await
    }

    /// Drains, then flushes the event feed and closes the store.
    pub async fn shut_down(&self) -> bool {
        let all = self.drain().await;
        self.finish_feed().await;
        if let Err(error) = self.0.store.close().await {
            tracing::error!(%error, "the store did not close cleanly");
        }
        all
    }

    /// The rules of consent, and the requests that wait for a decision.
    pub fn consent(&self) -> &ConsentPolicy {
        &self.0.consent
    }

    /// Store, clock and metrics for the authenticator of a transport. The server hands it on without seeing the store.
    pub fn auth_backend(&self) -> Backend {
        Backend { store: self.0.store.clone(), clock: self.clock().clone(), observer: Arc::new(self.clone()) }
    }

    /// What the tool of this call can reach.
    fn context(&self, call: &mut Call) -> Context {
        Context::new(call, self.0.clock.clone(), self.0.announce.clone())
    }
}

/// Authentication counts its requests in the metrics of the engine.
impl Observer for Engine {
    fn request(&self, operation: &str, outcome: &'static str, took: Duration) {
        self.0.metrics.call(&operation.into(), outcome, took);
    }

    fn audit_gap(&self) {
        self.0.metrics.audit_gaps.inc();
    }
}
