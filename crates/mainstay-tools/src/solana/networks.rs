//! `solanaNetworks`: the configured networks and how their nodes are.

use futures::future::join_all;
use mainstay_core::{Context, Effect, Result, Spec, Spelling, Tool};
use mainstay_solana::rpc::{CircuitState, NetworkHealth, NodeHealth};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::chain::Chain;
use super::sending::{NetworkPolicy, Sender};
use super::settings::SendLevel;
use super::{DIALECT, spec};

pub(super) struct Networks(pub(super) Chain, pub(super) Sender);

#[derive(Deserialize, JsonSchema)]
pub(super) struct Args {
    /// Only this network.
    network: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Listed {
    /// The network of calls that name none.
    default: String,
    networks: Vec<Network>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Network {
    name: String,
    /// Whether a node answers.
    available: bool,
    genesis_hash: Option<String>,
    slot: Option<u64>,
    version: Option<String>,
    /// off, relay (signed transactions are sent), or wallet (transfers are signed, too).
    sending: String,
    /// The address of the wallet.
    wallet: Option<String>,
    nodes: Vec<Node>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Node {
    host: String,
    /// closed: in use; open: not asked for a while after failures; half_open: being tried again.
    circuit: String,
    behind_by: Option<u64>,
    error: Option<String>,
}

impl Tool for Networks {
    const SPEC: Spec = Spec {
        title: "List the Solana networks",
        description: "Lists the configured Solana networks with genesis hash, slot, version, the state of each node, \
                      and whether transactions are sent there.",
        spellings: &[Spelling { dialect: DIALECT, name: "solanaNetworks" }],
        ..spec("networks", Effect::Reads)
    };
    type Args = Args;
    type Output = Listed;

    async fn call(&self, args: Args, _context: &Context) -> Result<Listed> {
        let client = self.0.client();
        let wanted =
            self.0.networks().into_iter().filter(|name| args.network.as_deref().is_none_or(|one| one == *name));
        let health = join_all(wanted.map(|name| client.health(name))).await;
        let networks: Vec<Network> = health.into_iter().flatten().map(|health| network(health, &self.1)).collect();
        if let (Some(name), true) = (&args.network, networks.is_empty()) {
            let known = self.0.networks().join(", ");
            let reason = format!("There is no network {}; configured are {known}.", mainstay_core::quoted(name));
            return Err(mainstay_core::Error::field("network", reason));
        }
        Ok(Listed { default: client.default_network().to_owned(), networks })
    }
}

fn network(health: NetworkHealth, sender: &Sender) -> Network {
    let NetworkHealth { network: name, genesis, slot, version, nodes, .. } = health;
    let policy = sender.policy(&name);
    Network {
        sending: policy.map_or(SendLevel::Off, NetworkPolicy::level).as_str().to_owned(),
        wallet: policy.and_then(|policy| Some(policy.wallet()?.address().to_string())),
        name,
        available: slot.is_some(),
        genesis_hash: genesis,
        slot,
        version,
        nodes: nodes.into_iter().map(node).collect(),
    }
}

fn node(health: NodeHealth) -> Node {
    let circuit = match health.circuit {
        CircuitState::Closed => "closed",
        CircuitState::Open => "open",
        CircuitState::HalfOpen => "half_open",
    };
    Node {
        host: health.host,
        circuit: circuit.to_owned(),
        behind_by: health.behind_by,
        error: health.error.map(|error| error.to_string()),
    }
}
