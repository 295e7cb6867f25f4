//! The cookies of the page: out of reach of scripts and of other sites, and sent to the page alone.

use http::{HeaderMap, header};
use mainstay_engine::CONSENT_PATH;

/// Which browser it is: what the seal on a form is made for.
const BROWSER: &str = "mainstay_consent";

/// The access token of whoever signed in. A browser takes the second name over https alone, so that nobody on the way
/// can plant it; the stronger `__Host-` would send it to every route.
const TOKEN: &str = "mainstay_consent_token";
const SECURE_TOKEN: &str = "__Secure-mainstay_consent_token";

/// How cookies are set and read where this server is reached.
#[derive(Clone, Copy)]
pub(crate) struct Cookies {
    secure: bool,
}

impl Cookies {
    /// `origin` is where browsers find this server.
    pub(crate) fn of(origin: Option<&str>) -> Self {
        Self { secure: origin.is_some_and(|origin| origin.to_ascii_lowercase().starts_with("https://")) }
    }

    pub(super) fn browser(self, value: &str) -> String {
        self.set(BROWSER, value)
    }

    pub(super) fn token(self, token: &str, seconds: i64) -> String {
        format!("{}; Max-Age={seconds}", self.set(self.token_name(), token))
    }

    pub(super) fn no_token(self) -> String {
        self.token("", 0)
    }

    /// The token of the one such cookie. A second was planted by somebody, and which of them is not to be seen.
    pub(super) fn token_in(self, headers: &HeaderMap) -> Option<&str> {
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

/// The browser's own cookie, if it is one we could have made.
pub(super) fn browser_in(headers: &HeaderMap) -> Option<&str> {
    let value = values(headers, BROWSER).next()?;
    (value.len() == 32 && value.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(value)
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
        let (plain, secure) = (Cookies::of(Some("http://127.0.0.1:8099")), Cookies::of(Some("HTTPS://box.example")));
        assert_eq!(
            plain.token("t", 9),
            "mainstay_consent_token=t; Path=/api/mcp/consent; HttpOnly; SameSite=Strict; Max-Age=9"
        );
        assert_eq!(
            secure.token("t", 9),
            "__Secure-mainstay_consent_token=t; Path=/api/mcp/consent; HttpOnly; SameSite=Strict; Secure; Max-Age=9"
        );
        let both = sent(&["mainstay_consent_token=a; __Secure-mainstay_consent_token=b"]);
        assert_eq!((plain.token_in(&both), secure.token_in(&both)), (Some("a"), Some("b")));
    }

    #[test]
    fn a_token_that_comes_twice_or_is_empty_is_none() {
        let cookies = Cookies::of(None);
        for cookies_sent in [
            &["mainstay_consent_token=a; mainstay_consent_token=b"][..],
            &["mainstay_consent_token=a", "x=y; mainstay_consent_token=a"],
            &["mainstay_consent_token="],
            &["xmainstay_consent_token=a"],
        ] {
            assert_eq!(cookies.token_in(&sent(cookies_sent)), None, "{cookies_sent:?}");
        }
        assert_eq!(cookies.token_in(&sent(&["x=y; mainstay_consent_token=a.b-c_d"])), Some("a.b-c_d"));
    }
}
