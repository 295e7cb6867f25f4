//! What a URL says about where it leads, and how much of it may be shown.

use std::net::IpAddr;

use reqwest::Url;

/// Whether what is sent there stays on this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    match bare.parse::<IpAddr>() {
        Ok(ip) => ip.to_canonical().is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// The URL without what may be secret in it: user name, password, query.
pub(super) fn shown(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

/// The same of a text that is no URL: whatever stands where they would is left out.
pub(super) fn without_secrets(text: &str) -> String {
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
    fn this_machine_is_told_from_others() {
        let at_home = |url: &str| is_loopback(&Url::parse(url).unwrap());
        for url in [
            "http://localhost/",
            "http://a.localhost:1/",
            "http://127.0.0.1/",
            "http://127.9.9.9/",
            "http://[::1]:8099/mcp",
            "http://[::ffff:127.0.0.1]/",
            "http://2130706433/",
        ] {
            assert!(at_home(url), "{url}");
        }
        for url in ["http://localhost.example/", "http://127.0.0.1.example/", "http://10.0.0.1/", "http://[::2]/"] {
            assert!(!at_home(url), "{url}");
        }
    }

    #[test]
    fn secrets_of_a_url_are_not_shown() {
        let url = Url::parse("https://me:canary@host:8443/mcp?key=canary#canary").unwrap();
        assert_eq!(shown(&url), "https://host:8443/mcp");
        for (text, clean) in [
            ("http://me:canary@host:x/p?key=canary", "http://host:x/p"),
            ("http://me:can#ary@host:x", "http://host:x"),
            ("me:canary@host", "host"),
            ("ftp://x/", "ftp://x/"),
        ] {
            assert_eq!(without_secrets(text), clean);
        }
    }
}
