//! URLs of nodes: which are allowed, and how to name a node without its API key.
//!
//! Providers put API keys into the path (`/v2/KEY`), the query (`?api-key=KEY`) or the user name. None of these is ever part
//! of a message: a node is named by its host.

use std::net::IpAddr;

use reqwest::Url;
use serde_json::Value;

/// What replaces an API key that a node repeats in its messages.
const REDACTED: &str = "[redacted]";

/// Shorter parts of a URL (`v2`, `rpc`, `true`) are no keys, and replacing them would garble ordinary words.
const SHORTEST_KEY: usize = 8;

/// The URL of a node, which is never printed.
#[derive(Clone)]
pub(crate) struct NodeUrl {
    pub(crate) url: Url,
    /// The host, with its port where it is not the usual one. It is all that messages contain.
    pub(crate) host: String,
    /// Requests to this machine never go through a proxy.
    pub(crate) is_loopback: bool,
    /// Parts of the URL that may be API keys. They are removed from what a node says.
    keys: Vec<String>,
}

impl NodeUrl {
    /// Accepts `secure` URLs, and `plain` ones on this machine. The error contains nothing of the URL but its host.
    pub(crate) fn parse(text: &str, secure: &str, plain: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| format!("is not a URL: {error}"))?;
        let (Some(host), scheme) = (url.host_str(), url.scheme()) else {
            return Err(format!("has no host; write {secure}://host"));
        };
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let is_loopback = is_loopback(&url);
        if scheme != secure && scheme != plain {
            return Err(format!("({host}) has the scheme {scheme}; use {secure}, or {plain} for this machine"));
        }
        if scheme == plain && !is_loopback {
            return Err(format!("({host}) is not encrypted; use {secure}, {plain} is for this machine only"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(format!("({host}) has a user name or password; put the API key into the path or the query"));
        }
        let keys = keys(&url);
        Ok(Self { url, host, is_loopback, keys })
    }

    /// A URL for requests.
    pub(crate) fn http(text: &str) -> Result<Self, String> {
        Self::parse(text, "https", "http")
    }

    /// A URL for subscriptions.
    pub(crate) fn websocket(text: &str) -> Result<Self, String> {
        Self::parse(text, "wss", "ws")
    }

    /// The text without the API keys of this URL. Providers repeat keys in messages such as "invalid key: …".
    pub(crate) fn redact(&self, text: String) -> String {
        self.keys.iter().filter(|key| !key.is_empty()).fold(text, |text, key| text.replace(key, REDACTED))
    }

    /// The same for every text in a JSON value.
    pub(crate) fn redact_json(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redact(text)),
            Value::Array(items) => items.into_iter().map(|item| self.redact_json(item)).collect(),
            Value::Object(members) => {
                members.into_iter().map(|(name, member)| (self.redact(name), self.redact_json(member))).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value,
        }
    }
}

/// The host alone, so that a derived `Debug` further up cannot leak the key.
impl std::fmt::Debug for NodeUrl {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "NodeUrl({})", self.host)
    }
}

/// How a configured URL is printed. Text that is no URL may be a key by itself, so nothing of it is shown.
pub fn shown(text: &str) -> String {
    let host = Url::parse(text).ok().and_then(|url| url.host_str().map(str::to_owned));
    host.unwrap_or_else(|| REDACTED.to_owned())
}

/// The parts of the URL that may be keys, longest first: one may contain another.
fn keys(url: &Url) -> Vec<String> {
    let path = url.path_segments().into_iter().flatten().map(str::to_owned);
    let decoded = url.query_pairs().map(|(_, value)| value.into_owned());
    // A key with escaped characters may come back in either form.
    let written = url.query().unwrap_or_default().split('&').map(|pair| {
        let value = pair.split_once('=').map_or(pair, |(_, value)| value);
        value.to_owned()
    });
    let mut keys: Vec<String> = path.chain(decoded).chain(written).filter(|key| key.len() >= SHORTEST_KEY).collect();
    keys.sort_unstable_by_key(|key| std::cmp::Reverse(key.len()));
    keys.dedup();
    keys
}

/// Whether a request to this URL stays on this machine.
fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    // RFC 6761 reserves `localhost` and all names below it; IPv4 addresses may be written as IPv6 ones.
    match bare.parse::<IpAddr>() {
        Ok(ip) => ip.to_canonical().is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_encrypted_urls_and_those_of_this_machine_are_accepted() {
        for url in ["https://a.example", "https://a.example/v2/key?x=y", "http://127.0.0.1:8899", "http://[::1]:1"] {
            assert!(NodeUrl::http(url).is_ok(), "{url}");
        }
        for url in
            ["http://a.example", "ftp://a.example", "wss://a.example", "a.example", "https://", "http://10.0.0.1"]
        {
            assert!(NodeUrl::http(url).is_err(), "{url}");
        }
        assert!(NodeUrl::websocket("wss://a.example").is_ok());
        assert!(NodeUrl::websocket("ws://localhost:8900").is_ok());
        assert!(NodeUrl::websocket("ws://a.example").is_err());
    }

    #[test]
    fn a_rejected_url_is_not_repeated() {
        for url in [
            "https://me:canary-canary@a.example/",
            "https://canary-canary@a.example/",
            "http://a.example/canary-canary?k=canary-canary",
            "canary-canary",
            "https://a.example:canary-canary/",
        ] {
            let error = NodeUrl::http(url).unwrap_err();
            assert!(!error.contains("canary"), "{error}");
            assert!(!shown(url).contains("canary"), "{url}");
        }
    }

    #[test]
    fn keys_that_a_node_repeats_are_redacted_in_text_and_json() {
        let url = NodeUrl::http("https://a.example/v2/canary-1234?api-key=canary%2B5678&net=x").unwrap();
        let text = url.redact("invalid key canary-1234, canary+5678 or canary%2B5678 for v2".to_owned());
        assert_eq!(text, "invalid key [redacted], [redacted] or [redacted] for v2");
        let value = url.redact_json(json!({"canary-1234": ["canary+5678", 1, null]}));
        assert_eq!(value, json!({"[redacted]": ["[redacted]", 1, null]}));
        assert_eq!(format!("{url:?}"), "NodeUrl(a.example)");
    }
}
