//! Sending transactions: off unless the configuration allows it for a network.
//!
//! The order is the same for every transaction: it is decoded and its signatures are verified, the policy and a
//! simulation decide (`check.rs`), a person approves exactly this message, the wallet signs if it is the wallet's, its
//! signature and the last block height at which it is valid are stored together with what it spends (`record.rs`), and
//! only then is it sent, again and again until the chain has it or can no longer take it (`tracker.rs`). A call that
//! was cut off, and a server that was killed, therefore lose nothing, and the same transfer is never signed twice.

mod check;
mod key_file;
mod lookup;
mod policy;
mod record;
mod simulation;
mod status;
mod stop;
mod tracker;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::Result;
use mainstay_store::{SentTransaction, Store};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::chain::Chain;
use super::settings::{SendLevel, SolanaSettings};

pub(super) use check::{Source, refusal};
pub(super) use policy::NetworkPolicy;
pub(super) use record::SendCall;
pub(super) use status::Wait;
pub(super) use stop::Stop;
use tracker::Progress;

/// Sends transactions and follows them. Cheap to clone.
#[derive(Clone)]
pub(super) struct Sender(Arc<Inner>);

struct Inner {
    chain: Chain,
    store: Store,
    /// The networks to which something may be sent.
    networks: HashMap<String, NetworkPolicy>,
    /// The transactions that this process follows, by network and signature.
    tracked: Mutex<HashMap<(String, String), watch::Receiver<Progress>>>,
    pace: SendPace,
}

/// How often a transaction is looked for and sent again.
#[derive(Debug, Clone, Copy)]
pub(super) struct SendPace {
    /// The first look; each further one waits twice as long, up to `slowest`.
    pub(super) first: Duration,
    pub(super) slowest: Duration,
    /// Between two sends of the same transaction. Nodes drop transactions without a word when they are busy.
    pub(super) resend: Duration,
    /// The most time for one request.
    pub(super) request: Duration,
    /// For this long after a transaction was recorded, only the process that has recorded it sends it. Until then a
    /// refusal of a node says that it went nowhere; any other process, which does not know what became of it, could
    /// have sent it elsewhere meanwhile.
    pub(super) alone: Duration,
}

impl Default for SendPace {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(100),
            slowest: Duration::from_secs(2),
            resend: Duration::from_secs(2),
            request: Duration::from_secs(10),
            alone: Duration::from_secs(5),
        }
    }
}

impl Sender {
    /// Fails if a wallet cannot be used as the configuration says.
    pub(super) fn new(settings: &SolanaSettings, chain: &Chain, store: &Store, pace: SendPace) -> Result<Self> {
        let allowed = settings.networks.iter().filter(|(_, network)| network.sending.level > SendLevel::Off);
        let networks = allowed
            .map(|(name, network)| Ok((name.clone(), NetworkPolicy::new(name, &network.sending)?)))
            .collect::<Result<_>>()?;
        let (chain, store) = (chain.clone(), store.clone());
        Ok(Self(Arc::new(Inner { chain, store, networks, tracked: Mutex::default(), pace })))
    }

    /// Whether anything can be sent at all.
    pub(super) fn is_on(&self) -> bool {
        !self.0.networks.is_empty()
    }

    pub(super) fn has_wallet(&self) -> bool {
        self.0.networks.values().any(|policy| policy.wallet().is_some())
    }

    /// What is allowed on a network, if anything is.
    pub(super) fn policy(&self, network: &str) -> Option<&NetworkPolicy> {
        self.0.networks.get(network)
    }

    /// Whether this process is still following a transaction.
    fn is_tracked(&self, transaction: &SentTransaction) -> bool {
        let key = (transaction.network.clone(), transaction.signature.clone());
        self.0.tracked.lock().contains_key(&key)
    }
}
