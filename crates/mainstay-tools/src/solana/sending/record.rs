//! From an approval to a transaction on record, and what calls made again find there.

use mainstay_core::{Context, Effect, Error, Kind, PlannedChange, Reply, Result, quoted};
use mainstay_solana::transaction::Transaction;
use mainstay_store::{NewSend, Recorded, SendState, SentTransaction};
use serde_json::{Map, Value};

use super::Sender;
use super::check::{Checked, Source, over_day};
use super::status::{Wait, status_reply};
use super::stop::Stop;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// How long what became of a transaction is kept.
const KEPT_MS: i64 = 30 * DAY_MS;

/// What a call says about sending, besides the transaction.
#[derive(Clone)]
pub(in super::super) struct SendCall {
    pub(in super::super) key: Option<String>,
    /// Of the arguments that say what is sent: the same key with others is a conflict.
    pub(in super::super) args_digest: String,
    pub(in super::super) wait: Wait,
    /// Options of the chain's own method for the first send.
    pub(in super::super) options: Map<String, Value>,
}

impl Sender {
    /// What an earlier call has sent: one with the same key, or one with the same signed transaction.
    pub(in super::super) async fn known(
        &self,
        network: &str,
        signature: Option<&str>,
        call: &SendCall,
        context: &Context,
    ) -> Result<Option<SentTransaction>> {
        let transactions = self.0.store.sent_transactions();
        let mut found = None;
        if let Some(key) = &call.key {
            found = transactions.find_key(&context.caller.principal.to_string(), key).await?;
        }
        if let (None, Some(signature)) = (&found, signature) {
            found = transactions.find(network, signature).await?;
        }
        // What went nowhere may be sent again.
        let Some(found) = found.filter(|found| found.state != SendState::Rejected) else { return Ok(None) };
        check_same(&found, call, context)?;
        Ok(Some(found))
    }

    /// Sends a transaction that is approved; one that is not is returned to be approved.
    pub(in super::super) async fn send(
        &self,
        checked: Checked,
        call: SendCall,
        context: &Context,
    ) -> Result<Reply, Stop> {
        let message_hash = checked.message_hash();
        let plan = PlannedChange {
            effect: Effect::Destroys,
            state: message_hash.clone(),
            ask: true,
            notice: Some(notice(&checked)),
        };
        if !context.approval.covers(&plan) {
            return Err(Error::unapproved(plan).into());
        }
        let signed = self.signed(&checked)?;
        let signature = signed.id().ok_or_else(|| Error::internal("a signed transaction has no signature"))?;
        let now_ms = context.clock.now_ms();
        let transaction = SentTransaction {
            network: checked.network.clone(),
            signature: signature.to_string(),
            principal: context.caller.principal.to_string(),
            key: call.key.clone(),
            args_digest: call.args_digest.clone(),
            message_hash,
            transaction: signed.to_base64(),
            last_valid_height: checked.last_valid_height,
            state: SendState::Pending,
            slot: None,
            error: None,
            created_ms: now_ms,
            expires_ms: now_ms.saturating_add(KEPT_MS),
        };
        let spends_expire_ms = now_ms.saturating_add(DAY_MS);
        let new = NewSend { transaction: transaction.clone(), spends: checked.spends, spends_expire_ms };
        let recorded = self.0.store.sent_transactions().record(new).await.map_err(Error::from)?;
        match recorded {
            Recorded::New => Ok(self.follow(transaction, Some(call.options), call.wait, context).await?),
            // Two equal transfers with one blockhash have one signature, and the chain would execute only one of them.
            Recorded::Known(known) if is_other_transfer(&known, &checked.source, &transaction) => {
                Err(Stop::SameSignature)
            }
            // Another call with the same key was first.
            Recorded::Known(known) => {
                check_same(&known, &call, context)?;
                Ok(self.follow(*known, None, call.wait, context).await?)
            }
            Recorded::OverLimit { asset, limit, spent } => Err(over_day(&asset, spent, limit)),
        }
    }

    fn signed(&self, checked: &Checked) -> Result<Transaction> {
        match &checked.source {
            Source::Signed(transaction) => Ok(transaction.clone()),
            Source::Wallet { message, .. } => {
                let wallet = self.policy(&checked.network).and_then(|policy| policy.wallet());
                let wallet = wallet.ok_or_else(|| Error::internal("the wallet of a checked transaction is gone"))?;
                wallet.sign(message).map_err(|error| Error::invalid(error.to_string()))
            }
        }
    }

    /// Follows a transaction that is on record until the caller has waited long enough. It goes on without the caller.
    /// `options` are those of the first send, which a transaction on record for longer has behind it.
    pub(in super::super) async fn follow(
        &self,
        transaction: SentTransaction,
        options: Option<Map<String, Value>>,
        wait: Wait,
        context: &Context,
    ) -> Result<Reply> {
        if transaction.state.is_final() {
            return Ok(status_reply(&transaction, None, context));
        }
        let mut progress = self.track(transaction, options);
        loop {
            let now = progress.borrow_and_update().clone();
            let state = now.transaction.state;
            if wait.is_over(state, now.attempted) {
                return Ok(status_reply(&now.transaction, now.note.as_deref(), context));
            }
            let (done, line) = match (state, now.attempted) {
                (SendState::Confirmed, _) => (2.0, "confirmed"),
                (_, true) => (1.0, "sent"),
                (_, false) => (0.0, "recorded"),
            };
            let line = format!("{}: {line}", now.transaction.signature);
            context.progress(done, Some(3.0), line).await;
            if progress.changed().await.is_err() {
                let now = progress.borrow().clone();
                return Ok(status_reply(&now.transaction, now.note.as_deref(), context));
            }
        }
    }
}

/// A transaction on record is told only to whoever sent it, and under its key only if it is the same one.
fn check_same(found: &SentTransaction, call: &SendCall, context: &Context) -> Result<()> {
    if found.principal != context.caller.principal.to_string() {
        let line =
            "This transaction was sent by somebody else through this server. getSignatureStatuses tells its state.";
        return Err(Error::new(Kind::Conflict, line));
    }
    if call.key.is_some() && found.key == call.key && found.args_digest != call.args_digest {
        let key = quoted(call.key.as_deref().unwrap_or_default());
        let line = format!("The idempotency_key {key} was used for another transaction. Use a new key for a new one.");
        return Err(Error::new(Kind::Conflict, line));
    }
    Ok(())
}

/// Whether the wallet has signed the same message for another call before. What others have signed is one transaction,
/// whoever asks for it.
fn is_other_transfer(known: &SentTransaction, source: &Source, new: &SentTransaction) -> bool {
    let is_same_call = new.key.is_some() && known.key == new.key && known.principal == new.principal;
    matches!(source, Source::Wallet { .. }) && known.signature == new.signature && !is_same_call
}

/// One sentence for the person who decides.
fn notice(checked: &Checked) -> String {
    let network = &checked.network;
    let signer = match checked.source {
        Source::Signed(_) => "others have signed it",
        Source::Wallet { .. } => "the wallet of this server signs it",
    };
    format!("It sends a transaction to {network} that cannot be undone; {signer}.")
}
