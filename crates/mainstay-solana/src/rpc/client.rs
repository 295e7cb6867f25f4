//! The client: reads with cache and retries, and requests that are sent once.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout_at};

use super::cache::{Cache, CacheUse, SlotBound};
use super::call::{Call, Caller, Failure, Repeat};
use super::error::{RpcError, SendError};
use super::fault::Delivery;
use super::message::{Context, Received};
use super::nodes::Network;
use super::observer::Observer;
use super::settings::{ClientSettings, NetworkSettings};
use super::single_flight::SingleFlight;

/// A call that waits for an equal one ends this long after its deadline at the latest, so that the other one's error, which
/// says more than "timed out", arrives.
const GRACE: Duration = Duration::from_millis(100);

/// A read.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    pub network: &'a str,
    pub method: &'a str,
    pub params: &'a [Value],
    pub cache: CacheUse,
    /// The method only reads: it may be repeated, and equal calls at the same time may share one request. Without it the
    /// request is sent once at most, and its answer is not cached.
    pub retry: bool,
    /// The result is `{context, value}`.
    pub has_context: bool,
    /// Answers for an older slot are not accepted. The caller also puts it into the parameters, as `minContextSlot`.
    pub min_context_slot: Option<u64>,
    /// As in the parameters; without it nodes assume finalized.
    pub commitment: Option<&'a str>,
    /// The time for the call with all its retries.
    pub deadline: Duration,
}

/// The answer to a read.
#[derive(Debug, Clone)]
pub struct Answer {
    /// As the node sent it; without the context, if there is one.
    pub value: Arc<RawValue>,
    pub context: Option<Context>,
    pub cached: bool,
    /// How long ago the node sent it.
    pub age: Duration,
}

/// Calls the nodes of several networks. Clones share everything.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    networks: Vec<Network>,
    caller: Caller,
    /// One for all networks, whose names are part of the keys: the bound on its memory is for the client as a whole.
    cache: Mutex<Cache>,
    /// Reads under way. Failures are shared as well: a hundred callers must not ask a failing node a hundred times.
    flights: SingleFlight<Result<Received, Failure>>,
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Client").field("networks", &self.shared.networks).finish_non_exhaustive()
    }
}

impl Client {
    /// Connects to nothing yet. The error says which setting is wrong.
    pub fn new(settings: ClientSettings, observer: Arc<dyn Observer>) -> Result<Self, String> {
        settings.validate()?;
        let now = Instant::now();
        let networks =
            settings.networks.iter().map(|network| Network::new(network.clone(), now)).collect::<Result<_, _>>()?;
        let cache = Mutex::new(Cache::new(settings.cache_bytes));
        let caller = Caller::new(settings, observer);
        Ok(Self { shared: Arc::new(Shared { networks, caller, cache, flights: SingleFlight::new() }) })
    }

    /// The configured networks. Their URLs contain API keys.
    pub fn networks(&self) -> &[NetworkSettings] {
        &self.shared.caller.settings().networks
    }

    /// The network of calls that name none.
    pub fn default_network(&self) -> &str {
        &self.shared.caller.settings().default_network
    }

    pub(super) fn network(&self, name: &str) -> Result<&Network, RpcError> {
        let known = || self.shared.networks.iter().map(|network| network.name().to_owned()).collect();
        self.shared
            .networks
            .iter()
            .find(|network| network.name() == name)
            .ok_or_else(|| RpcError::UnknownNetwork { network: name.to_owned(), known: known() })
    }

    pub(super) fn caller(&self) -> &Caller {
        &self.shared.caller
    }

    /// Answers a read, from the cache or from a node.
    pub async fn query(&self, query: Query<'_>) -> Result<Answer, RpcError> {
        let call = self.call(&query)?;
        if !query.retry {
            let received = self.shared.caller.run(call).await.map_err(|failure| failure.error)?;
            return Ok(fresh(received));
        }
        let keys = Keys::of(&query);
        if let Some(answer) = self.cached(&query, call.network, &keys) {
            return Ok(answer);
        }
        self.asked(&query, call, &keys).await.map(fresh)
    }

    /// Sends a request that must not be sent twice. The error says whether it may have taken effect.
    pub async fn send_once(
        &self,
        network: &str,
        method: &str,
        params: &[Value],
        deadline: Duration,
    ) -> Result<Arc<RawValue>, SendError> {
        let network = self.network(network).map_err(SendError::NotDelivered)?;
        let call = Call {
            network,
            method,
            params,
            has_context: false,
            commitment: None,
            minimum: None,
            deadline: Instant::now() + deadline,
            repeat: Repeat::Never,
        };
        let sent = self.shared.caller.run(call).await;
        sent.map(|received| received.value).map_err(|Failure { error, delivery }| match delivery {
            Delivery::None => SendError::NotDelivered(error),
            Delivery::Answered => SendError::Rejected(error),
            Delivery::Possible => SendError::MaybeDelivered(error),
        })
    }

    fn call<'a>(&'a self, query: &Query<'a>) -> Result<Call<'a>, RpcError> {
        Ok(Call {
            network: self.network(query.network)?,
            method: query.method,
            params: query.params,
            has_context: query.has_context,
            commitment: query.commitment,
            minimum: query.min_context_slot,
            deadline: Instant::now() + query.deadline,
            repeat: if query.retry { Repeat::Read } else { Repeat::Never },
        })
    }

    /// The answer from the cache, if it is there, still valid, and not older than what the caller has seen.
    fn cached(&self, query: &Query<'_>, network: &Network, keys: &Keys) -> Option<Answer> {
        if !may_cache(query) {
            return None;
        }
        let highest = network.slots.highest(query.commitment);
        let mut cache = self.shared.cache.lock();
        let found = cache.get(&keys.cache, Instant::now(), highest, keys.minimum.max(query.min_context_slot));
        let bytes = cache.bytes();
        drop(cache);
        self.shared.caller.observer().cache(found.is_some(), bytes);
        found.map(|(Received { value, context }, age)| Answer { value, context, cached: true, age })
    }

    /// Asks a node, together with equal calls.
    async fn asked(&self, query: &Query<'_>, call: Call<'_>, keys: &Keys) -> Result<Received, RpcError> {
        let late = || RpcError::TimedOut { network: query.network.to_owned(), method: query.method.to_owned() };
        loop {
            let work = async {
                // Older than the answer: should a newer slot be seen meanwhile, the answer is out of date at once.
                let before = call.network.slots.highest(query.commitment);
                let received = self.shared.caller.run(call).await?;
                self.store(query, call.network, keys, &received, before);
                Ok(received)
            };
            let shared = self.shared.flights.run(keys.flight.clone(), work);
            let outcome = timeout_at(call.deadline + GRACE, shared)
                .await
                .unwrap_or_else(|_| Err(Failure { error: late(), delivery: Delivery::Possible }));
            match outcome {
                // The other call had less time than this one.
                Err(Failure { error: RpcError::TimedOut { .. }, .. }) if Instant::now() < call.deadline => {}
                other => return other.map_err(|failure| failure.error),
            }
        }
    }

    /// Keeps an answer as long as the caller allows. `before` is the newest slot that was known when it was asked for: it
    /// bounds answers that tell no slot of their own.
    fn store(&self, query: &Query<'_>, network: &Network, keys: &Keys, received: &Received, before: Option<u64>) {
        if !may_cache(query) {
            return;
        }
        let now = Instant::now();
        let bound = match query.cache {
            CacheUse::Never | CacheUse::Immutable | CacheUse::ImmutableIfFinalized => None,
            CacheUse::Slot => {
                let slot = received.context.as_ref().map(|context| context.slot).or(before).unwrap_or_default();
                // A newer slot was seen while the answer was under way.
                if network.slots.highest(query.commitment).is_some_and(|highest| highest > slot) {
                    return;
                }
                Some(SlotBound { slot, until: now + self.shared.caller.settings().slot_time })
            }
        };
        self.shared.cache.lock().insert(&keys.cache, received, bound, now);
    }
}

fn fresh(Received { value, context }: Received) -> Answer {
    Answer { value, context, cached: false, age: Duration::ZERO }
}

/// Without a commitment nodes answer for the finalized slot, too, but only the caller's word for it counts.
fn may_cache(query: &Query<'_>) -> bool {
    match query.cache {
        CacheUse::Never => false,
        CacheUse::Immutable | CacheUse::Slot => true,
        CacheUse::ImmutableIfFinalized => query.commitment == Some("finalized"),
    }
}

/// Under which keys a read is cached and shared.
struct Keys {
    /// Without the minimum context slot: an answer for a later slot serves all who ask for an earlier one.
    cache: String,
    /// With it: an answer under way may turn out to be too old for another caller.
    flight: String,
    /// The minimum context slot in the parameters.
    minimum: Option<u64>,
}

impl Keys {
    fn of(query: &Query<'_>) -> Self {
        const MINIMUM: &str = "minContextSlot";
        // Without a context the slot of a cached answer is not known, so the minimum stays part of the key.
        let stripped = match query.params.split_last() {
            Some((Value::Object(options), rest)) if query.has_context && options.contains_key(MINIMUM) => {
                let mut options = options.clone();
                let minimum = options.remove(MINIMUM).and_then(|minimum| minimum.as_u64());
                Some((minimum, rest.iter().cloned().chain([Value::Object(options)]).collect::<Vec<_>>()))
            }
            Some(_) | None => None,
        };
        let (minimum, params) = match &stripped {
            Some((minimum, params)) => (*minimum, params.as_slice()),
            None => (None, query.params),
        };
        let Query { network, method, has_context, commitment, min_context_slot, .. } = query;
        // Names of networks and methods contain no control character, so no two reads have the same key.
        let params = serde_json::to_string(params).unwrap_or_default();
        let cache = format!("{network}\0{method}\0{has_context}\0{}\0{params}", commitment.unwrap_or_default());
        let flight = format!("{minimum:?}\0{min_context_slot:?}\0{cache}");
        Self { cache, flight, minimum }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn keys(params: &[Value], has_context: bool, min_context_slot: Option<u64>) -> Keys {
        Keys::of(&Query {
            network: "devnet",
            method: "getBalance",
            params,
            cache: CacheUse::Slot,
            retry: true,
            has_context,
            min_context_slot,
            commitment: None,
            deadline: Duration::from_secs(1),
        })
    }

    #[test]
    fn the_minimum_slot_is_part_of_the_key_only_where_answers_tell_no_slot() {
        let with = |slot: u64| vec![json!("key"), json!({"encoding": "base64", "minContextSlot": slot})];
        let (one, two) = (keys(&with(1), true, None), keys(&with(2), true, None));
        assert_eq!(one.cache, two.cache);
        assert_ne!(one.flight, two.flight);
        assert_eq!((one.minimum, two.minimum), (Some(1), Some(2)));
        assert_ne!(keys(&with(1), false, None).cache, keys(&with(2), false, None).cache);
        assert_ne!(keys(&with(1), true, Some(1)).flight, keys(&with(1), true, Some(2)).flight);
        assert_ne!(one.cache, keys(&[json!("other"), json!({"encoding": "base64"})], true, None).cache);
    }
}
