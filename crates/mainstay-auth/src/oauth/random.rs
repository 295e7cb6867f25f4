//! Random secrets and tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use mainstay_core::{Error, Result, hex};
use sha2::{Digest as _, Sha256};

/// 256 random bits, in base64url.
pub(super) fn random_token() -> Result<String> {
    let mut bytes = [0; 32];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| Error::internal("the system gives no random bytes"))?;
    Ok(BASE64URL.encode(bytes))
}

/// The form in which a random token is stored. A plain hash suffices: 256 random bits cannot be guessed, so neither a salt
/// nor a slow hash would add anything.
pub(super) fn token_hash(token: &str) -> String {
    hex(&Sha256::digest(token))
}
