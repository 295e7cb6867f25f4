//! The outcomes of earlier analyses, by content.
//!
//! The key is a hash of the language, the version of the analyser and the bytes of the file, so that an entry can never be out
//! of date. The cache is a value: whoever keeps it between runs writes [`MetricsCache::to_bytes`] where they like.
//!
//! A stored cache has the outcomes of all trees that were ever measured, and a run needs those of one: each is decoded
//! when it is asked for.

mod encoding;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use crate::languages::Language;
use crate::metrics::{ANALYZER_VERSION, FileMetrics};
use crate::parse::NotMeasured;

/// What an analysis gave.
pub type Outcome = Result<Arc<FileMetrics>, NotMeasured>;

/// How many files are remembered. At some 3 KiB each, encoded and decoded, this bounds the memory of a cache to about
/// 300 MiB.
const MOST_ENTRIES: usize = 100_000;

/// The first bytes of a stored cache. Another version of the format has other bytes. A checksum of all that follows it
/// comes next, then three numbers: the version of the analyser, the run, and the number of entries. Then a record for
/// each entry, and the outcomes in the same order.
const MAGIC: &[u8; 8] = b"mscode02";
const CHECKSUM_BYTES: usize = 32;
const HEAD_BYTES: usize = 12;
/// The key of an entry, the run of its last use, and the length of its outcome.
const RECORD_BYTES: usize = CacheKey::BYTES + 8;

/// Identifies a file's content in one language.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CacheKey([u8; CacheKey::BYTES]);

impl CacheKey {
    pub const BYTES: usize = 32;

    pub fn of(language: Language, source: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&ANALYZER_VERSION.to_le_bytes());
        hasher.update(&[language as u8]);
        hasher.update(source);
        Self(*hasher.finalize().as_bytes())
    }

    /// For whoever stores what they know about a content beside its key.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        self.0
    }

    /// What [`CacheKey::to_bytes`] gave.
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }
}

struct Entry {
    /// Where it is in the bytes that were loaded; `None` if it was measured since.
    stored: Option<Range<usize>>,
    /// Empty until somebody asks for a stored outcome. `None` if it could not be decoded.
    outcome: OnceLock<Option<Outcome>>,
    /// The run in which it was used last.
    used: AtomicU32,
}

/// Outcomes by content, at most 100,000 of them.
#[derive(Default)]
pub struct MetricsCache {
    entries: HashMap<CacheKey, Entry>,
    /// What was loaded, for the entries that are stored there.
    bytes: Vec<u8>,
    /// Counts how often the cache was stored and loaded.
    run: u32,
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
        entry.outcome.get_or_init(|| encoding::decode(self.encoded(entry)?)).clone()
    }

    /// An outcome as it was loaded.
    fn encoded(&self, entry: &Entry) -> Option<&[u8]> {
        self.bytes.get(entry.stored.clone()?)
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
            let outcome = OnceLock::from(Some(outcome));
            self.entries.insert(key, Entry { stored: None, outcome, used: AtomicU32::new(self.run) });
        }
    }

    /// Drops what this run did not use. If it used everything, the cache stays full.
    fn forget_unused(&mut self) {
        let run = self.run;
        self.entries.retain(|_, entry| entry.used.load(Ordering::Relaxed) == run);
    }

    /// Reads what [`MetricsCache::to_bytes`] wrote. Anything else, a damaged file or one of another version, is an empty
    /// cache: it only costs the time to measure again.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self::read(bytes).unwrap_or_default()
    }

    fn read(bytes: Vec<u8>) -> Option<Self> {
        let (checksum, payload) = bytes.strip_prefix(MAGIC)?.split_at_checked(CHECKSUM_BYTES)?;
        if blake3::hash(payload).as_bytes() != checksum {
            return None;
        }
        let (head, rest) = payload.split_at_checked(HEAD_BYTES)?;
        let [analyzer, run, count] = numbers(head)?;
        // A key that was known before is asked for without the content, so the version in the key alone would not do.
        if analyzer != ANALYZER_VERSION {
            return None;
        }
        let (records, outcomes) = rest.split_at_checked((count as usize).checked_mul(RECORD_BYTES)?)?;
        let mut start = bytes.len() - outcomes.len();
        let mut entries = HashMap::with_capacity(records.len() / RECORD_BYTES);
        for record in records.as_chunks::<RECORD_BYTES>().0.iter().take(MOST_ENTRIES) {
            let (key, rest) = record.split_at(CacheKey::BYTES);
            let (key, [used, length]) = (CacheKey(key.try_into().ok()?), numbers(rest)?);
            let stored = start..start + length as usize;
            start = stored.end;
            let entry = Entry { stored: Some(stored), outcome: OnceLock::new(), used: AtomicU32::new(used) };
            entries.insert(key, entry);
        }
        Some(Self { entries, run: run.wrapping_add(1), bytes })
    }

    /// The cache as bytes, the same for the same content.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut sorted: Vec<_> = self.entries.iter().collect();
        sorted.sort_unstable_by_key(|(key, _)| key.0);
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes();
        let mut payload = [ANALYZER_VERSION.to_le_bytes(), self.run.to_le_bytes(), number(sorted.len())].concat();
        let mut outcomes = Vec::new();
        for (key, entry) in sorted {
            let before = outcomes.len();
            if let Some(encoded) = self.encoded(entry) {
                outcomes.extend_from_slice(encoded);
            } else if let Some(Some(outcome)) = entry.outcome.get() {
                outcomes.extend(encoding::encode(outcome));
            }
            payload.extend_from_slice(&key.0);
            payload.extend(entry.used.load(Ordering::Relaxed).to_le_bytes());
            payload.extend(number(outcomes.len() - before));
        }
        payload.extend(outcomes);
        with_checksum(&payload)
    }
}

fn with_checksum(payload: &[u8]) -> Vec<u8> {
    [MAGIC, blake3::hash(payload).as_bytes().as_slice(), payload].concat()
}

/// The numbers of which a part of a stored cache consists.
fn numbers<const COUNT: usize>(bytes: &[u8]) -> Option<[u32; COUNT]> {
    let numbers: &[[u8; 4]; COUNT] = bytes.as_chunks::<4>().0.try_into().ok()?;
    Some(numbers.map(u32::from_le_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stored by an analyser of this version.
    fn stored_by(analyzer: u32) -> Vec<u8> {
        let mut cache = MetricsCache::new();
        cache.insert(CacheKey::of(Language::Rust, b"x"), Err(NotMeasured::NotText));
        let mut payload = cache.to_bytes().split_off(MAGIC.len() + CHECKSUM_BYTES);
        payload[..4].copy_from_slice(&analyzer.to_le_bytes());
        with_checksum(&payload)
    }

    #[test]
    fn figures_of_another_analyzer_are_not_known() {
        assert_eq!(MetricsCache::from_bytes(stored_by(ANALYZER_VERSION)).len(), 1);
        assert!(MetricsCache::from_bytes(stored_by(ANALYZER_VERSION + 1)).is_empty());
    }

    #[test]
    fn an_outcome_that_cannot_be_decoded_is_not_known() {
        let mut cache = MetricsCache::from_bytes(stored_by(ANALYZER_VERSION));
        let key = CacheKey::of(Language::Rust, b"x");
        assert_eq!(cache.get(&key), Some(Err(NotMeasured::NotText)));
        for stored in [0..0, 5..usize::MAX] {
            let entry = Entry { stored: Some(stored), outcome: OnceLock::new(), used: AtomicU32::new(0) };
            cache.entries.insert(key, entry);
            assert_eq!(cache.get(&key), None);
        }
    }
}
