//! CSRF tokens: an HMAC over what a form does and a cookie of the browser that was shown the form. A page of another
//! site can neither read the token nor make the browser send the cookie with a form of its own.

use aws_lc_rs::hmac;
use http::HeaderMap;
use mainstay_core::{Result, hex, new_id};
use mainstay_engine::Engine;
use serde_json::json;
use tokio::sync::OnceCell;

use super::cookie::browser_id;

/// Signs with a key from the store, which all replicas share: a form may be sent to another replica than the page came
/// from. The key is loaded when it is first needed.
#[derive(Default)]
pub(super) struct Csrf(OnceCell<hmac::Key>);

/// What a form does. A token is valid for one action only.
#[derive(Clone, Copy)]
pub(super) enum FormAction<'a> {
    /// Decides a request in the name of a principal.
    Decide { id: &'a str, by: &'a str },
    /// Signs in or out. Anybody can get such a form.
    SignIn,
}

/// A browser, by the value of its cookie.
pub(super) struct Browser(pub(super) String);

impl Browser {
    /// A browser that has a cookie keeps it: other pages it has open depend on it.
    pub(super) fn new(headers: &HeaderMap) -> Self {
        Self(browser_id(headers).map_or_else(new_id, str::to_owned))
    }
}

impl Csrf {
    async fn key(&self, engine: &Engine) -> Result<&hmac::Key> {
        let key = self.0.get_or_try_init(|| async {
            let secret = engine.secret("consent-page").await?;
            Ok(hmac::Key::new(hmac::HMAC_SHA256, &secret))
        });
        key.await
    }

    /// The token to put into a form.
    pub(super) async fn token(&self, engine: &Engine, browser: &Browser, action: FormAction<'_>) -> Result<String> {
        Ok(hex(hmac::sign(self.key(engine).await?, message(&browser.0, action).as_bytes()).as_ref()))
    }

    /// Whether the token was made for this action and for the browser that sends it.
    pub(super) async fn verify(
        &self,
        engine: &Engine,
        headers: &HeaderMap,
        action: FormAction<'_>,
        token: &str,
    ) -> Result<bool> {
        let (Some(browser), Some(tag)) = (browser_id(headers), decode_hex(token)) else { return Ok(false) };
        Ok(hmac::verify(self.key(engine).await?, message(browser, action).as_bytes(), &tag).is_ok())
    }
}

/// JSON, so that no two actions have the same message, whatever an id or a name contains.
fn message(browser: &str, action: FormAction<'_>) -> String {
    match action {
        FormAction::Decide { id, by } => json!([browser, "decide", id, by]).to_string(),
        FormAction::SignIn => json!([browser, "sign"]).to_string(),
    }
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok())).collect();
    digits
        .filter(|digits| digits.len() == 64)
        .map(|digits| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
