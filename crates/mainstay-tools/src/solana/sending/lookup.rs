//! Looks for a transaction on the chain.
//!
//! It is lost only once a finalized block is past the last block height at which it is valid, and a node that has seen
//! that block does not know it.

use mainstay_solana::rpc::{CacheUse, Query, RpcError};
use mainstay_store::{SendState, SentTransaction};
use serde_json::{Value, json};

use super::tracker::Tracker;

/// What a look at the chain found.
enum Found {
    /// Executed, in this state.
    Executed { state: SendState, slot: Option<u64>, error: Option<Value> },
    /// Not there, as of this slot; without one, not there for good yet.
    Missing { slot: Option<u64> },
}

impl Tracker {
    /// Looks for the transaction on the chain. Says whether its outcome is final.
    pub(super) async fn look(&self) -> Result<bool, RpcError> {
        let seen = match self.status(false).await? {
            Found::Executed { state, slot, error } => return Ok(self.store(state, slot, error).await),
            Found::Missing { slot } => slot,
        };
        let SentTransaction { network, last_valid_height, state, slot, .. } =
            self.progress.borrow().transaction.clone();
        // A node that has seen its slot without it is on another fork: the chain has dropped the one on which it was.
        // Any other node is behind.
        if state == SendState::Confirmed && seen.is_some_and(|seen| seen >= slot.unwrap_or_default()) {
            self.store(SendState::Pending, None, None).await;
        }
        let finalized = json!([{"commitment": "finalized"}]);
        let epoch = self.ask(&network, "getEpochInfo", finalized, None).await?.0;
        let (Some(height), Some(finalized)) = (epoch["blockHeight"].as_u64(), epoch["absoluteSlot"].as_u64()) else {
            return Ok(false);
        };
        if height <= last_valid_height {
            return Ok(false);
        }
        // No block can take it any more. Whether one has is asked of a node that has seen them all.
        match self.status(true).await? {
            Found::Executed { state, slot, error } => Ok(self.store(state, slot, error).await),
            Found::Missing { slot } if slot.is_some_and(|slot| slot >= finalized) => {
                Ok(self.store(SendState::Expired, None, None).await)
            }
            Found::Missing { .. } => Ok(false),
        }
    }

    /// `history`: also looks among transactions of more than some minutes ago.
    async fn status(&self, history: bool) -> Result<Found, RpcError> {
        let SentTransaction { network, signature, .. } = self.progress.borrow().transaction.clone();
        let params = json!([[signature], {"searchTransactionHistory": history}]);
        // The slot of the answer is that of the newest block that the node has processed.
        let (value, slot) = self.ask(&network, "getSignatureStatuses", params, Some("processed")).await?;
        let status = &value[0];
        let state = match status["confirmationStatus"].as_str() {
            Some("finalized") => SendState::Finalized,
            Some("confirmed") => SendState::Confirmed,
            // Processed by one node: the chain may still drop it.
            Some(_) | None => return Ok(Found::Missing { slot: slot.filter(|_| status.is_null()) }),
        };
        let error = Some(status["err"].clone()).filter(|error| !error.is_null());
        Ok(Found::Executed { state, slot: status["slot"].as_u64(), error })
    }

    /// `context`: the answer has one, of this commitment.
    async fn ask(
        &self,
        network: &str,
        method: &str,
        params: Value,
        context: Option<&str>,
    ) -> Result<(Value, Option<u64>), RpcError> {
        let params: Vec<Value> = params.as_array().cloned().unwrap_or_default();
        let query = Query {
            network,
            method,
            params: &params,
            cache: CacheUse::Never,
            retry: true,
            has_context: context.is_some(),
            min_context_slot: None,
            commitment: context,
            deadline: self.inner.pace.request,
        };
        let answer = self.inner.chain.client().query(query).await?;
        let value = serde_json::from_str(answer.value.get()).unwrap_or_default();
        Ok((value, answer.context.map(|context| context.slot)))
    }
}
