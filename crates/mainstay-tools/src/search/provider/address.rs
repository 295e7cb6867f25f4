//! Where requests go, and whether they may go there unencrypted.

use std::net::IpAddr;

use mainstay_core::{Error, Result};
use reqwest::Url;

/// Names that are resolved in private networks alone: RFC 6762, RFC 8375, and ICANN's reservation of `internal`.
const PRIVATE_NAMES: [&str; 4] = [".localhost", ".local", ".internal", ".home.arpa"];

/// The address of a service. Only its host is ever part of a message: providers put keys into paths and queries.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) url: Url,
    /// With the port where it is not the usual one.
    pub(super) host: String,
    /// On this machine or in a private network: no proxy of the environment leads there.
    pub(super) is_private: bool,
}

impl Address {
    /// Accepts `https`, and `http` where nobody else can listen. Source code and the key are in every request.
    pub(super) fn parse(text: &str, has_key: bool, allow_http: bool) -> Result<Self> {
        let wrong = |problem: String| Error::invalid(format!("`url` of the embedding provider {problem}"));
        let url = Url::parse(text).map_err(|error| wrong(format!("is not a URL: {error}.")))?;
        let Some(name) = url.host_str() else { return Err(wrong("has no host; write https://host/path.".to_owned())) };
        let host = url.port().map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"));
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong(format!("({host}) has a user name or password; put the API key into `key_file`.")));
        }
        let is_private = is_private(name);
        match url.scheme() {
            "https" => {}
            "http" if is_private => {}
            "http" if has_key => {
                return Err(wrong(format!(
                    "({host}) is not encrypted, and the API key would be readable on the way. Use https, or remove \
                     `key_file`."
                )));
            }
            "http" if allow_http => {}
            "http" => {
                return Err(wrong(format!(
                    "({host}) is not encrypted, and the documents would be readable on the way. Use https, or set \
                     `allow_http = true` if the network is yours."
                )));
            }
            scheme => return Err(wrong(format!("({host}) has the scheme {scheme}; use https."))),
        }
        Ok(Self { url, host, is_private })
    }
}

/// The host of a configured URL. Text that is no URL may be a key by itself, so nothing of it is shown.
pub(super) fn host_of(text: &str) -> String {
    let host = Url::parse(text).ok().and_then(|url| url.host_str().map(str::to_owned));
    host.unwrap_or_else(|| "[not a URL]".to_owned())
}

/// Whether a host is this machine or in a private network. A name is judged as it is written: looking it up would make
/// the answer depend on the moment.
fn is_private(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    match bare.parse::<IpAddr>().map(|ip| ip.to_canonical()) {
        Ok(IpAddr::V4(ip)) => {
            // 100.64.0.0/10 is shared address space (RFC 6598), which private overlay networks use.
            let [first, second, ..] = ip.octets();
            ip.is_loopback() || ip.is_private() || ip.is_link_local() || (first == 100 && second & 0xc0 == 64)
        }
        Ok(IpAddr::V6(ip)) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
        Err(_) => {
            let name = bare.trim_end_matches('.');
            // A name without a dot is of this machine or of a network of containers.
            !name.contains('.') || PRIVATE_NAMES.iter().any(|suffix| name.ends_with(suffix))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_is_for_hosts_that_nobody_else_can_listen_to() {
        for url in [
            "http://127.0.0.1:11434/v1/embeddings",
            "http://[::1]/",
            "http://localhost/",
            "http://ollama:11434/",
            "http://10.1.2.3/",
            "http://172.31.0.1/",
            "http://192.168.1.1/",
            "http://169.254.1.1/",
            "http://100.100.1.1/",
            "http://[fd00::1]/",
            "http://[::ffff:10.0.0.1]/",
            "http://models.internal/",
            "http://box.local/",
            "https://api.example.com/v1/embeddings",
        ] {
            assert!(Address::parse(url, true, false).is_ok(), "{url}");
        }
        for url in [
            "http://api.example.com/",
            "http://8.8.8.8/",
            "http://172.32.0.1/",
            "http://100.128.0.1/",
            "http://[2001:db8::1]/",
        ] {
            let with_key = Address::parse(url, true, true).err().unwrap().public;
            assert!(with_key.contains("https") && with_key.contains("key_file"), "{with_key}");
            let without = Address::parse(url, false, false).err().unwrap().public;
            assert!(without.contains("allow_http"), "{without}");
            assert!(Address::parse(url, false, true).is_ok(), "{url}");
        }
    }

    #[test]
    fn a_rejected_url_is_not_repeated() {
        for url in [
            "https://me:canary@a.example/",
            "https://canary@a.example/",
            "http://a.example/canary?k=canary",
            "ftp://a.example/canary",
            "canary",
            "https://a.example:canary/",
            "data:canary",
        ] {
            let error = Address::parse(url, true, false).err().unwrap();
            assert!(!error.public.contains("canary"), "{}", error.public);
            assert!(!host_of(url).contains("canary"), "{url}");
        }
    }
}
