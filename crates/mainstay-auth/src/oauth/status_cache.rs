//! Tokens that were found valid a moment ago, so that a request does not have to ask the store.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::Identity;

/// How long a token stays usable here after another replica revoked it or disabled its client.
const FRESH: Duration = Duration::from_secs(2);

/// Tokens cached at once; further ones are looked up on every request.
const CAPACITY: usize = 10_000;

/// SHA-256 of a token: the tokens themselves are not kept in memory.
pub(super) type TokenHash = [u8; 32];

#[derive(Default)]
pub(super) struct StatusCache(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    valid: HashMap<TokenHash, (Instant, Identity)>,
    /// Incremented whenever the cache is cleared.
    generation: u64,
}

/// When a lookup began. Its result is as old as this, not as old as the store's reply.
#[derive(Clone, Copy)]
pub(super) struct LookupStart {
    at: Instant,
    generation: u64,
}

impl StatusCache {
    pub(super) fn find(&self, token: &TokenHash) -> Option<Identity> {
        self.entries().valid.get(token).filter(|(at, _)| is_fresh(*at)).map(|(_, identity)| identity.clone())
    }

    pub(super) fn start_lookup(&self) -> LookupStart {
        LookupStart { at: Instant::now(), generation: self.entries().generation }
    }

    /// Keeps the result of a lookup, unless the cache was cleared since it began: the token may have been revoked
    /// between the store's reply and now.
    pub(super) fn insert(&self, token: TokenHash, start: LookupStart, identity: Identity) {
        let mut entries = self.entries();
        if entries.valid.len() >= CAPACITY {
            entries.valid.retain(|_, (at, _)| is_fresh(*at));
        }
        if entries.valid.len() < CAPACITY && entries.generation == start.generation {
            entries.valid.insert(token, (start.at, identity));
        }
    }

    /// Called after a revocation in this process, which takes effect at once.
    pub(super) fn clear(&self) {
        let mut entries = self.entries();
        entries.valid.clear();
        entries.generation += 1;
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_fresh(at: Instant) -> bool {
    at.elapsed() < FRESH
}
