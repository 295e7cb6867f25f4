//! `describeTransaction`: a transaction in words, on the chain or before it is sent.

use mainstay_core::{Block, Context, Effect, Error, Kind, Reply, Result, Spec, Spelling, Tool, quoted};
use mainstay_solana::methods;
use mainstay_solana::rpc::RpcError;
use mainstay_solana::transaction::Transaction;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::chain::{Chain, failed, reply};
use super::explanation::{Explanation, decode};
use super::{DIALECT, spec};

pub(super) struct DescribeTransaction(pub(super) Chain);

#[derive(Deserialize, JsonSchema)]
pub(super) struct Args {
    /// Signature of a transaction on the chain.
    signature: Option<String>,
    /// Or a transaction in base64, signed or not; it is simulated.
    transaction: Option<String>,
    network: Option<String>,
}

impl Tool for DescribeTransaction {
    const SPEC: Spec = Spec {
        title: "Describe a Solana transaction",
        description: "Explains a transaction: who signs, which programs it calls, what each instruction does, the SOL and \
                      token amounts that change hands, and what to be careful about. Pass exactly one of signature and \
                      transaction.",
        spellings: &[Spelling { dialect: DIALECT, name: "describeTransaction" }],
        ..spec("describe_transaction", Effect::Reads)
    };
    type Args = Args;
    type Output = Reply;

    async fn call(&self, args: Args, context: &Context) -> Result<Reply> {
        let network = args.network.unwrap_or_else(|| self.0.client().default_network().to_owned());
        match (args.signature, args.transaction) {
            (Some(signature), None) => match executed(&self.0, &network, &signature, context).await? {
                Ok(found) => Ok(found.reply(&network, context)),
                Err(error) => Ok(failed(&error, context)),
            },
            (None, Some(text)) => {
                let transaction = decode(&text)?;
                match simulated(&self.0, &network, &transaction, context).await? {
                    Ok(found) => Ok(found.reply(&network, context)),
                    Err(error) => Ok(failed(&error, context)),
                }
            }
            (Some(_), Some(_)) | (None, None) => {
                Err(Error::field("signature", "Pass exactly one of signature and transaction."))
            }
        }
    }
}

/// A described transaction with what else is said about it.
pub(super) struct Described {
    explanation: Explanation,
    executed: bool,
    more: Map<String, Value>,
}

impl Described {
    pub(super) fn words(&self) -> String {
        self.explanation.words(self.executed)
    }

    pub(super) fn to_json(&self, network: &str) -> Map<String, Value> {
        let mut members = self.explanation.to_json();
        members.insert("network".to_owned(), network.into());
        members.extend(self.more.clone());
        members
    }

    fn reply(&self, network: &str, context: &Context) -> Reply {
        let mut reply = reply(self.to_json(network), context.clock.now());
        // The words are shorter than the value, and all that a model needs.
        let annotations = reply.content.first().and_then(|block| block.annotations.clone());
        reply.content = vec![Block { annotations, ..Block::text(self.words()) }];
        reply
    }
}

/// A transaction of the chain.
pub(super) async fn executed(
    chain: &Chain,
    network: &str,
    signature: &str,
    context: &Context,
) -> Result<std::result::Result<Described, RpcError>> {
    let args = json!({"signature": signature, "encoding": "base64", "network": network});
    let value = match ask(chain, "getTransaction", &args, context).await? {
        Ok((_, value)) => value,
        Err(error) => return Ok(Err(error)),
    };
    if value.is_null() {
        let message = format!(
            "There is no transaction {} on {network}, or it is not confirmed yet, or the node keeps no history that far back.",
            quoted(signature)
        );
        return Err(Error::new(Kind::NotFound, message));
    }
    let more = Map::from_iter([
        ("signature".to_owned(), json!(signature)),
        ("slot".to_owned(), value["slot"].clone()),
        ("blockTime".to_owned(), value["blockTime"].clone()),
    ]);
    Ok(Ok(Described { explanation: Explanation::of_executed(&value)?, executed: true, more }))
}

/// A transaction as it would be executed now, signed or not.
pub(super) async fn simulated(
    chain: &Chain,
    network: &str,
    transaction: &Transaction,
    context: &Context,
) -> Result<std::result::Result<Described, RpcError>> {
    let args = json!({"transaction": transaction.to_base64(), "replaceRecentBlockhash": true, "network": network});
    Ok(ask(chain, "simulateTransaction", &args, context).await?.map(|(_, value)| {
        let mut more = Map::new();
        for name in ["unitsConsumed", "logs"] {
            more.insert(name.to_owned(), value[name].clone());
        }
        Described { explanation: Explanation::of_simulated(transaction, &value), executed: false, more }
    }))
}

/// One method of the table with these arguments: the slot of the answer, and its value.
pub(super) async fn ask(
    chain: &Chain,
    method: &str,
    args: &Value,
    context: &Context,
) -> Result<std::result::Result<(Option<u64>, Value), RpcError>> {
    let missing = || Error::internal(format!("the method table lacks {method}"));
    let method = methods::find(method).ok_or_else(missing)?;
    let args = args.as_object().cloned().unwrap_or_default();
    Ok(chain.read(method, &args, context).await?.map(|(_, reading)| (reading.slot, reading.value)))
}
