//! What shows that a form was sent from our own page: a value made for what the form does and for a cookie of the
//! browser that was shown it. Another page can neither read the value nor make the browser send the cookie with a form
//! of its own.

use aws_lc_rs::hmac;
use http::HeaderMap;
use mainstay_core::{Result, hex, new_id};
use mainstay_engine::Engine;
use serde_json::json;
use tokio::sync::OnceCell;

use super::cookie;

/// Sealed with a key that all replicas share; it is fetched when it is first needed.
#[derive(Default)]
pub(super) struct Seal(OnceCell<hmac::Key>);

/// What a form does.
#[derive(Clone, Copy)]
pub(super) enum Deed<'a> {
    /// Decides on a request, in somebody's name.
    Decide { id: &'a str, by: &'a str },
    /// Signs in or out. Anybody is shown such a form, so its value is good for nothing else.
    Sign,
}

/// A browser, by the value of its cookie.
pub(super) struct Browser(pub(super) String);

impl Browser {
    /// It keeps the cookie it has: it may have several pages open.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        Self(cookie::browser_in(headers).map_or_else(new_id, str::to_owned))
    }
}

impl Seal {
    async fn key(&self, engine: &Engine) -> Result<&hmac::Key> {
        let made = self.0.get_or_try_init(|| async {
            let secret = engine.secret("consent-page").await?;
            Ok(hmac::Key::new(hmac::HMAC_SHA256, &secret))
        });
        made.await
    }

    /// The value for a form.
    pub(super) async fn make(&self, engine: &Engine, browser: &Browser, deed: Deed<'_>) -> Result<String> {
        Ok(hex(hmac::sign(self.key(engine).await?, text(&browser.0, deed).as_bytes()).as_ref()))
    }

    pub(super) async fn fits(&self, engine: &Engine, headers: &HeaderMap, deed: Deed<'_>, csrf: &str) -> Result<bool> {
        let (Some(browser), Some(tag)) = (cookie::browser_in(headers), unhex(csrf)) else { return Ok(false) };
        Ok(hmac::verify(self.key(engine).await?, text(browser, deed).as_bytes(), &tag).is_ok())
    }
}

/// As JSON, so that it can be read in one way only, whatever an id or a name is.
fn text(browser: &str, deed: Deed<'_>) -> String {
    match deed {
        Deed::Decide { id, by } => json!([browser, "decide", id, by]).to_string(),
        Deed::Sign => json!([browser, "sign"]).to_string(),
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok())).collect();
    digits
        .filter(|digits| digits.len() == 64)
        .map(|digits| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
