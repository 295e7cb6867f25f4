//! Client secrets, stored as Argon2id hashes and verified on blocking threads, a few at a time; and random tokens, for
//! which a plain hash suffices.

use std::sync::{Arc, LazyLock};

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use mainstay_core::{Error, Result, hex};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

use super::error::{OAuthError, OAuthErrorKind};

/// Verifications running at once; each takes a thread and 19 MiB of memory.
const CONCURRENT: usize = 2;

/// Verifications running or waiting; further ones are rejected.
const QUEUE: usize = 64;

/// Longer secrets are wrong without being hashed.
const MAX_SECRET_BYTES: usize = 1024;

/// What a client authenticates with.
pub struct ClientCredentials {
    pub client: String,
    pub secret: String,
}

/// Verified against if there is no such client, so that the response takes as long as for one that exists.
static DUMMY_HASH: LazyLock<String> = LazyLock::new(|| hash_secret("nobody has this secret").unwrap_or_default());

/// The stored form of a secret.
pub(super) fn hash_secret(secret: &str) -> Result<String> {
    let hash: PasswordHash = Argon2::default().hash_password(secret.as_bytes()).map_err(Error::internal)?;
    Ok(hash.to_string())
}

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

fn matches(secret: &str, hash: &str) -> bool {
    PasswordHash::new(hash).is_ok_and(|hash| Argon2::default().verify_password(secret.as_bytes(), &hash).is_ok())
}

/// Verifies secrets off the threads that serve requests, with bounded concurrency.
pub(super) struct SecretVerifier {
    queue: Arc<Semaphore>,
    running: Arc<Semaphore>,
}

impl Default for SecretVerifier {
    fn default() -> Self {
        Self { queue: Arc::new(Semaphore::new(QUEUE)), running: Arc::new(Semaphore::new(CONCURRENT)) }
    }
}

impl SecretVerifier {
    /// Whether the secret has this hash; never, if there is none.
    pub(super) async fn verify(&self, secret: &str, hash: Option<&str>) -> Result<bool, OAuthError> {
        if secret.len() > MAX_SECRET_BYTES {
            return Ok(false);
        }
        let busy = || OAuthError::new(OAuthErrorKind::Unavailable, "Too many token requests. Try again later.");
        let _queued = self.queue.clone().try_acquire_owned().map_err(|_| busy())?;
        let running = self.running.clone().acquire_owned().await.map_err(|_| busy())?;
        let (secret, hash) = (secret.to_owned(), hash.map(str::to_owned));
        let verified = tokio::task::spawn_blocking(move || {
            // Released when the hash is computed, not when the client stops waiting: the thread is busy until then.
            let _running = running;
            let known = hash.is_some();
            matches(&secret, hash.as_deref().unwrap_or(&DUMMY_HASH)) && known
        });
        verified.await.map_err(|error| Error::internal(error).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_secret_that_was_hashed_matches() {
        let (verifier, hash) = (SecretVerifier::default(), hash_secret("right").unwrap());
        assert!(hash.starts_with("$argon2id$") && !hash.contains("right"), "{hash}");
        assert!(verifier.verify("right", Some(&hash)).await.unwrap());
        assert!(!verifier.verify("wrong", Some(&hash)).await.unwrap());
        assert!(!verifier.verify("right", Some("no hash at all")).await.unwrap());
        assert!(!verifier.verify("nobody has this secret", None).await.unwrap());
        assert!(!verifier.verify(&"x".repeat(MAX_SECRET_BYTES + 1), Some(&hash)).await.unwrap());
    }

    #[tokio::test]
    async fn a_full_queue_rejects_further_secrets() {
        let verifier = SecretVerifier::default();
        let _all = verifier.queue.clone().acquire_many_owned(u32::try_from(QUEUE).unwrap()).await.unwrap();
        let rejected = verifier.verify("x", None).await.unwrap_err();
        assert_eq!(rejected.kind, OAuthErrorKind::Unavailable);
    }
}
