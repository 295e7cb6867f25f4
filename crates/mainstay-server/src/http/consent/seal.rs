//! What shows that a form was sent from our own page: a value made for the consent and for a cookie of the browser that
//! was shown it. Another page can neither read the value nor make the browser send the cookie with a form of its own.

use aws_lc_rs::hmac;
use http::{HeaderMap, header};
use mainstay_core::{Result, new_id};
use mainstay_engine::{CONSENT_PATH, Engine};
use tokio::sync::OnceCell;

const COOKIE: &str = "mainstay_consent";

/// Sealed with a key that all replicas share; it is fetched when it is first needed.
#[derive(Default)]
pub(super) struct Seal(OnceCell<hmac::Key>);

/// The value for the form, and the cookie it goes with.
pub(super) struct Pair {
    pub(super) csrf: String,
    pub(super) cookie: String,
}

impl Seal {
    async fn key(&self, engine: &Engine) -> Result<&hmac::Key> {
        let made = self.0.get_or_try_init(|| async {
            let secret = engine.secret("consent-page").await?;
            Ok(hmac::Key::new(hmac::HMAC_SHA256, &secret))
        });
        made.await
    }

    /// The browser keeps the cookie it has: it may have several pages open.
    pub(super) async fn make(&self, engine: &Engine, headers: &HeaderMap, id: &str) -> Result<Pair> {
        let browser = browser(headers).map_or_else(new_id, str::to_owned);
        let csrf = hex(hmac::sign(self.key(engine).await?, text(id, &browser).as_bytes()).as_ref());
        let cookie = format!("{COOKIE}={browser}; Path={CONSENT_PATH}; HttpOnly; SameSite=Strict");
        Ok(Pair { csrf, cookie })
    }

    pub(super) async fn fits(&self, engine: &Engine, headers: &HeaderMap, id: &str, csrf: &str) -> Result<bool> {
        let (Some(browser), Some(tag)) = (browser(headers), unhex(csrf)) else { return Ok(false) };
        Ok(hmac::verify(self.key(engine).await?, text(id, browser).as_bytes(), &tag).is_ok())
    }
}

/// The cookie has no space in it, so the pair is unambiguous whatever the id is.
fn text(id: &str, browser: &str) -> String {
    format!("{browser} {id}")
}

/// Our cookie's value, if it is one we could have made.
fn browser(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(name, _)| *name == COOKIE)?;
    (value.len() == 32 && value.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(value)
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok())).collect();
    digits
        .filter(|digits| digits.len() == 64)
        .map(|digits| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
