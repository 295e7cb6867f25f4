//! CSRF tokens: an HMAC over what a form does and a cookie of the browser that was shown the form. A page of another
//! site can neither read the token nor make the browser send the cookie with a form of its own.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;
use http::HeaderMap;
use mainstay_core::{Error, Result, hex};
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

impl Csrf {
    /// The token to put into a form, for the browser with this id.
    pub(super) async fn token(&self, engine: &Engine, browser: &str, action: FormAction<'_>) -> Result<String> {
        let key = self.0.get_or_try_init(|| async {
            let secret = engine.secret("consent-page").await?;
            Ok::<_, Error>(hmac::Key::new(hmac::HMAC_SHA256, &secret))
        });
        // JSON, so that no two actions have the same message, whatever an id or a name contains.
        let message = match action {
            FormAction::Decide { id, by } => json!([browser, "decide", id, by]),
            FormAction::SignIn => json!([browser, "sign"]),
        };
        Ok(hex(hmac::sign(key.await?, message.to_string().as_bytes()).as_ref()))
    }

    /// Whether the token was made for this action and for the browser that sends it.
    pub(super) async fn verify(
        &self,
        engine: &Engine,
        headers: &HeaderMap,
        action: FormAction<'_>,
        token: &str,
    ) -> Result<bool> {
        let Some(browser) = browser_id(headers) else { return Ok(false) };
        let expected = self.token(engine, browser, action).await?;
        // In constant time: the duration must not tell how much of a guess was right.
        Ok(verify_slices_are_equal(expected.as_bytes(), token.as_bytes()).is_ok())
    }
}
