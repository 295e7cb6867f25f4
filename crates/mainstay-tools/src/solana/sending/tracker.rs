//! Sends a transaction that is on record until the chain has it or can no longer take it.
//!
//! A transaction has one signature, and the chain executes it once however often it arrives: sending the same bytes
//! again is safe. What must not happen is that a transaction is called lost while it can still be executed; `lookup.rs`
//! says when it is. Nor may one be called rejected that another process has sent: see
//! [`SendPace::alone`](super::SendPace).

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Clock as _, SystemClock};
use mainstay_solana::rpc::{RpcError, SendError};
use mainstay_solana::transaction::Transaction;
use mainstay_store::{SendState, SendUpdate, SentTransaction};
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::super::failure;
use super::simulation::highest_fee;
use super::{Inner, Sender};

/// Errors of nodes after which a transaction is known to have gone nowhere: its signatures or its form are wrong.
const REFUSED: [i64; 5] = [-32003, -32006, -32013, -32602, -32600];
const PREFLIGHT_FAILED: i64 = -32002;
/// What a node says that keeps no history.
const NO_HISTORY: i64 = -32011;

/// How often transactions are looked for that another process has left unfinished.
const RESUME: Duration = Duration::from_secs(30);
const MOST_RESUMED: u32 = 1000;

/// How far a transaction is.
#[derive(Debug, Clone)]
pub(super) struct Progress {
    pub(super) transaction: SentTransaction,
    /// A node was asked to take it at least once, whatever became of that.
    pub(super) attempted: bool,
    /// What a caller should know that does not wait any longer.
    pub(super) note: Option<String>,
}

impl Sender {
    /// Follows a transaction in the background. Two callers share one task. `first` are the options of the first send,
    /// from the call that has recorded it just now.
    pub(super) fn track(
        &self,
        transaction: SentTransaction,
        first: Option<Map<String, Value>>,
    ) -> watch::Receiver<Progress> {
        let key = (transaction.network.clone(), transaction.signature.clone());
        let mut tracked = self.0.tracked.lock();
        // Whoever has recorded it sends it at once, also if others have found the record already or if a former task,
        // which ended with a rejection, is not gone yet.
        if let Some(progress) = tracked.get(&key).filter(|progress| first.is_none() && !is_over(progress)) {
            return progress.clone();
        }
        let progress = Progress { transaction, attempted: first.is_none(), note: None };
        let (sender, receiver) = watch::channel(progress);
        tracked.insert(key.clone(), receiver.clone());
        drop(tracked);
        let (inner, own) = (self.0.clone(), receiver.clone());
        tokio::spawn(async move {
            // Of one that was recorded before this process began to follow it, nobody knows whether it was sent.
            let may_be_sent = first.is_none();
            let first = first.unwrap_or_default();
            Tracker { inner: inner.clone(), progress: sender, first, may_be_sent, since: Instant::now() }.run().await;
            let mut tracked = inner.tracked.lock();
            if tracked.get(&key).is_some_and(|now| now.same_channel(&own)) {
                tracked.remove(&key);
            }
        });
        receiver
    }

    /// Goes on with what a server that was stopped has left unfinished, now and whenever another replica leaves
    /// something.
    pub(in super::super) fn resume(&self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if !self.is_on() {
            return;
        }
        let inner = Arc::downgrade(&self.0);
        runtime.spawn(async move {
            while let Some(inner) = inner.upgrade() {
                let sender = Self(inner);
                if let Ok(unfinished) = sender.0.store.sent_transactions().unfinished(MOST_RESUMED).await {
                    for transaction in unfinished {
                        if sender.policy(&transaction.network).is_some() && !sender.is_tracked(&transaction) {
                            sender.track(transaction, None);
                        }
                    }
                }
                drop(sender);
                sleep(RESUME).await;
            }
        });
    }
}

fn is_over(progress: &watch::Receiver<Progress>) -> bool {
    progress.borrow().transaction.state.is_final()
}

pub(super) struct Tracker {
    pub(super) inner: Arc<Inner>,
    pub(super) progress: watch::Sender<Progress>,
    /// The options of the send that reaches a node first.
    first: Map<String, Value>,
    /// A node may have it.
    may_be_sent: bool,
    /// When this process began to follow it.
    since: Instant,
}

impl Tracker {
    /// Ends once the outcome is final, or if it cannot be found out.
    async fn run(mut self) {
        let pace = self.inner.pace;
        // What was recorded by others may be final by now.
        if self.may_be_sent && self.reload().await {
            return;
        }
        let send_from = self.since + self.left_to_its_recorder();
        let (mut wait, mut sent_at) = (pace.first, None::<Instant>);
        loop {
            let is_pending = self.progress.borrow().transaction.state == SendState::Pending;
            let is_due = Instant::now() >= send_from && sent_at.is_none_or(|at| at.elapsed() >= pace.resend);
            if is_pending && is_due {
                sent_at = Some(Instant::now());
                if self.send().await {
                    return;
                }
            }
            sleep(wait).await;
            wait = (wait * 2).min(pace.slowest);
            match self.look().await {
                Ok(true) => return,
                Ok(false) => {}
                Err(RpcError::Node { code: NO_HISTORY, .. }) => {
                    self.note("The nodes keep no history, so whether the transaction was executed is not known.");
                    return;
                }
                Err(error) => self.note(&format!("Its state is not known at the moment. {error}")),
            }
        }
    }

    /// Sends it. Says whether that ended the matter: a node has refused it for good, and no other has it.
    async fn send(&mut self) -> bool {
        let (network, text) = {
            let progress = self.progress.borrow();
            (progress.transaction.network.clone(), progress.transaction.transaction.clone())
        };
        // The node checks the first one once more. Later ones may find the transaction executed, which a check calls a
        // failure.
        let again = || Map::from_iter([("skipPreflight".to_owned(), true.into())]);
        let mut options = if self.may_be_sent { again() } else { self.first.clone() };
        options.insert("encoding".to_owned(), "base64".into());
        // This loop sends again, and knows when to stop.
        options.entry("maxRetries").or_insert(0.into());
        let params = [Value::String(text), Value::Object(options)];
        let client = self.inner.chain.client();
        let note = match client.send_once(&network, "sendTransaction", &params, self.inner.pace.request).await {
            Ok(_) => {
                self.may_be_sent = true;
                None
            }
            Err(SendError::MaybeDelivered(error)) => {
                self.may_be_sent = true;
                Some(format!("It may have been sent, and is sent again. {error}"))
            }
            Err(SendError::Rejected(error)) if self.is_alone() && is_final_refusal(&error) => {
                let reason = failure::of_rpc(&error).remove("error");
                return self.store(SendState::Rejected, None, reason).await;
            }
            Err(SendError::Rejected(error) | SendError::NotDelivered(error)) => {
                Some(format!("It has not been accepted yet, and is sent again. {error}"))
            }
        };
        self.progress.send_modify(|progress| {
            progress.attempted = true;
            progress.note = note;
        });
        false
    }

    /// How long to leave the sending to the process that has recorded it.
    fn left_to_its_recorder(&self) -> Duration {
        if !self.may_be_sent {
            return Duration::ZERO;
        }
        let alone = self.inner.pace.alone;
        let age = SystemClock.now_ms().saturating_sub(self.progress.borrow().transaction.created_ms);
        alone.saturating_sub(Duration::from_millis(u64::try_from(age).unwrap_or_default()))
    }

    /// Whether no node can have it if this one has refused it: nobody else sends it yet. Half of the time is for clocks
    /// that differ.
    fn is_alone(&self) -> bool {
        !self.may_be_sent && self.since.elapsed() < self.inner.pace.alone / 2
    }

    /// Stores what is known now and tells those who wait. Says whether it is final. If the store fails, the next look
    /// stores it.
    pub(super) async fn store(&self, state: SendState, slot: Option<u64>, error: Option<Value>) -> bool {
        let now = self.progress.borrow().transaction.clone();
        let error = error.map(|error| error.to_string());
        if now.state == state && now.error == error {
            return state.is_final();
        }
        let fee = Transaction::from_base64(&now.transaction).ok().map(|transaction| highest_fee(&transaction));
        let update =
            SendUpdate { network: now.network, signature: now.signature, state, slot, error: error.clone(), fee };
        match self.inner.store.sent_transactions().update(update).await {
            Ok(true) => {}
            // Somebody else was first, and a final state stays.
            Ok(false) => return self.reload().await,
            Err(_) => return false,
        }
        self.progress.send_modify(|progress| {
            progress.transaction.state = state;
            progress.transaction.slot = slot;
            progress.transaction.error = error;
            progress.note = None;
        });
        state.is_final()
    }

    /// Tells those who wait what is on record. Says whether that is final.
    async fn reload(&self) -> bool {
        let SentTransaction { network, signature, .. } = self.progress.borrow().transaction.clone();
        match self.inner.store.sent_transactions().find(&network, &signature).await {
            Ok(Some(stored)) => {
                let is_final = stored.state.is_final();
                self.progress.send_modify(|progress| progress.transaction = stored);
                is_final
            }
            // Only what was rejected, and what is final for long, leaves the record.
            Ok(None) => {
                self.progress.send_modify(|progress| progress.transaction.state = SendState::Rejected);
                true
            }
            Err(_) => false,
        }
    }

    fn note(&self, note: &str) {
        self.progress.send_modify(|progress| progress.note = Some(note.to_owned()));
    }
}

/// Whether a node has refused a transaction in a way that no other node would see differently.
fn is_final_refusal(error: &RpcError) -> bool {
    let RpcError::Node { code, data, .. } = error else { return false };
    if *code == PREFLIGHT_FAILED {
        // The blockhash may be too new for this node, and a transaction that was processed has not failed.
        let reason = data.as_ref().and_then(|data| data["err"].as_str()).unwrap_or_default();
        return !matches!(reason, "BlockhashNotFound" | "AlreadyProcessed");
    }
    REFUSED.contains(code)
}
