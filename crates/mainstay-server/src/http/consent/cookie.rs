//! The cookies of the consent page: not readable by scripts (`HttpOnly`), not sent from other sites
//! (`SameSite=Strict`), and sent to the consent routes only (`Path`). The crate `cookie` would save about ten lines, for
//! 7 s of CPU time in a release build and the crate `time`.

use http::{HeaderMap, header};
use mainstay_auth::consent::CONSENT_PATH;
use mainstay_core::new_id;

/// Identifies the browser; CSRF tokens are bound to it.
const BROWSER: &str = "mainstay_consent";

/// The access token of the person who signed in. Browsers accept the second name over HTTPS only, so that an attacker on
/// the network cannot set it. `__Host-` would be stricter, but requires `Path=/`, which sends it to every route.
const TOKEN: &str = "mainstay_consent_token";
const SECURE_TOKEN: &str = "__Secure-mainstay_consent_token";

/// How cookies are set and read, which depends on whether browsers reach this server over HTTPS.
#[derive(Clone, Copy)]
pub(super) struct Cookies {
    secure: bool,
}

impl Cookies {
    /// `origin` is where browsers reach this server.
    pub(super) fn new(origin: Option<&str>) -> Self {
        Self { secure: origin.is_some_and(|origin| origin.to_ascii_lowercase().starts_with("https://")) }
    }

    pub(super) fn browser(self, value: &str) -> String {
        self.set(BROWSER, value)
    }

    pub(super) fn token(self, token: &str, seconds: i64) -> String {
        format!("{}; Max-Age={seconds}", self.set(self.token_name(), token))
    }

    /// Deletes the token.
    pub(super) fn delete_token(self) -> String {
        self.token("", 0)
    }

    /// The token, unless the cookie was sent twice: then an attacker set one of them, and they cannot be told apart.
    pub(super) fn find_token(self, headers: &HeaderMap) -> Option<&str> {
        let mut values = values(headers, self.token_name());
        let token = values.next().filter(|token| !token.is_empty())?;
        values.next().is_none().then_some(token)
    }

    fn token_name(self) -> &'static str {
        if self.secure { SECURE_TOKEN } else { TOKEN }
    }

    fn set(self, name: &str, value: &str) -> String {
        let (path, secure) = (CONSENT_PATH.trim_end_matches('/'), if self.secure { "; Secure" } else { "" });
        format!("{name}={value}; Path={path}; HttpOnly; SameSite=Strict{secure}")
    }
}

/// The browser's id, if it has the form of those this server makes.
pub(super) fn browser_id(headers: &HeaderMap) -> Option<&str> {
    let value = values(headers, BROWSER).next()?;
    (value.len() == 32 && value.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(value)
}

/// The browser's id, or a new one. A browser that has a cookie keeps it: other pages it has open depend on it.
pub(super) fn browser_id_or_new(headers: &HeaderMap) -> String {
    browser_id(headers).map_or_else(new_id, str::to_owned)
}

fn values<'h>(headers: &'h HeaderMap, name: &'static str) -> impl Iterator<Item = &'h str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(move |(found, _)| *found == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(cookies: &[&str]) -> HeaderMap {
        cookies.iter().map(|cookie| (header::COOKIE, cookie.parse().unwrap())).collect()
    }

    #[test]
    fn over_https_a_cookie_is_secure_and_only_its_secure_name_counts() {
        let (plain, secure) = (Cookies::new(Some("http://127.0.0.1:8099")), Cookies::new(Some("HTTPS://box.example")));
        assert_eq!(
            plain.token("t", 9),
            "mainstay_consent_token=t; Path=/api/mcp/consent; HttpOnly; SameSite=Strict; Max-Age=9"
        );
        assert_eq!(
            secure.token("t", 9),
            "__Secure-mainstay_consent_token=t; Path=/api/mcp/consent; HttpOnly; SameSite=Strict; Secure; Max-Age=9"
        );
        let both = sent(&["mainstay_consent_token=a; __Secure-mainstay_consent_token=b"]);
        assert_eq!((plain.find_token(&both), secure.find_token(&both)), (Some("a"), Some("b")));
    }

    #[test]
    fn a_token_that_is_sent_twice_or_is_empty_does_not_count() {
        let cookies = Cookies::new(None);
        for cookies_sent in [
            &["mainstay_consent_token=a; mainstay_consent_token=b"][..],
            &["mainstay_consent_token=a", "x=y; mainstay_consent_token=a"],
            &["mainstay_consent_token="],
            &["xmainstay_consent_token=a"],
        ] {
            assert_eq!(cookies.find_token(&sent(cookies_sent)), None, "{cookies_sent:?}");
        }
        assert_eq!(cookies.find_token(&sent(&["x=y; mainstay_consent_token=a.b-c_d"])), Some("a.b-c_d"));
    }
}
