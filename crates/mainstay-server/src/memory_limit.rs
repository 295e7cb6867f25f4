//! Memory that principals share: what has arrived of unfinished requests, and responses that are not read.
//!
//! A client decides how long either stays in memory, by how slowly it sends or reads, and it may have many connections.
//! So the bytes are counted, in all and for each principal, and given back when the last of them is dropped.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;

use mainstay_core::Principal;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Cloning is cheap.
#[derive(Clone)]
pub(crate) struct MemoryLimit(Arc<Memory>);

struct Memory {
    /// In bytes.
    most: usize,
    per_principal: usize,
    used: Mutex<Used>,
    /// Some of it was given back.
    freed: Notify,
}

#[derive(Default)]
struct Used {
    total: usize,
    /// `None` for senders that are not identified. Who uses nothing has no entry.
    by: HashMap<Option<Principal>, usize>,
}

/// What one request or response takes of the memory, given back when it is dropped.
pub(crate) struct MemoryShare {
    memory: Arc<Memory>,
    of: Option<Principal>,
    bytes: usize,
}

/// Bytes on their way to a client, counted for as long as they are in memory.
pub(crate) struct Counted<B> {
    pub(crate) bytes: B,
    /// `None` for bytes that are bounded in another way.
    share: Option<MemoryShare>,
}

impl MemoryLimit {
    /// One principal, and all senders that are not identified together, may take one of `shares` parts.
    pub(crate) fn new(most: usize, shares: usize) -> Self {
        Self(Arc::new(Memory { most, per_principal: most / shares, used: Mutex::default(), freed: Notify::new() }))
    }

    pub(crate) fn share(&self, of: Option<Principal>) -> MemoryShare {
        MemoryShare { memory: self.0.clone(), of, bytes: 0 }
    }

    /// Whether a principal may begin something whose result has to be kept: less than half of its share is taken. The
    /// other half is for what is under way, whose size is known only at its end.
    pub(crate) fn has_room(&self, of: Option<&Principal>) -> bool {
        let used = self.0.used.lock();
        if used.total == 0 {
            return true;
        }
        // The key of the map is an `Option` that owns its principal.
        let own = used.by.get(&of.cloned()).copied().unwrap_or_default();
        own < self.0.most_of(of).div_ceil(2) && used.total < self.0.most
    }

    /// Waits until there is room. Nothing is lost if the caller stops waiting.
    pub(crate) async fn room(&self, of: Option<&Principal>) {
        loop {
            let mut freed = pin!(self.0.freed.notified());
            // From here on no notice is missed.
            freed.as_mut().enable();
            if self.has_room(of) {
                return;
            }
            freed.await;
        }
    }
}

impl Memory {
    /// Without tokens all clients are the same principal, which may take all of it.
    fn most_of(&self, principal: Option<&Principal>) -> usize {
        if principal.is_some_and(Principal::is_local) { self.most } else { self.per_principal }
    }
}

impl MemoryShare {
    /// False if there is not as much memory left, for this principal or for all.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let mut used = self.memory.used.lock();
        let own = used.by.get(&self.of).copied().unwrap_or_default();
        if own + bytes > self.memory.most_of(self.of.as_ref()) || used.total + bytes > self.memory.most {
            return false;
        }
        used.add(self.of.as_ref(), bytes);
        self.bytes += bytes;
        true
    }

    /// Counts bytes that are kept in any case.
    pub(crate) fn grow_beyond(&mut self, bytes: usize) {
        self.memory.used.lock().add(self.of.as_ref(), bytes);
        self.bytes += bytes;
    }
}

impl Used {
    fn add(&mut self, of: Option<&Principal>, bytes: usize) {
        self.total += bytes;
        *self.by.entry(of.cloned()).or_default() += bytes;
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        let mut used = self.memory.used.lock();
        used.total -= self.bytes;
        if let Some(own) = used.by.get_mut(&self.of) {
            *own -= self.bytes;
            if *own == 0 {
                used.by.remove(&self.of);
            }
        }
        drop(used);
        self.memory.freed.notify_waiters();
    }
}

impl<B> Counted<B> {
    pub(crate) fn new(bytes: B, share: MemoryShare) -> Self {
        Self { bytes, share: Some(share) }
    }

    /// The bytes, and what has to be kept for as long as they are.
    pub(crate) fn into_parts(self) -> (B, Option<MemoryShare>) {
        (self.bytes, self.share)
    }
}

impl<B> From<B> for Counted<B> {
    fn from(bytes: B) -> Self {
        Self { bytes, share: None }
    }
}

impl<B: AsRef<[u8]>> AsRef<[u8]> for Counted<B> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Principal {
        Principal::new("https://issuer", name)
    }

    #[test]
    fn one_principal_takes_its_part_and_all_together_no_more_than_there_is() {
        let limit = MemoryLimit::new(400, 4);
        let mut held = Vec::new();
        for of in [None, Some(named("ann")), Some(named("bob")), Some(named("eve"))] {
            let (mut first, mut second) = (limit.share(of.clone()), limit.share(of.clone()));
            assert!(first.grow(60) && second.grow(40), "{of:?}");
            assert!(!first.grow(1) && !second.grow(1), "{of:?}");
            held.extend([first, second]);
        }
        assert!(!limit.share(Some(named("dan"))).grow(1), "all of it is taken");
        held.truncate(6);
        assert!(limit.share(Some(named("dan"))).grow(100));
        drop(held);
        assert!(limit.0.used.lock().by.is_empty() && limit.0.used.lock().total == 0);
        assert!(limit.share(Some(Principal::local())).grow(400), "without tokens there is one principal");
    }

    #[tokio::test(start_paused = true)]
    async fn a_principal_waits_for_its_own_bytes_and_not_for_those_of_others() {
        let (limit, ann, bob) = (MemoryLimit::new(400, 2), named("ann"), named("bob"));
        let mut held = limit.share(Some(ann.clone()));
        assert!(held.grow(99) && limit.has_room(Some(&ann)));
        held.grow_beyond(150);
        assert!(!limit.has_room(Some(&ann)) && limit.has_room(Some(&bob)));
        let waiting = tokio::spawn({
            let limit = limit.clone();
            async move { limit.room(Some(&ann)).await }
        });
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        assert!(!waiting.is_finished());
        drop(held);
        waiting.await.unwrap();
    }
}
