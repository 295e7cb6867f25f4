//! The outcomes of earlier analyses, by content.
//!
//! The key is a hash of the language, the version of the analyser and the bytes of the file, so that an entry can never be out
//! of date. The cache is a value: whoever keeps it between runs writes [`MetricsCache::to_bytes`] where they like.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};

use crate::languages::Language;
use crate::metrics::{ANALYZER_VERSION, FileMetrics};
use crate::parse::NotMeasured;

/// What an analysis gave.
pub type Outcome = Result<Arc<FileMetrics>, NotMeasured>;

/// How many files are remembered. At some 2 KiB each this bounds the memory of a cache to about 200 MiB.
const MOST_ENTRIES: usize = 100_000;

/// The first bytes of a stored cache. Another version of the format has other bytes.
const MAGIC: &[u8; 8] = b"mscode01";
const CHECKSUM_BYTES: usize = 32;

/// Identifies a file's content in one language.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CacheKey([u8; 32]);

impl CacheKey {
    pub fn of(language: Language, source: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&ANALYZER_VERSION.to_le_bytes());
        hasher.update(&[language as u8]);
        hasher.update(source);
        Self(*hasher.finalize().as_bytes())
    }
}

struct Entry {
    outcome: Outcome,
    /// The run in which it was used last.
    used: AtomicU32,
}

/// Outcomes by content, at most 100,000 of them.
#[derive(Default)]
pub struct MetricsCache {
    entries: HashMap<CacheKey, Entry>,
    /// Counts how often the cache was stored and loaded.
    run: u32,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    run: u32,
    entries: Vec<(CacheKey, u32, Outcome)>,
}

impl MetricsCache {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The outcome of the same content, if it is known. Many threads may ask at once.
    pub fn get(&self, key: &CacheKey) -> Option<Outcome> {
        let entry = self.entries.get(key)?;
        entry.used.store(self.run, Ordering::Relaxed);
        Some(entry.outcome.clone())
    }

    /// Remembers an outcome, unless another attempt could end differently.
    pub fn insert(&mut self, key: CacheKey, outcome: Outcome) {
        if outcome.as_ref().is_err_and(|error| !error.is_permanent()) {
            return;
        }
        if self.entries.len() >= MOST_ENTRIES && !self.entries.contains_key(&key) {
            self.forget_unused();
        }
        if self.entries.len() < MOST_ENTRIES {
            self.entries.insert(key, Entry { outcome, used: AtomicU32::new(self.run) });
        }
    }

    /// Drops what this run did not use. If it used everything, the cache stays full.
    fn forget_unused(&mut self) {
        let run = self.run;
        self.entries.retain(|_, entry| entry.used.load(Ordering::Relaxed) == run);
    }

    /// Reads what [`MetricsCache::to_bytes`] wrote. Anything else, a damaged file or one of another version, is an empty
    /// cache: it only costs the time to measure again.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self::read(bytes).unwrap_or_default()
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (checksum, payload) = bytes.strip_prefix(MAGIC)?.split_at_checked(CHECKSUM_BYTES)?;
        if blake3::hash(payload).as_bytes() != checksum {
            return None;
        }
        let stored: Stored = postcard::from_bytes(payload).ok()?;
        let entry = |(key, used, outcome)| (key, Entry { outcome, used: AtomicU32::new(used) });
        let entries = stored.entries.into_iter().take(MOST_ENTRIES).map(entry).collect();
        Some(Self { entries, run: stored.run.wrapping_add(1) })
    }

    /// The cache as bytes, the same for the same content.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut entries: Vec<_> = self
            .entries
            .iter()
            .map(|(key, entry)| (*key, entry.used.load(Ordering::Relaxed), entry.outcome.clone()))
            .collect();
        entries.sort_unstable_by_key(|(key, ..)| key.0);
        // Writing to memory cannot fail; should it, the result reads as an empty cache.
        let payload = postcard::to_stdvec(&Stored { run: self.run, entries }).unwrap_or_default();
        let mut bytes = Vec::with_capacity(MAGIC.len() + CHECKSUM_BYTES + payload.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(blake3::hash(&payload).as_bytes());
        bytes.extend_from_slice(&payload);
        bytes
    }
}
