//! One call: requests to one node after the other until there is an answer or the deadline.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep, timeout_at};

use super::error::RpcError;
use super::fault::{Delivery, Fault};
use super::message::{Received, parse_response, request};
use super::nodes::{Genesis, Network, Node, Selection, Tries};
use super::observer::Observer;
use super::retry::backoff;
use super::settings::ClientSettings;
use super::transport::Transport;

/// Which requests of a call may be followed by another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    /// Any that may succeed later or elsewhere: the method only reads.
    Read,
    /// None: the request itself is sent once at most. Only what comes before it (the check of the chain) may be repeated.
    Never,
}

/// What to ask, of whom and until when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) network: &'a Network,
    pub(super) method: &'a str,
    pub(super) params: &'a [Value],
    pub(super) has_context: bool,
    pub(super) commitment: Option<&'a str>,
    /// Answers for an older slot are not accepted.
    pub(super) minimum: Option<u64>,
    pub(super) deadline: Instant,
    pub(super) repeat: Repeat,
}

/// Why a call failed, and what its last request has done.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    pub(super) error: RpcError,
    pub(super) delivery: Delivery,
}

/// A failed attempt on one node.
struct Attempt {
    fault: Fault,
    /// The request itself was written, not only the check of the chain before it. What was not sent may be tried elsewhere
    /// whatever the method does.
    was_sent: bool,
}

/// Makes the requests of all calls.
pub(super) struct Caller {
    transport: Transport,
    observer: Arc<dyn Observer>,
    settings: ClientSettings,
    /// Ids are not used twice, so that no response can be taken for that to another request.
    next_id: AtomicU64,
}

impl Caller {
    pub(super) fn new(settings: ClientSettings, observer: Arc<dyn Observer>) -> Self {
        let transport = Transport::new(settings.timeout, settings.max_response_bytes);
        Self { transport, observer, settings, next_id: AtomicU64::new(1) }
    }

    pub(super) fn settings(&self) -> &ClientSettings {
        &self.settings
    }

    pub(super) fn observer(&self) -> &dyn Observer {
        &*self.observer
    }

    /// Makes a call: selects a node, waits for it, asks it, and goes on with the next one while the fault passes, the time
    /// lasts and there are attempts left. The error is that of the last attempt, which says more than "no node left".
    pub(super) async fn run(&self, call: Call<'_>) -> Result<Received, Failure> {
        let network = call.network;
        let mut tries = Tries::new(network);
        let mut last = None;
        for _ in 0..self.settings.retry.attempts {
            let selection = network.select(&tries, Instant::now(), call.deadline, self.settings.behind_recheck);
            let (index, wait) = match selection {
                Selection::Node { index, wait } => (index, wait),
                Selection::TooLate { wait } => return Err(last.unwrap_or_else(|| too_late(call, wait))),
                Selection::None => return Err(last.unwrap_or_else(|| self.none_available(call))),
            };
            let Some(node) = network.nodes.get(index) else { break };
            pause(wait).await;
            let attempt = match self.attempt(call, node).await {
                Ok(received) => match self.accept(call, index, node, &received, &tries) {
                    None => return Ok(received),
                    Some(fault) => Attempt { fault, was_sent: true },
                },
                Err(attempt) => attempt,
            };
            let Attempt { fault, was_sent } = attempt;
            tracing::debug!(network = network.name(), node = node.url.host, method = call.method, ?fault, "failed");
            self.note(node, &fault);
            // Once a request that may change something has been written, no other may follow.
            let is_final = !fault.is_retryable() || (was_sent && call.repeat == Repeat::Never);
            let delivery = if was_sent { fault.delivery() } else { Delivery::None };
            let error = fault.into_error(network.name(), &node.url, call.method);
            last = Some(Failure { error, delivery });
            if is_final {
                break;
            }
            let rest = backoff(&self.settings.retry, tries.failures(index) + 1);
            tries.failed(index, Instant::now() + rest);
        }
        Err(last.unwrap_or_else(|| self.none_available(call)))
    }

    /// Asks one node, after the check of its chain.
    async fn attempt(&self, call: Call<'_>, node: &Node) -> Result<Received, Attempt> {
        let unsent = |fault| Attempt { fault, was_sent: false };
        let Some((permit, wait)) = node.admit(Instant::now()) else { return Err(unsent(Fault::CircuitOpen)) };
        let checked = if Instant::now() + wait < call.deadline {
            pause(wait).await;
            self.check_genesis(call.network, node, call.deadline).await
        } else {
            Err(Fault::NotSentInTime)
        };
        if let Err(fault) = checked {
            permit.settle(Some(&fault), &self.settings.breaker);
            return Err(unsent(fault));
        }
        let received =
            self.exchange(call.network, node, call.method, call.params, call.has_context, call.deadline).await;
        permit.settle(received.as_ref().err(), &self.settings.breaker);
        received.map_err(|fault| Attempt { fault, was_sent: true })
    }

    /// Checks once per URL, and again after its connection broke, that the node serves the pinned chain.
    async fn check_genesis(&self, network: &Network, node: &Node, deadline: Instant) -> Result<(), Fault> {
        let Some(expected) = &network.settings.genesis_hash else { return Ok(()) };
        if node.genesis(Instant::now()) == Genesis::Verified {
            return Ok(());
        }
        let Ok(_guard) = timeout_at(deadline, node.verifying.lock()).await else { return Err(Fault::NotSentInTime) };
        match node.genesis(Instant::now()) {
            Genesis::Verified => return Ok(()),
            Genesis::Wrong { found, .. } => return Err(Fault::WrongGenesis { expected: expected.clone(), found }),
            Genesis::Unverified => {}
        }
        let received = self.exchange(network, node, "getGenesisHash", &[], false, deadline).await?;
        let found: String = serde_json::from_str(received.value.get())
            .map_err(|_| Fault::Malformed { reason: "the genesis hash is no text" })?;
        if found == *expected {
            node.set_genesis(Genesis::Verified);
            return Ok(());
        }
        let found = node.url.redact(mainstay_core::recorded(&found).to_owned());
        let until = Instant::now() + self.settings.breaker.open_for;
        node.set_genesis(Genesis::Wrong { found: found.clone(), until });
        Err(Fault::WrongGenesis { expected: expected.clone(), found })
    }

    /// One request and its response. Every request to a node passes here, so that none is missing in the metrics.
    async fn exchange(
        &self,
        network: &Network,
        node: &Node,
        method: &str,
        params: &[Value],
        has_context: bool,
        deadline: Instant,
    ) -> Result<Received, Fault> {
        let started = Instant::now();
        let left = deadline.saturating_duration_since(started);
        if left.is_zero() {
            return Err(Fault::NotSentInTime);
        }
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let outcome = match self.transport.post(&node.url, request(id, method, params), left).await {
            Ok((status, body)) => match parse_response(&body, id, has_context) {
                // A page of a proxy, say: its status says more than that it is no JSON.
                Ok(_) | Err(Fault::Malformed { .. }) if !status.is_success() => {
                    Err(Fault::Status { status: status.as_u16() })
                }
                parsed => parsed,
            },
            Err(fault) => Err(fault),
        };
        let observed = outcome.as_ref().map(|_| ()).map_err(Fault::error_type);
        self.observer.request(method, network.name(), observed, started.elapsed());
        outcome
    }

    /// Takes note of the answer's slot, and rejects answers that are too old.
    fn accept(&self, call: Call<'_>, index: usize, node: &Node, received: &Received, tries: &Tries) -> Option<Fault> {
        let slot = observed_slot(call.method, received)?;
        let now = Instant::now();
        let highest = call.network.slots.observe(call.commitment, slot, now);
        let is_behind = highest.saturating_sub(slot) > self.settings.max_slots_behind;
        node.set_behind(is_behind.then_some(highest.saturating_sub(slot)), now);
        if let Some(minimum) = call.minimum.filter(|minimum| slot < *minimum) {
            return Some(Fault::Behind { slot, minimum });
        }
        // An old answer is still better than none.
        let recheck = self.settings.behind_recheck;
        let may_repeat = call.repeat == Repeat::Read && call.network.has_alternative(index, tries, now, recheck);
        (is_behind && may_repeat).then_some(Fault::Behind { slot, minimum: highest })
    }

    /// A node that calls itself unhealthy says by how many slots it is behind.
    fn note(&self, node: &Node, fault: &Fault) {
        let Fault::Node(error) = fault else { return };
        let behind = error.data.as_ref().and_then(|data| data.get("numSlotsBehind")).and_then(Value::as_u64);
        if let Some(slots) = behind.filter(|slots| error.code == -32005 && *slots > self.settings.max_slots_behind) {
            node.set_behind(Some(slots), Instant::now());
        }
    }

    /// No node may be asked: all are down, or serve another chain.
    fn none_available(&self, call: Call<'_>) -> Failure {
        let (network, now) = (call.network, Instant::now());
        if let (Some((node, found)), Some(expected)) = (network.wrong_genesis(now), &network.settings.genesis_hash) {
            let fault = Fault::WrongGenesis { expected: expected.clone(), found };
            return Failure {
                error: fault.into_error(network.name(), &node.url, call.method),
                delivery: Delivery::None,
            };
        }
        self.observer.request(call.method, network.name(), Err(Fault::CircuitOpen.error_type()), Duration::ZERO);
        let hosts: Vec<&str> = network.nodes.iter().map(|node| node.url.host.as_str()).collect();
        let reason = "its last requests failed, so it is left alone for a while".to_owned();
        let error = RpcError::Unreachable { network: network.name().to_owned(), host: hosts.join(", "), reason };
        Failure { error, delivery: Delivery::None }
    }

    /// Asks a certain node for its slot, whatever the others know.
    pub(super) async fn probe_slot(&self, network: &Network, node: &Node, deadline: Instant) -> Result<u64, RpcError> {
        let params = [serde_json::json!({"commitment": PROBE_COMMITMENT})];
        let call = Call {
            network,
            method: "getSlot",
            params: &params,
            has_context: false,
            commitment: Some(PROBE_COMMITMENT),
            minimum: None,
            deadline,
            repeat: Repeat::Never,
        };
        let failed = |fault: Fault| fault.into_error(network.name(), &node.url, call.method);
        let received = self.attempt(call, node).await.map_err(|attempt| failed(attempt.fault))?;
        let no_slot = Fault::Malformed { reason: "the slot is no number" };
        let slot = observed_slot(call.method, &received).ok_or_else(|| failed(no_slot))?;
        network.slots.observe(call.commitment, slot, Instant::now());
        Ok(slot)
    }
}

/// Waits. Even a sleep of no length lasts until the timer's next millisecond, which is many times what a near node takes.
async fn pause(wait: Duration) {
    if !wait.is_zero() {
        sleep(wait).await;
    }
}

/// The highest slot that a node knows at all.
const PROBE_COMMITMENT: &str = "processed";

/// The slot for which a node answered.
fn observed_slot(method: &str, received: &Received) -> Option<u64> {
    match &received.context {
        Some(context) => Some(context.slot),
        None if method == "getSlot" => received.value.get().parse().ok(),
        None => None,
    }
}

/// Every node has to be waited for longer than the call may take.
fn too_late(call: Call<'_>, wait: Duration) -> Failure {
    let network = call.network.name().to_owned();
    Failure { error: RpcError::RateLimited { network, retry_after: Some(wait) }, delivery: Delivery::None }
}
