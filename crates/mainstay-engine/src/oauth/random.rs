//! What nobody can guess.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use mainstay_core::{Error, Result, hex};
use sha2::{Digest as _, Sha256};

/// 256 random bits, as text.
pub(super) fn unguessable() -> Result<String> {
    let mut bytes = [0; 32];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| Error::internal("the system gives no random bytes"))?;
    Ok(BASE64URL.encode(bytes))
}

/// Under what a random token is kept. It needs no salt and no toil: there is nothing to try.
pub(super) fn hash(token: &str) -> String {
    hex(&Sha256::digest(token))
}
