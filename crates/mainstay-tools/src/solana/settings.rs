//! The configuration section `solana`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mainstay_core::Error;
use mainstay_solana::methods::Commitment;
use mainstay_solana::rpc::{ClientSettings, NetworkSettings, known_network};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The Solana chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SolanaSettings {
    /// The network of calls that name none.
    pub network: String,
    /// The commitment of calls that name none: processed, confirmed or finalized.
    #[schemars(with = "String")]
    pub commitment: Commitment,
    /// Which tools are listed on `/mcp`. `/api/mcp` and `--dialect solana` list all of them.
    pub tools: ToolProfile,
    /// Nodes of mainnet, devnet, testnet, localnet and of networks with names of your own. A known network that is not
    /// named here has its public node.
    pub networks: BTreeMap<String, SolanaNetwork>,
    /// Maximum duration of a call with all its retries, in seconds.
    #[schemars(range(min = 1))]
    pub timeout_seconds: u64,
    /// Maximum size of a node's response, in bytes.
    #[schemars(range(min = 1))]
    pub response_bytes: usize,
    /// Maximum memory for cached responses, in bytes. 0 turns the cache off.
    pub cache_bytes: usize,
}

/// The nodes of one network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SolanaNetwork {
    /// URLs of nodes, the preferred one first. `http` is allowed for this machine only. API keys in them are never shown.
    pub urls: Vec<String>,
    /// URL of the WebSocket, for subscriptions. Default: derived from the first URL.
    pub ws_url: Option<String>,
    /// Nodes whose genesis hash differs are not used. Default: that of the known network.
    pub genesis_hash: Option<String>,
    /// Maximum requests to each node in a second. Default: no limit.
    pub requests_per_second: Option<u32>,
    /// Whether transactions are sent to this network. Off by default.
    pub sending: SolanaSending,
}

/// Whether transactions are sent to a network, and how much they may spend. A person approves each of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SolanaSending {
    /// off: nothing is sent; relay: transactions that others have signed; wallet: also transfers that the wallet of this
    /// server signs.
    pub level: SendLevel,
    /// The wallet: a key file as `solana-keygen` writes it, readable by this user alone and out of reach of the tools for
    /// files and commands.
    pub key_file: Option<PathBuf>,
    /// Maximum lamports that a transaction takes from an account that signs it, with fee and rent. Required for a wallet.
    pub max_lamports: Option<u64>,
    /// The same for all transactions of 24 hours. Required for a wallet.
    pub max_lamports_per_day: Option<u64>,
    /// Limits of tokens, by mint. The wallet moves no others.
    pub tokens: BTreeMap<String, SolanaTokenLimit>,
}

/// How much of a token may be spent, in its smallest unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SolanaTokenLimit {
    /// Maximum that a transaction takes from an owner who signs it.
    pub max_amount: u64,
    /// The same for all transactions of 24 hours.
    pub max_amount_per_day: u64,
}

/// What may be sent to a network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SendLevel {
    #[default]
    Off,
    Relay,
    Wallet,
}

impl SendLevel {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Relay => "relay",
            Self::Wallet => "wallet",
        }
    }
}

/// Which tools of the family are listed on the standard endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ToolProfile {
    Named(Profile),
    /// These, by their names on the chain.
    These(Vec<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Accounts, tokens, transactions, and solanaRpc for everything else.
    Core,
    Full,
}

impl ToolProfile {
    /// Whether a tool is listed. `core` says that it is one of the core profile.
    pub(super) fn lists(&self, name: &str, core: bool) -> bool {
        match self {
            Self::Named(Profile::Core) => core,
            Self::Named(Profile::Full) => true,
            Self::These(names) => names.iter().any(|listed| listed == name),
        }
    }
}

impl Default for SolanaSettings {
    fn default() -> Self {
        Self {
            network: "mainnet".to_owned(),
            commitment: Commitment::Confirmed,
            tools: ToolProfile::Named(Profile::Core),
            networks: BTreeMap::new(),
            timeout_seconds: 30,
            response_bytes: 16 * 1024 * 1024,
            cache_bytes: 32 * 1024 * 1024,
        }
    }
}

impl SolanaSettings {
    /// Makes a node, as given by `SOLANA_RPC_URL`, the one of the default network. Which network that is follows from the
    /// URL, as in other tools of the chain: providers name it in the host.
    pub fn use_node(&mut self, url: &str) {
        let known = ["devnet", "testnet", "mainnet"].into_iter().find(|name| url.contains(name));
        let is_local = ["//127.", "//localhost", "//[::1]"].iter().any(|host| url.contains(host));
        let name = known.unwrap_or(if is_local { "localnet" } else { "mainnet" });
        let network = self.networks.entry(name.to_owned()).or_default();
        network.urls = vec![url.to_owned()];
        name.clone_into(&mut self.network);
    }

    /// The same settings without the parts of URLs that may be keys.
    pub fn redact(&mut self) {
        for network in self.networks.values_mut() {
            for url in network.urls.iter_mut().chain(&mut network.ws_url) {
                *url = mainstay_solana::rpc::redacted_url(url);
            }
        }
    }

    /// The key files of all wallets, with the names of their networks.
    pub fn key_files(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.networks.iter().filter_map(|(name, network)| Some((name.as_str(), network.sending.key_file.as_deref()?)))
    }

    /// What the client is built from. The error names the setting that is wrong.
    pub fn client(&self) -> Result<ClientSettings, String> {
        let defaults = ClientSettings::default();
        let mut networks: Vec<NetworkSettings> =
            defaults.networks.iter().filter(|network| !self.networks.contains_key(&network.name)).cloned().collect();
        networks.extend(self.networks.iter().map(|(name, network)| settings_of(name, network)));
        let settings = ClientSettings {
            networks,
            default_network: self.network.clone(),
            max_response_bytes: self.response_bytes,
            cache_bytes: self.cache_bytes,
            ..defaults
        };
        settings.validate()?;
        Ok(settings)
    }

    pub(super) fn deadline(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }
}

/// The error for settings with which no node can be called.
pub(super) fn invalid_settings(mut reason: String) -> Error {
    if reason.ends_with('.') {
        reason.pop();
    }
    Error::invalid(format!("The settings of the Solana chain are not valid ([solana] or SOLANA_RPC_URL): {reason}."))
}

/// What a known network's settings leave out is that network's.
fn settings_of(name: &str, network: &SolanaNetwork) -> NetworkSettings {
    let known = known_network(name);
    let has_own_node = !network.urls.is_empty();
    let (urls, known_ws, known_genesis) = match known {
        Some(known) => (known.urls, known.ws_url, known.genesis_hash),
        None => (Vec::new(), None, None),
    };
    NetworkSettings {
        name: name.to_owned(),
        urls: if has_own_node { network.urls.clone() } else { urls },
        // The public WebSocket does not belong to another node.
        ws_url: network.ws_url.clone().or(known_ws.filter(|_| !has_own_node)),
        genesis_hash: network.genesis_hash.clone().or(known_genesis),
        requests_per_second: network.requests_per_second,
    }
}
