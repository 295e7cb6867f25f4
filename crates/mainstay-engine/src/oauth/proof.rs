//! A client's secret: how it is kept, and how it is held against what somebody says.

use std::sync::{Arc, LazyLock};

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use mainstay_core::{Error, Result};
use tokio::sync::Semaphore;

use super::refusal::{Reason, Refusal};

/// Secrets looked at at once; each takes a thread and 19 MiB.
const AT_ONCE: usize = 2;

/// Secrets waiting to be looked at; more are sent away.
const WAITING: usize = 64;

/// No secret of ours is as long.
const LONGEST: usize = 1024;

/// Who somebody says they are, and what they show for it.
pub struct Proof {
    pub client: String,
    pub secret: String,
}

/// Held against when there is no such client, so that the answer takes as long.
static NOBODY: LazyLock<String> = LazyLock::new(|| keep("nobody has this secret").unwrap_or_default());

/// What is stored of a secret.
pub(super) fn keep(secret: &str) -> Result<String> {
    let hash: PasswordHash = Argon2::default().hash_password(secret.as_bytes()).map_err(Error::internal)?;
    Ok(hash.to_string())
}

fn fits(secret: &str, kept: &str) -> bool {
    PasswordHash::new(kept).is_ok_and(|kept| Argon2::default().verify_password(secret.as_bytes(), &kept).is_ok())
}

/// Where secrets are looked at: beside the threads that serve, and few at a time.
pub(super) struct Bench {
    queue: Arc<Semaphore>,
    seats: Arc<Semaphore>,
}

impl Default for Bench {
    fn default() -> Self {
        Self { queue: Arc::new(Semaphore::new(WAITING)), seats: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl Bench {
    /// Whether this is the secret that was kept; never, if none was.
    pub(super) async fn fits(&self, secret: &str, kept: Option<&str>) -> Result<bool, Refusal> {
        if secret.len() > LONGEST {
            return Ok(false);
        }
        let busy = || Refusal::new(Reason::Unavailable, "Too many clients ask for tokens now; try again later.");
        let _place = self.queue.clone().try_acquire_owned().map_err(|_| busy())?;
        let seat = self.seats.clone().acquire_owned().await.map_err(|_| busy())?;
        let (secret, kept) = (secret.to_owned(), kept.map(str::to_owned));
        let looked = tokio::task::spawn_blocking(move || {
            // The seat is free when the work is done, not when nobody waits for it any more.
            let _seat = seat;
            let known = kept.is_some();
            fits(&secret, kept.as_deref().unwrap_or(&NOBODY)) && known
        });
        looked.await.map_err(|error| Error::internal(error).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_secret_that_was_kept_fits() {
        let (bench, kept) = (Bench::default(), keep("right").unwrap());
        assert!(kept.starts_with("$argon2id$") && !kept.contains("right"), "{kept}");
        assert!(bench.fits("right", Some(&kept)).await.unwrap());
        assert!(!bench.fits("wrong", Some(&kept)).await.unwrap());
        assert!(!bench.fits("right", Some("no hash at all")).await.unwrap());
        assert!(!bench.fits("nobody has this secret", None).await.unwrap());
        assert!(!bench.fits(&"x".repeat(LONGEST + 1), Some(&kept)).await.unwrap());
    }

    #[tokio::test]
    async fn those_who_find_the_queue_full_are_sent_away() {
        let bench = Bench::default();
        let _all = bench.queue.clone().acquire_many_owned(u32::try_from(WAITING).unwrap()).await.unwrap();
        let refused = bench.fits("x", None).await.unwrap_err();
        assert_eq!(refused.reason, Reason::Unavailable);
    }
}
