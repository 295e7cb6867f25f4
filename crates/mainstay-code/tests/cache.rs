//! The cache: the same content is measured once, and whatever is wrong with a stored cache only costs time.

use std::sync::Arc;

use mainstay_code::{CacheKey, Language, MetricsCache, NotMeasured, Outcome, analyze};

const SOURCE: &[u8] = b"fn f() { if a && b { c() } }\n";

fn outcome(source: &[u8]) -> Outcome {
    analyze(Language::Rust, source, &|| true).map(Arc::new)
}

fn filled() -> MetricsCache {
    let mut cache = MetricsCache::new();
    for source in [SOURCE, b"fn g( {}", b""] {
        cache.insert(CacheKey::of(Language::Rust, source), outcome(source));
    }
    cache
}

#[test]
fn an_outcome_is_found_by_content_and_language() {
    let cache = filled();
    assert_eq!(cache.get(&CacheKey::of(Language::Rust, SOURCE)), Some(outcome(SOURCE)));
    assert_eq!(cache.get(&CacheKey::of(Language::Python, SOURCE)), None);
    assert_eq!(cache.get(&CacheKey::of(Language::Rust, b"fn f() {}")), None);
}

#[test]
fn files_that_could_not_be_measured_are_remembered_and_cancelled_ones_are_not() {
    let mut cache = filled();
    let key = CacheKey::of(Language::Rust, b"fn g( {}");
    assert!(matches!(cache.get(&key), Some(Err(NotMeasured::Syntax { .. }))));
    let key = CacheKey::of(Language::Rust, b"fn h() {}");
    cache.insert(key, Err(NotMeasured::Cancelled));
    assert_eq!(cache.get(&key), None);
}

#[test]
fn a_stored_cache_has_the_same_figures() {
    let cache = filled();
    let restored = MetricsCache::from_bytes(cache.to_bytes());
    assert_eq!(restored.len(), 3);
    assert_eq!(restored.get(&CacheKey::of(Language::Rust, SOURCE)), Some(outcome(SOURCE)));
    // Whoever has asked for some outcomes stores all of them.
    let restored = MetricsCache::from_bytes(restored.to_bytes());
    for source in [SOURCE, b"fn g( {}", b""] {
        assert_eq!(restored.get(&CacheKey::of(Language::Rust, source)), Some(outcome(source)));
    }
}

#[test]
fn a_damaged_or_foreign_file_is_an_empty_cache() {
    let bytes = filled().to_bytes();
    assert!(!MetricsCache::from_bytes(bytes.clone()).is_empty());
    for position in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[position] ^= 0x10;
        assert!(MetricsCache::from_bytes(damaged).is_empty(), "byte {position}");
        assert!(MetricsCache::from_bytes(bytes[..position].to_vec()).is_empty(), "cut at {position}");
    }
    assert!(MetricsCache::from_bytes(Vec::new()).is_empty());
    assert!(MetricsCache::from_bytes(b"{\"entries\": []}".to_vec()).is_empty());
}

#[test]
fn storing_twice_gives_the_same_bytes() {
    assert_eq!(filled().to_bytes(), filled().to_bytes());
}
