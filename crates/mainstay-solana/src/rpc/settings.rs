//! Which networks there are and how their nodes are called.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use solana_hash::Hash;

use super::address::{NodeUrl, shown};

/// The longest name of a network: names become labels of metrics.
const LONGEST_NAME: usize = 32;

/// Settings of a [`Client`](super::Client).
#[derive(Debug, Clone)]
pub struct ClientSettings {
    pub networks: Vec<NetworkSettings>,
    /// The network of calls that name none.
    pub default_network: String,
    /// Of one request to a node. A call may consist of several requests and has its own deadline.
    pub timeout: Duration,
    /// The longest response of a node, in bytes.
    pub max_response_bytes: usize,
    /// The memory for cached answers, in bytes; 0 turns the cache off.
    pub cache_bytes: usize,
    /// How long a slot lasts, and with it the longest time for which an account read is cached.
    pub slot_time: Duration,
    pub retry: RetrySettings,
    pub breaker: BreakerSettings,
    /// A node further behind the highest observed slot than this is avoided.
    pub max_slots_behind: u64,
    /// After this time a node that was behind is asked again.
    pub behind_recheck: Duration,
}

/// How reads are repeated.
#[derive(Debug, Clone)]
pub struct RetrySettings {
    /// The most requests of one call, the first included.
    pub attempts: u32,
    /// The upper bound of the first wait; it doubles with each further one. Each wait is random below its bound.
    pub first_backoff: Duration,
    pub longest_backoff: Duration,
}

/// When a node counts as down.
#[derive(Debug, Clone)]
pub struct BreakerSettings {
    /// How many failures in a row open the circuit of a URL.
    pub failures: u32,
    /// After this time one request is let through to see whether the node is back.
    pub open_for: Duration,
}

/// A network and its nodes.
#[derive(Clone)]
pub struct NetworkSettings {
    pub name: String,
    /// The first is preferred; the others are used while it is not available.
    pub urls: Vec<String>,
    /// For subscriptions. Without it, it is derived from the first URL as the chain's own tools do.
    pub ws_url: Option<String>,
    /// Nodes of another chain are refused.
    pub genesis_hash: Option<String>,
    /// The most requests to each URL in a second.
    pub requests_per_second: Option<u32>,
}

/// URLs contain API keys, so the hosts alone are printed.
impl fmt::Debug for NetworkSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<String> = self.urls.iter().map(|url| shown(url)).collect();
        formatter
            .debug_struct("NetworkSettings")
            .field("name", &self.name)
            .field("hosts", &hosts)
            .field("ws_host", &self.ws_url.as_deref().map(shown))
            .field("genesis_hash", &self.genesis_hash)
            .field("requests_per_second", &self.requests_per_second)
            .finish()
    }
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self { attempts: 6, first_backoff: Duration::from_millis(250), longest_backoff: Duration::from_secs(4) }
    }
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self { failures: 5, open_for: Duration::from_secs(10) }
    }
}

impl Default for ClientSettings {
    /// The known networks, mainnet first.
    fn default() -> Self {
        Self {
            networks: KNOWN.iter().map(KnownNetwork::settings).collect(),
            default_network: "mainnet".to_owned(),
            timeout: Duration::from_secs(10),
            max_response_bytes: 16 * 1024 * 1024,
            cache_bytes: 32 * 1024 * 1024,
            slot_time: Duration::from_millis(400),
            retry: RetrySettings::default(),
            breaker: BreakerSettings::default(),
            // 20 seconds at the usual pace. Nodes of one provider differ by a few slots all the time.
            max_slots_behind: 50,
            behind_recheck: Duration::from_secs(10),
        }
    }
}

impl ClientSettings {
    /// Checks the values; the error names the one that is wrong and contains no URL.
    pub fn validate(&self) -> Result<(), String> {
        if self.networks.is_empty() {
            return Err("networks is empty; configure at least one network".to_owned());
        }
        for (index, network) in self.networks.iter().enumerate() {
            network.validate()?;
            if self.networks.iter().take(index).any(|other| other.name == network.name) {
                return Err(format!("there are two networks {:?}; give each its own name", network.name));
            }
        }
        if !self.networks.iter().any(|network| network.name == self.default_network) {
            return Err(format!("default_network {:?} is not one of the networks", self.default_network));
        }
        for (name, is_zero) in [
            ("timeout", self.timeout.is_zero()),
            ("slot_time", self.slot_time.is_zero()),
            ("max_response_bytes", self.max_response_bytes == 0),
            ("retry.attempts", self.retry.attempts == 0),
            ("breaker.failures", self.breaker.failures == 0),
        ] {
            if is_zero {
                return Err(format!("{name} is 0; it must be at least 1"));
            }
        }
        if self.retry.first_backoff > self.retry.longest_backoff {
            return Err("retry.first_backoff is longer than retry.longest_backoff".to_owned());
        }
        Ok(())
    }
}

impl NetworkSettings {
    /// Checks one network; the error names the value that is wrong and contains no URL.
    pub fn validate(&self) -> Result<(), String> {
        let name = &self.name;
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
        if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(allowed) {
            let shown = mainstay_core::quoted(name);
            return Err(format!(
                "the network name {shown} is not allowed: use 1 to {LONGEST_NAME} of a-z, 0-9, '-' and '_'"
            ));
        }
        if self.urls.is_empty() {
            return Err(format!("network {name} has no URL; configure at least one"));
        }
        for (index, url) in self.urls.iter().enumerate() {
            NodeUrl::http(url).map_err(|reason| format!("network {name}: URL {} {reason}", index + 1))?;
        }
        if let Some(url) = &self.ws_url {
            NodeUrl::websocket(url).map_err(|reason| format!("network {name}: ws_url {reason}"))?;
        }
        if let Some(hash) = self.genesis_hash.as_deref().filter(|hash| Hash::from_str(hash).is_err()) {
            let shown = mainstay_core::quoted(hash);
            return Err(format!("network {name}: genesis_hash {shown} is not the base58 form of 32 bytes"));
        }
        if self.requests_per_second == Some(0) {
            return Err(format!("network {name}: requests_per_second is 0; leave it out for no limit"));
        }
        Ok(())
    }
}

struct KnownNetwork {
    name: &'static str,
    url: &'static str,
    ws_url: &'static str,
    genesis_hash: Option<&'static str>,
}

impl KnownNetwork {
    fn settings(&self) -> NetworkSettings {
        NetworkSettings {
            name: self.name.to_owned(),
            urls: vec![self.url.to_owned()],
            ws_url: Some(self.ws_url.to_owned()),
            genesis_hash: self.genesis_hash.map(str::to_owned),
            requests_per_second: None,
        }
    }
}

/// The public clusters, and a validator on this machine, whose genesis differs with each start.
const KNOWN: [KnownNetwork; 4] = [
    KnownNetwork {
        name: "mainnet",
        url: "https://api.mainnet-beta.solana.com",
        ws_url: "wss://api.mainnet-beta.solana.com",
        genesis_hash: Some("5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"),
    },
    KnownNetwork {
        name: "devnet",
        url: "https://api.devnet.solana.com",
        ws_url: "wss://api.devnet.solana.com",
        genesis_hash: Some("EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG"),
    },
    KnownNetwork {
        name: "testnet",
        url: "https://api.testnet.solana.com",
        ws_url: "wss://api.testnet.solana.com",
        genesis_hash: Some("4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY"),
    },
    KnownNetwork { name: "localnet", url: "http://127.0.0.1:8899", ws_url: "ws://127.0.0.1:8900", genesis_hash: None },
];

/// A public network by its name: mainnet, devnet, testnet, or localnet (127.0.0.1:8899).
pub fn known_network(name: &str) -> Option<NetworkSettings> {
    KNOWN.iter().find(|known| known.name == name).map(KnownNetwork::settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(change: impl FnOnce(&mut ClientSettings)) -> Result<(), String> {
        let mut settings = ClientSettings::default();
        change(&mut settings);
        settings.validate()
    }

    #[test]
    fn the_known_networks_are_valid_as_they_are() {
        assert_eq!(ClientSettings::default().validate(), Ok(()));
        for name in ["mainnet", "devnet", "testnet", "localnet"] {
            assert_eq!(known_network(name).unwrap().validate(), Ok(()), "{name}");
        }
        assert!(known_network("mainnet-beta").is_none());
    }

    #[test]
    fn an_invalid_value_is_named() {
        let error = |change: fn(&mut ClientSettings)| with(change).unwrap_err();
        assert!(error(|all| all.networks.clear()).contains("networks"));
        assert!(error(|all| all.networks[1].name = "mainnet".into()).contains("two networks \"mainnet\""));
        assert!(error(|all| all.networks[1].name = "Dev Net".into()).contains("Dev Net"));
        assert!(error(|all| all.default_network = "other".into()).contains("default_network \"other\""));
        assert!(error(|all| all.networks[1].urls.clear()).contains("devnet has no URL"));
        assert!(error(|all| all.networks[1].urls.push("http://a.example".into())).contains("devnet: URL 2"));
        assert!(error(|all| all.networks[1].ws_url = Some("https://a.example".into())).contains("devnet: ws_url"));
        assert!(error(|all| all.networks[1].genesis_hash = Some("0OIl".into())).contains("genesis_hash \"0OIl\""));
        assert!(error(|all| all.networks[1].requests_per_second = Some(0)).contains("requests_per_second"));
        assert!(error(|all| all.timeout = Duration::ZERO).contains("timeout"));
        assert!(error(|all| all.retry.attempts = 0).contains("retry.attempts"));
        assert!(error(|all| all.retry.longest_backoff = Duration::ZERO).contains("retry.first_backoff"));
    }

    #[test]
    fn printed_settings_contain_hosts_but_no_keys() {
        let mut network = known_network("mainnet").unwrap();
        network.urls = vec!["https://a.example/canary-1".into(), "canary-2".into()];
        network.ws_url = Some("wss://b.example/?key=canary-3".into());
        let printed = format!("{:?}", ClientSettings { networks: vec![network], ..ClientSettings::default() });
        assert!(printed.contains("a.example") && printed.contains("b.example"), "{printed}");
        assert!(!printed.contains("canary"), "{printed}");
    }
}
