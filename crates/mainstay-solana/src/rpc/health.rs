//! How a network and its nodes are.

use std::time::Duration;

use futures::future::{join, join_all};
use serde::Deserialize;
use tokio::time::Instant;

use super::cache::CacheUse;
use super::client::{Client, Query};
use super::error::RpcError;
use super::nodes::{CircuitState, Network, Node};

/// The state of a network.
#[derive(Debug, Clone)]
pub struct NetworkHealth {
    pub network: String,
    /// The genesis hash that its nodes report.
    pub genesis: Option<String>,
    /// The highest slot of its nodes, at commitment `processed`.
    pub slot: Option<u64>,
    /// The version of the node that answered.
    pub version: Option<String>,
    /// In the order of the configuration.
    pub nodes: Vec<NodeHealth>,
    /// Why genesis and version are missing.
    pub error: Option<RpcError>,
}

/// The state of a node.
#[derive(Debug, Clone)]
pub struct NodeHealth {
    pub host: String,
    pub circuit: CircuitState,
    pub slot: Option<u64>,
    /// How many slots it is behind the highest of its peers.
    pub behind_by: Option<u64>,
    /// Why its slot is not known.
    pub error: Option<RpcError>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Version {
    solana_core: String,
}

impl Client {
    /// Asks every node of a network for its slot, and one of them for the genesis hash and the version. What fails is part
    /// of the result; the error is for a network that does not exist.
    pub async fn health(&self, network: &str) -> Result<NetworkHealth, RpcError> {
        let time = self.caller().settings().timeout;
        let known = self.network(network)?;
        let probes = join_all(known.nodes.iter().map(|node| self.probe(known, node, time)));
        let facts = join(
            self.fact(network, "getGenesisHash", CacheUse::Immutable, time),
            self.fact(network, "getVersion", CacheUse::Never, time),
        );
        let (mut nodes, (genesis, version)) = join(probes, facts).await;
        let slot = nodes.iter().filter_map(|node| node.slot).max();
        for node in &mut nodes {
            node.behind_by = slot.zip(node.slot).map(|(highest, slot)| highest - slot);
        }
        let error = genesis.as_ref().err().or(version.as_ref().err()).cloned();
        let parsed = |json: String| serde_json::from_str::<Version>(&json).ok();
        Ok(NetworkHealth {
            network: network.to_owned(),
            genesis: genesis.ok().and_then(|json| serde_json::from_str(&json).ok()),
            slot,
            version: version.ok().and_then(parsed).map(|version| version.solana_core),
            nodes,
            error,
        })
    }

    async fn probe(&self, network: &Network, node: &Node, time: Duration) -> NodeHealth {
        let answer = self.caller().probe_slot(network, node, Instant::now() + time).await;
        NodeHealth {
            host: node.url.host.clone(),
            circuit: node.circuit(Instant::now()),
            slot: answer.as_ref().ok().copied(),
            behind_by: None,
            error: answer.err(),
        }
    }

    /// An answer without parameters, as JSON.
    async fn fact(&self, network: &str, method: &str, cache: CacheUse, time: Duration) -> Result<String, RpcError> {
        let query = Query {
            network,
            method,
            params: &[],
            cache,
            retry: true,
            has_context: false,
            min_context_slot: None,
            commitment: None,
            deadline: time,
        };
        self.query(query).await.map(|answer| answer.value.get().to_owned())
    }
}
