//! URLs of servers: whether they lead to this machine, and how to print them without secrets.

use std::net::IpAddr;

use reqwest::Url;

/// Whether a request to this URL stays on this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    // RFC 6761 reserves `localhost` and all names below it; IPv4 addresses may be written as IPv6 ones.
    match bare.parse::<IpAddr>() {
        Ok(ip) => ip.to_canonical().is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// The URL without user name, password and query, any of which may be secret.
pub(super) fn without_secrets(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

/// The same for text that could not be parsed as a URL.
pub(super) fn without_secrets_in_text(text: &str) -> String {
    let start = text.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = text.split_at(start);
    let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_addresses_are_recognised() {
        let local = |url: &str| is_loopback(&Url::parse(url).unwrap());
        for url in [
            "http://localhost/",
            "http://a.localhost:1/",
            "http://127.0.0.1/",
            "http://127.9.9.9/",
            "http://[::1]:8099/mcp",
            "http://[::ffff:127.0.0.1]/",
            "http://2130706433/",
        ] {
            assert!(local(url), "{url}");
        }
        for url in ["http://localhost.example/", "http://127.0.0.1.example/", "http://10.0.0.1/", "http://[::2]/"] {
            assert!(!local(url), "{url}");
        }
    }

    #[test]
    fn secrets_in_a_url_are_not_printed() {
        let url = Url::parse("https://me:canary@host:8443/mcp?key=canary#canary").unwrap();
        assert_eq!(without_secrets(&url), "https://host:8443/mcp");
        for (text, clean) in [
            ("http://me:canary@host:x/p?key=canary", "http://host:x/p"),
            ("http://me:can#ary@host:x", "http://host:x"),
            ("me:canary@host", "host"),
            ("ftp://x/", "ftp://x/"),
        ] {
            assert_eq!(without_secrets_in_text(text), clean);
        }
    }
}
