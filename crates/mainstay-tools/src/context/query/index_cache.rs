//! Which indexes are kept in memory: those used last, up to a number of bytes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mainstay_sandbox::Metadata;

use super::index::Index;

/// A cache's index, locked while somebody reads it from disk. tokio's mutex because it is not poisoned by a panic.
pub(crate) type IndexSlot = Arc<tokio::sync::Mutex<Option<Arc<Index>>>>;

/// The most caches that are remembered, whatever their size: callers choose the names.
const MAX_SLOTS: usize = 256;

/// An LRU cache by the resolved path of a cache's directory. Few entries, so eviction may search all of them.
#[derive(Debug, Default)]
pub(crate) struct IndexCache {
    max_bytes: u64,
    slots: HashMap<PathBuf, Slot>,
    /// Counts uses; its value at a slot's last use orders them.
    clock: u64,
}

#[derive(Debug, Default)]
struct Slot {
    index: IndexSlot,
    bytes: u64,
    last_use: u64,
    /// The manifest of a cache whose index did not fit, so that it is not tried again for every query.
    too_large: Option<Metadata>,
}

impl IndexCache {
    pub(crate) fn new(max_bytes: u64) -> Self {
        Self { max_bytes, ..Self::default() }
    }

    /// The slot of a cache, which counts as used now.
    pub(crate) fn slot(&mut self, key: &Path) -> IndexSlot {
        self.clock += 1;
        let slot = self.slots.entry(key.to_owned()).or_default();
        slot.last_use = self.clock;
        let index = slot.index.clone();
        self.evict(key);
        index
    }

    /// Whether the index of this very cache did not fit: a replaced one has another manifest.
    pub(crate) fn is_too_large(&self, key: &Path, manifest: &Metadata) -> bool {
        self.slots.get(key).is_some_and(|slot| slot.too_large.as_ref() == Some(manifest))
    }

    pub(crate) fn set_too_large(&mut self, key: &Path, manifest: Metadata) {
        if let Some(slot) = self.slots.get_mut(key) {
            slot.too_large = Some(manifest);
        }
    }

    /// Notes the size of a cache's index, and makes room for it.
    pub(crate) fn set_bytes(&mut self, key: &Path, bytes: u64) {
        if let Some(slot) = self.slots.get_mut(key) {
            slot.bytes = bytes;
        }
        self.evict(key);
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.slots.values().map(|slot| slot.bytes).sum()
    }

    /// Drops the least recently used, but not the one in use, until the others fit.
    fn evict(&mut self, in_use: &Path) {
        while self.slots.len() > MAX_SLOTS || self.bytes() > self.max_bytes {
            let oldest = self.slots.iter().filter(|(key, _)| *key != in_use).min_by_key(|(_, slot)| slot.last_use);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { return };
            self.slots.remove(&oldest);
        }
    }
}
