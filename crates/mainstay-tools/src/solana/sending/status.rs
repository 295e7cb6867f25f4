//! What became of a transaction, as a reply.

use mainstay_core::{Context, Reply};
use mainstay_store::{SendState, SentTransaction};
use serde_json::{Map, Value, json};

use super::super::chain::reply;

/// How long a call waits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in super::super) enum Wait {
    /// Until a node was asked to take it once.
    None,
    #[default]
    Confirmed,
    Finalized,
}

impl Wait {
    /// The argument `wait`, which the schema has checked.
    pub(in super::super) fn parse(text: Option<&str>) -> Self {
        match text {
            Some("none") => Self::None,
            Some("finalized") => Self::Finalized,
            Some(_) | None => Self::Confirmed,
        }
    }

    /// Whether a caller has waited long enough.
    pub(super) fn is_over(self, state: SendState, attempted: bool) -> bool {
        state.is_final()
            || match self {
                Self::None => attempted,
                Self::Confirmed => state == SendState::Confirmed,
                Self::Finalized => false,
            }
    }
}

/// The reply for a transaction that is on record. It has failed unless the chain has executed it, or may still.
pub(super) fn status_reply(transaction: &SentTransaction, note: Option<&str>, context: &Context) -> Reply {
    let SentTransaction { network, signature, state, slot, error, message_hash, last_valid_height, .. } = transaction;
    let error: Option<Value> = error.as_deref().and_then(|error| serde_json::from_str(error).ok());
    let executed = matches!(state, SendState::Confirmed | SendState::Finalized);
    let status = if executed && error.is_some() { "failed" } else { state.as_str() };
    let mut value = json!({
        "signature": signature,
        "status": status,
        "messageHash": message_hash,
        "lastValidBlockHeight": last_valid_height,
    });
    if let Some(slot) = slot {
        value["slot"] = (*slot).into();
    }
    let mut members = Map::from_iter([("network".to_owned(), json!(network))]);
    let told = match (state, &error) {
        (SendState::Rejected, _) => Some(error.clone().unwrap_or_default()),
        (SendState::Expired, _) => Some(json!({
            "name": "Expired",
            "message": "The chain did not take the transaction while its blockhash was valid, and cannot take it any more.",
            "retryable": true,
            "hint": "Build it anew and send that, with another idempotency_key. It may need a higher priority fee.",
        })),
        (SendState::Confirmed | SendState::Finalized, Some(error)) => Some(json!({
            "name": "TransactionFailed",
            "message": format!("The transaction was executed and failed: {error}. Only the fee was taken."),
            "data": error,
            "retryable": false,
            "hint": "describeTransaction tells what it did.",
        })),
        (SendState::Pending, _) => {
            if let Some(note) = note {
                value["note"] = note.into();
            }
            None
        }
        (SendState::Confirmed | SendState::Finalized, None) => None,
    };
    members.insert("value".to_owned(), value);
    let failed = told.is_some();
    if let Some(error) = told {
        members.insert("error".to_owned(), error);
    }
    Reply { failed, ..reply(members, context.clock.now()) }
}
