//! Answers by request, bounded by bytes; what was used longest ago goes first.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::message::Received;

/// How long an answer may be used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheUse {
    /// Not at all.
    Never,
    /// For ever: it never changes (genesis hash, epoch schedule).
    Immutable,
    /// For ever if the commitment is finalized, else not at all (transactions, blocks).
    ImmutableIfFinalized,
    /// Until a newer slot of the network is observed, and for one slot time at most (accounts).
    Slot,
}

/// What one entry costs beside its key and value: two map entries and the reference counts.
const OVERHEAD: usize = 200;

/// A single answer takes at most this part of the cache: one large block must not displace everything else.
const LARGEST_PART: usize = 4;

#[derive(Debug)]
struct Entry {
    received: Received,
    /// For answers of one slot: the slot after whose successor they are out of date.
    slot: Option<SlotBound>,
    stored: Instant,
    bytes: usize,
    /// The key of its place in the order of use.
    used: u64,
}

/// The bounds of an answer that is valid for one slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SlotBound {
    pub(super) slot: u64,
    pub(super) until: Instant,
}

#[derive(Debug)]
pub(super) struct Cache {
    entries: HashMap<Arc<str>, Entry>,
    order: BTreeMap<u64, Arc<str>>,
    next_use: u64,
    bytes: usize,
    limit: usize,
}

impl Cache {
    pub(super) fn new(limit: usize) -> Self {
        Self { entries: HashMap::new(), order: BTreeMap::new(), next_use: 0, bytes: 0, limit }
    }

    /// The size of all entries, as an estimate that includes their management.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The answer and its age. `highest` is the newest slot observed, `minimum` the oldest that the caller accepts.
    pub(super) fn get(
        &mut self,
        key: &str,
        now: Instant,
        highest: Option<u64>,
        minimum: Option<u64>,
    ) -> Option<(Received, Duration)> {
        let entry = self.entries.get_mut(key)?;
        if let Some(bound) = entry.slot {
            if bound.until <= now || highest.is_some_and(|highest| highest > bound.slot) {
                self.remove(key);
                return None;
            }
            if minimum.is_some_and(|minimum| minimum > bound.slot) {
                return None;
            }
        }
        if let Some(key) = self.order.remove(&entry.used) {
            entry.used = self.next_use;
            self.order.insert(self.next_use, key);
            self.next_use += 1;
        }
        Some((entry.received.clone(), now.duration_since(entry.stored)))
    }

    /// Keeps an answer, with `slot` for one slot only. `null` is never kept: what is missing now may be there in a moment.
    pub(super) fn insert(&mut self, key: &str, received: &Received, slot: Option<SlotBound>, now: Instant) {
        let bytes = key.len() * 2 + received.value.get().len() + OVERHEAD;
        if received.value.get() == "null" || bytes > self.limit / LARGEST_PART {
            return;
        }
        self.remove(key);
        let key: Arc<str> = key.into();
        let used = self.next_use;
        self.next_use += 1;
        self.order.insert(used, Arc::clone(&key));
        self.entries.insert(key, Entry { received: received.clone(), slot, stored: now, bytes, used });
        self.bytes += bytes;
        while self.bytes > self.limit {
            let Some((_, oldest)) = self.order.pop_first() else { return };
            self.remove(&oldest);
        }
    }

    /// Removes an entry from the map, from the order and from the count of bytes.
    fn remove(&mut self, key: &str) {
        if let Some(entry) = self.entries.remove(key) {
            self.order.remove(&entry.used);
            self.bytes -= entry.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    fn received(json: &str) -> Received {
        Received { value: Arc::from(RawValue::from_string(json.to_owned()).unwrap()), context: None }
    }

    fn bound(slot: u64, now: Instant) -> SlotBound {
        SlotBound { slot, until: now + Duration::from_millis(400) }
    }

    #[test]
    fn an_answer_of_one_slot_ends_with_the_next_slot_or_its_time() {
        let now = Instant::now();
        let mut cache = Cache::new(100_000);
        cache.insert("a", &received("1"), Some(bound(10, now)), now);
        assert!(cache.get("a", now, Some(10), Some(10)).is_some());
        assert!(cache.get("a", now, Some(10), Some(11)).is_none(), "the caller has seen slot 11");
        assert!(cache.get("a", now, Some(10), None).is_some(), "others have not");
        assert!(cache.get("a", now, Some(11), None).is_none());
        assert_eq!(cache.bytes(), 0);
        cache.insert("a", &received("1"), Some(bound(10, now)), now);
        assert!(cache.get("a", now + Duration::from_millis(400), Some(10), None).is_none());
    }

    #[test]
    fn an_immutable_answer_stays_and_tells_its_age() {
        let now = Instant::now();
        let mut cache = Cache::new(100_000);
        cache.insert("a", &received("1"), None, now);
        let hour = Duration::from_hours(1);
        let (answer, age) = cache.get("a", now + hour, Some(u64::MAX), Some(u64::MAX)).unwrap();
        assert_eq!((answer.value.get(), age), ("1", hour));
    }

    #[test]
    fn null_is_never_kept() {
        let now = Instant::now();
        let mut cache = Cache::new(100_000);
        cache.insert("a", &received("null"), None, now);
        assert!(cache.get("a", now, None, None).is_none());
    }

    #[test]
    fn the_bytes_are_bounded_and_what_was_used_longest_ago_goes_first() {
        let now = Instant::now();
        let mut cache = Cache::new(10_000);
        let text = received(&format!("\"{}\"", "x".repeat(1500)));
        for key in ["a", "b", "c", "d", "e"] {
            cache.insert(key, &text, None, now);
        }
        assert!(cache.get("a", now, None, None).is_some());
        cache.insert("f", &text, None, now);
        assert!(cache.bytes() <= 10_000, "{}", cache.bytes());
        let kept: Vec<&str> = ["a", "b", "c", "d", "e", "f"]
            .into_iter()
            .filter(|key| cache.get(key, now, None, None).is_some())
            .collect();
        assert_eq!(kept, ["a", "c", "d", "e", "f"]);
        cache.insert("g", &received(&format!("\"{}\"", "x".repeat(2500))), None, now);
        assert!(cache.get("g", now, None, None).is_none(), "larger than a quarter of the cache");
        for _ in 0..100 {
            cache.insert("a", &text, None, now);
        }
        assert!(cache.get("c", now, None, None).is_some(), "the same key takes its place once");
    }
}
