//! The Solana chain (contract 003): its RPC methods as tools under their own names, and tools that explain and prepare
//! transactions. Sending is off unless the configuration allows it (`sending/`).
//!
//! The methods come from the table in mainstay-solana (`method_tool.rs`); removed ones answer with what replaces them
//! (`removed.rs`). `chain.rs` is what all tools share. The tools of our own, the resources and the prompt are a file each.

mod airdrop;
mod build_transfer;
mod chain;
mod describe;
mod display;
mod explanation;
mod failure;
mod method_tool;
mod metrics;
mod networks;
mod prompt;
mod removed;
mod resources;
mod rpc;
mod send_transaction;
mod sending;
mod session_slots;
mod settings;
#[cfg(test)]
mod tests;
mod transfer;
mod wallet_transfer;
mod watches;

use mainstay_core::{Effect, Family, Result, Spec};
use mainstay_store::Store;
use serde_json::{Map, Value, json};

use chain::Chain;
use sending::{SendPace, Sender};
use settings::ToolProfile;
pub use settings::{
    Profile, SendLevel, SolanaNetwork, SolanaSending, SolanaSettings, SolanaTokenLimit, ToolProfile as SolanaTools,
};
use watches::Watches;

/// The dialect in which the tools have the names of the chain.
const DIALECT: &str = "solana";

/// A declaration with what the tools have in common.
const fn spec(verb: &'static str, effect: Effect) -> Spec {
    Spec { open_world: true, tags: &["solana"], ..Spec::new("solana", verb, effect) }
}

/// Members of a result beside `network` and `value`, with their types.
const MORE: [(&str, &str); 6] = [
    ("context", "object"),
    ("display", "object"),
    ("cached", "boolean"),
    ("ageMs", "integer"),
    ("truncated", "boolean"),
    ("next", "string"),
];

/// The form of what a tool of the chain returns. Of the other members it names those that the tool may return: a client
/// that lists tools pays for each.
fn output_schema(may_have: impl Fn(&str) -> bool) -> Map<String, Value> {
    let mut properties =
        Map::from_iter([("network".to_owned(), json!({"type": "string"})), ("value".to_owned(), json!({}))]);
    for (name, kind) in MORE.into_iter().filter(|(name, _)| may_have(name)) {
        properties.insert(name.to_owned(), json!({ "type": kind }));
    }
    Map::from_iter([
        ("type".to_owned(), json!("object")),
        ("required".to_owned(), json!(["network", "value"])),
        ("properties".to_owned(), Value::Object(properties)),
    ])
}

/// The family. Fails if the configuration of its networks is not valid.
pub(crate) fn family(settings: &SolanaSettings, store: &Store) -> Result<Family> {
    paced_family(settings, store, SendPace::default())
}

fn paced_family(settings: &SolanaSettings, store: &Store, pace: SendPace) -> Result<Family> {
    let chain = Chain::new(settings)?;
    let sender = Sender::new(settings, &chain, store, pace)?;
    sender.resume();
    let profile: &ToolProfile = &settings.tools;
    let metrics = chain.metrics().clone();
    let watches = Watches::new(chain.client().networks(), settings.commitment)?;
    let mut family = Family::new("solana")
        .tools(method_tool::tools(&chain, profile))
        .tools(send_transaction::tool(&chain, &sender, profile))
        .tools(airdrop::tool(&chain, profile))
        .tools([rpc::tool(&chain)])
        .tools(removed::tools())
        .tool(networks::Networks(chain.clone(), sender.clone()))
        .tool(describe::DescribeTransaction(chain.clone()))
        .tool(build_transfer::BuildTransfer(chain.clone()));
    if sender.has_wallet() {
        family = family
            .tool(wallet_transfer::TransferSol(chain.clone(), sender.clone()))
            .tool(wallet_transfer::TransferToken(chain.clone(), sender));
    }
    Ok(family
        .resources(resources::ChainResources(chain.clone(), watches))
        .prompt(prompt::ExplainTransaction(chain))
        .metrics(move || metrics.text()))
}
