//! `requestAirdrop`: lamports for tests, never on mainnet.

use std::sync::Arc;

use mainstay_core::{AnyTool, BoxFuture, Context, Effect, Reply, Result, Spec, Spelling, UntypedTool, untyped};
use mainstay_solana::methods::{self, Method};
use mainstay_solana::rpc::{RpcError, SendError, known_network};
use serde_json::{Map, Value, json};

use super::chain::{Chain, reply};
use super::describe::ask;
use super::failure;
use super::sending::Stop;
use super::settings::ToolProfile;
use super::{DIALECT, output_schema, spec};

const NAME: &str = "requestAirdrop";
const MAINNET: &str = "mainnet";

struct RequestAirdrop {
    method: &'static Method,
    chain: Chain,
}

pub(super) fn tool(chain: &Chain, profile: &ToolProfile) -> Option<Arc<dyn AnyTool>> {
    let method = methods::find(NAME)?;
    let spec = Spec {
        title: "Request test lamports",
        description: method.about,
        spellings: &[Spelling { dialect: DIALECT, name: NAME }],
        dialects_only: !profile.lists(NAME, method.core),
        ..spec(NAME, Effect::Writes)
    };
    let networks: Vec<&str> = chain.networks().into_iter().filter(|name| *name != MAINNET).collect();
    let tool = RequestAirdrop { method, chain: chain.clone() };
    Some(untyped(spec, method.input_schema(&networks), Some(output_schema(|_| false)), tool))
}

impl UntypedTool for RequestAirdrop {
    fn call<'a>(&'a self, args: Map<String, Value>, context: &'a Context) -> BoxFuture<'a, Result<Reply>> {
        Box::pin(async move {
            let outcome = self.request(&args, context).await;
            outcome.or_else(|stop| stop.into_reply(context))
        })
    }
}

/// The request may have been paid out: asking again could pay twice.
fn uncertain(error: &RpcError, context: &Context) -> Reply {
    let mut members = failure::of_rpc(error);
    if let Some(error) = members.get_mut("error") {
        error["retryable"] = false.into();
        error["hint"] = "The lamports may have been sent. Look at the balance before asking again.".into();
    }
    Reply { failed: true, ..reply(members, context.clock.now()) }
}

impl RequestAirdrop {
    async fn request(&self, args: &Map<String, Value>, context: &Context) -> Result<Reply, Stop> {
        let params = self.chain.params(self.method, args)?;
        let network = self.chain.network(args);
        self.refuse_mainnet(network, context).await?;
        let client = self.chain.client();
        // Every request that arrives is paid out, so it is made once, whatever the answer is.
        let sent = client.send_once(network, NAME, &params.sent, self.chain.deadline()).await;
        let answer = match sent {
            Ok(answer) => answer,
            Err(SendError::Rejected(error) | SendError::NotDelivered(error)) => return Err(Stop::Chain(error)),
            Err(SendError::MaybeDelivered(error)) => return Ok(uncertain(&error, context)),
        };
        let value: Value = serde_json::from_str(answer.get()).unwrap_or_default();
        let members = Map::from_iter([("network".to_owned(), json!(network)), ("value".to_owned(), value)]);
        Ok(reply(members, context.clock.now()))
    }

    /// Mainnet is known by its genesis, whatever the configuration calls the network.
    async fn refuse_mainnet(&self, network: &str, context: &Context) -> Result<(), Stop> {
        let refused = || {
            Stop::Refused(vec![format!(
                "There are no airdrops on {network}, which is mainnet. Name a test network: {}.",
                self.chain.networks().into_iter().filter(|name| *name != MAINNET).collect::<Vec<_>>().join(", ")
            )])
        };
        if network == MAINNET {
            return Err(refused());
        }
        let (_, genesis) = ask(&self.chain, "getGenesisHash", &json!({ "network": network }), context).await??;
        let mainnet = known_network(MAINNET).and_then(|mainnet| mainnet.genesis_hash);
        if genesis.as_str().is_some_and(|genesis| mainnet.as_deref() == Some(genesis)) {
            Err(refused())
        } else {
            Ok(())
        }
    }
}
