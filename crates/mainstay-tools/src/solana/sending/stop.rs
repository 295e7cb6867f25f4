//! Why nothing is sent.

use mainstay_core::{Context, Error, Reply, Result};
use mainstay_solana::rpc::RpcError;
use serde_json::{Map, json};

use super::super::chain::{failed, reply};

/// Why a transaction is not sent.
#[derive(Debug)]
pub(in super::super) enum Stop {
    /// The policy, the signatures or the simulation speak against it; each reason is a sentence.
    Refused(Vec<String>),
    /// The wallet has sent the same transfer with the same blockhash. With a newer one it is another transaction.
    SameSignature,
    Chain(RpcError),
    Call(Error),
}

impl From<RpcError> for Stop {
    fn from(error: RpcError) -> Self {
        Self::Chain(error)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Call(error)
    }
}

impl Stop {
    pub(super) fn refused(reason: impl Into<String>) -> Self {
        Self::Refused(vec![reason.into()])
    }

    /// As the outcome of a call. What the chain and the policy say is a result that a model reads, and no error of the
    /// protocol.
    pub(in super::super) fn into_reply(self, context: &Context) -> Result<Reply> {
        match self {
            Self::Call(error) => Err(error),
            Self::SameSignature => Err(Error::unavailable(
                "The same transfer was sent a moment ago, and the chain has no newer block yet. Try again in a second.",
            )),
            Self::Chain(error) => Ok(failed(&error, context)),
            Self::Refused(reasons) => {
                let error = json!({
                    "name": "Refused",
                    "message": reasons.join(" "),
                    "retryable": false,
                    "hint": "Nothing was signed or sent. Correct what the message names.",
                });
                let members = Map::from_iter([("error".to_owned(), error)]);
                Ok(Reply { failed: true, ..reply(members, context.clock.now()) })
            }
        }
    }
}
