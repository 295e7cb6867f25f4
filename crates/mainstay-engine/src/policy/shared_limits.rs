//! Rate limits that all replicas of one store count together.
//!
//! Asking the store about every call would cost each a commit. Instead a replica leases a few calls of a client's quota at
//! once and admits them from memory. The first lease is one call; it doubles as long as the client uses it up, to an eighth of
//! what is left at most. So a burst that uses up a quota of 100 costs some 30 commits, one of 10,000 some 70; a steady
//! client costs a commit a second at most, and one that is rejected, too.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Clock, Quota, Result, canonical_digest};
use mainstay_store::{Lease, LeaseRequest, Store};
use parking_lot::Mutex;
use serde_json::Value;

use super::rate::refusal;

/// How long leased calls may be used, and how long a rejected client is rejected without asking the store again.
///
/// A lease counts for this much longer than the quota's window: a call at its end is still counted for a whole window.
/// So no window ever has more calls than the quota, and a client that has used up everything at once waits a second longer.
const USABLE_MS: i64 = 1000;

pub(crate) struct SharedLimits {
    store: Store,
    /// Windows are those of the wall clock, because replicas have no other in common.
    clock: Arc<dyn Clock>,
    /// By counter. A lock for each, so that of many calls at once one asks the store and the others wait for it.
    held: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Held>>>>,
}

/// What this replica has of one client's quota.
#[derive(Default)]
struct Held {
    lease: i64,
    granted: u32,
    left: u32,
    usable_until_ms: i64,
    /// When somebody's lease expires, if everything is in use.
    full_until_ms: i64,
    /// When to ask again whether that is still so.
    ask_again_ms: i64,
}

impl Held {
    fn take(&mut self, now_ms: i64) -> bool {
        let usable = self.left > 0 && now_ms < self.usable_until_ms;
        if usable {
            self.left -= 1;
        }
        usable
    }

    /// Whoever has used up a lease in its time needs more, and whoever goes on calling about as much as before; after a
    /// pause it begins again.
    fn next_wanted(&self, now_ms: i64) -> u32 {
        match now_ms - self.usable_until_ms {
            ..0 => self.granted.saturating_mul(2),
            0..USABLE_MS => self.granted - self.left,
            _ => 1,
        }
    }

    /// Nothing of it matters any more.
    fn is_over(&self, now_ms: i64) -> bool {
        now_ms >= self.usable_until_ms && now_ms >= self.ask_again_ms
    }
}

impl SharedLimits {
    pub(crate) fn new(store: Store, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock, held: Mutex::default() }
    }

    /// Counts a call under each of these counters, or fails with the time until the next one is admitted. Without the
    /// store nothing is admitted: what cannot be counted is not limited.
    pub(crate) async fn admit(&self, counters: Vec<(String, Quota)>) -> Result<()> {
        for (counter, quota) in counters {
            // A digest, because a client's name can be of any length.
            self.admit_one(canonical_digest(&Value::String(counter)), quota).await?;
        }
        Ok(())
    }

    async fn admit_one(&self, counter: String, quota: Quota) -> Result<()> {
        let held = self.held.lock().entry(counter.clone()).or_default().clone();
        let mut held = held.lock().await;
        let now_ms = self.clock.now_ms();
        if held.take(now_ms) {
            return Ok(());
        }
        if now_ms >= held.ask_again_ms {
            self.renew(&mut held, counter, quota, now_ms).await?;
        }
        if held.take(now_ms) {
            return Ok(());
        }
        let wait_ms = held.full_until_ms.saturating_sub(now_ms).max(1).unsigned_abs();
        Err(refusal(quota, Duration::from_millis(wait_ms)))
    }

    async fn renew(&self, held: &mut Held, counter: String, quota: Quota, now_ms: i64) -> Result<()> {
        let window_ms = i64::from(quota.seconds.max(1)) * 1000;
        let request = LeaseRequest {
            counter,
            limit: quota.calls.max(1),
            wanted: held.next_wanted(now_ms),
            unused: (held.left > 0).then_some((held.lease, held.left)),
            now_ms,
            expires_ms: now_ms.saturating_add(window_ms + USABLE_MS),
        };
        *held = match self.store.limits().lease(request).await? {
            Lease::Granted { id, units } => Held {
                lease: id,
                granted: units,
                left: units,
                usable_until_ms: now_ms.saturating_add(USABLE_MS),
                ..Held::default()
            },
            Lease::Exhausted { until_ms } => Held {
                full_until_ms: until_ms,
                ask_again_ms: until_ms.min(now_ms.saturating_add(USABLE_MS)),
                ..Held::default()
            },
        };
        Ok(())
    }

    /// Forgets clients that have not called lately.
    pub(crate) fn sweep(&self) {
        let now_ms = self.clock.now_ms();
        // One that is locked is in use.
        self.held.lock().retain(|_, held| held.try_lock().map_or(true, |held| !held.is_over(now_ms)));
    }
}

#[cfg(test)]
mod tests {
    use mainstay_core::{Kind, ManualClock, Reason};
    use mainstay_store::StoreOptions;

    use super::*;

    const QUOTA: Quota = Quota { calls: 100, seconds: 60 };

    /// Two replicas on one store, with one clock.
    async fn replicas() -> ([SharedLimits; 2], Arc<ManualClock>, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", dir.path().join("store.db").display());
        let clock = Arc::new(ManualClock::at_ms(1_800_000_000_000));
        let first = Store::open(&url, StoreOptions::default()).await.unwrap();
        let second = Store::open(&url, StoreOptions::default()).await.unwrap();
        ([first, second].map(|store| SharedLimits::new(store, clock.clone())), clock, dir)
    }

    async fn call(limits: &SharedLimits, client: &str) -> Result<()> {
        limits.admit(vec![(client.to_owned(), QUOTA)]).await
    }

    /// Calls in turn until neither replica admits any more.
    async fn admitted(replicas: &[SharedLimits; 2]) -> usize {
        let mut admitted = 0;
        loop {
            let [first, second] = [call(&replicas[0], "ann").await, call(&replicas[1], "ann").await];
            admitted += usize::from(first.is_ok()) + usize::from(second.is_ok());
            if first.is_err() && second.is_err() {
                return admitted;
            }
        }
    }

    #[tokio::test]
    async fn replicas_together_admit_the_quota_and_no_more() {
        let (replicas, clock, _dir) = replicas().await;
        assert_eq!(admitted(&replicas).await, 100);
        let refused = call(&replicas[1], "ann").await.unwrap_err();
        assert_eq!(refused.kind, Kind::RateLimited);
        assert_eq!(*refused.reason.unwrap(), Reason::RateLimited { limit: 100, retry_after: 61 });
        assert!(call(&replicas[1], "bob").await.is_ok(), "somebody else");
        clock.advance(Duration::from_millis(60_999));
        assert_eq!(admitted(&replicas).await, 0);
        clock.advance(Duration::from_millis(1));
        assert_eq!(admitted(&replicas).await, 100);
    }

    #[tokio::test]
    async fn calls_at_once_share_one_lease_and_the_quota() {
        let (replicas, _clock, _dir) = replicas().await;
        let calls = (0..300).map(|number| call(&replicas[number % 2], "ann"));
        let outcomes = futures::future::join_all(calls).await;
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 100);
    }

    #[tokio::test]
    async fn what_a_replica_leased_and_did_not_use_is_not_lost() {
        let (replicas, clock, _dir) = replicas().await;
        // 90 calls a minute in bursts, for five minutes: within the quota, though each burst leaves a lease half used.
        for burst in 0..50 {
            for number in 0..9 {
                assert!(call(&replicas[0], "ann").await.is_ok(), "call {number} of burst {burst}");
            }
            clock.advance(Duration::from_secs(6));
        }
    }

    #[tokio::test]
    async fn a_steady_client_leases_once_a_second() {
        let (replicas, clock, _dir) = replicas().await;
        let quota = Quota { calls: 60_000, seconds: 60 };
        let lease = || {
            let held = replicas[0].held.lock();
            held.values().next().map_or(0, |held| held.try_lock().unwrap().lease)
        };
        let mut leases = Vec::new();
        for _ in 0..10 {
            let before = lease();
            for _ in 0..100 {
                replicas[0].admit(vec![("ann".to_owned(), quota)]).await.unwrap();
                clock.advance(Duration::from_millis(10));
            }
            leases.push(lease() - before);
        }
        assert!(leases[0] <= 8 && leases[2..].iter().all(|leases| *leases <= 2), "{leases:?}");
    }

    #[tokio::test]
    async fn clients_that_stopped_calling_are_forgotten() {
        let (replicas, clock, _dir) = replicas().await;
        assert!(call(&replicas[0], "ann").await.is_ok());
        replicas[0].sweep();
        assert_eq!(replicas[0].held.lock().len(), 1);
        clock.advance(Duration::from_millis(USABLE_MS.unsigned_abs()));
        replicas[0].sweep();
        assert!(replicas[0].held.lock().is_empty());
    }

    #[tokio::test]
    async fn without_the_store_nothing_is_admitted() {
        let (replicas, _clock, _dir) = replicas().await;
        replicas[0].store.close().await.unwrap();
        assert_eq!(call(&replicas[0], "ann").await.unwrap_err().kind, Kind::Unavailable);
    }
}
