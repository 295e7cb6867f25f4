//! What a document gives.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::embedding::{Parts, built_in};

const SOURCE: &str = "use std::io;

/// Keeps values in order.
pub struct SortedList {
    values: Vec<u32>,
    length: usize,
    capacity: usize,
}

impl SortedList {
    /// Puts a value where it belongs.
    pub fn insert_value(&mut self, value: u32) {
        let place = self.values.partition_point(|other| *other < value);
        self.values.insert(place, value);
        self.length += 1;
    }
}
";

fn prepared(path: &str, source: &[u8]) -> Result<Prepared, NotPrepared> {
    prepare(path, source, 7, -3, [5; 16], built_in().unwrap(), &|| true)
}

#[test]
fn a_document_has_chunks_terms_and_definitions() {
    let document = prepared("src/sorted/mod.rs", SOURCE.as_bytes()).unwrap();
    assert_eq!((document.size, document.modified_ns, document.etag, document.lines), (7, -3, [5; 16], 17));
    assert_eq!(language(document.language), "rust");
    let hash = name_hash(&flat_name("insertValue"));
    let found = document.definitions.iter().find(|found| found.name_hash == hash).unwrap();
    assert_eq!(
        (found.name.as_str(), symbol_kind(found.kind)),
        ("SortedList::insert_value", mainstay_code::SymbolKind::Method)
    );
    assert_eq!(found.name.get(usize::from(found.qualifier)..), Some("insert_value"));
    let chunk = &document.chunks[usize::try_from(found.chunk).unwrap()];
    assert!(chunk.start_line <= found.start_line && found.end_line <= chunk.end_line);
    for term in ["partit", "insertvalu", "insert", "belong", "sort"] {
        let hash = term_hash(term);
        assert!(document.terms.iter().any(|(found, _)| *found == hash), "{term}");
        assert!(chunk.terms.iter().any(|(found, _)| *found == hash) || term == "sort", "{term}");
    }
    // Each term once, and each token once.
    assert!(document.terms.is_sorted_by(|one, other| one.0 < other.0));
    let distinct: std::collections::HashSet<_> = chunk.tokens.iter().collect();
    assert_eq!(distinct.len(), chunk.tokens.len());
    assert!(chunk.scale > 0.0 && chunk.vector.len() == built_in().unwrap().dimensions());
}

#[test]
fn impacts_do_not_depend_on_other_documents() {
    let alone = prepared("src/sorted/mod.rs", SOURCE.as_bytes()).unwrap();
    prepared("src/other.rs", b"fn other() {}").unwrap();
    assert_eq!(prepared("src/sorted/mod.rs", SOURCE.as_bytes()).unwrap(), alone);
}

#[test]
fn what_is_not_text_or_no_longer_wanted_is_not_prepared() {
    assert_eq!(prepared("a.rs", b"\0\0\0\0"), Err(NotPrepared::NotChunked(NotChunked::Binary)));
    let result = prepare("a.rs", b"fn a() {}", 0, 0, [0; 16], built_in().unwrap(), &|| false);
    assert_eq!(result, Err(NotPrepared::NotChunked(NotChunked::Cancelled)));
    assert!(prepared("empty.rs", b"").unwrap().chunks.is_empty());
}

/// Counts its calls, and answers as it is told.
struct Service {
    calls: AtomicUsize,
    answer: Result<usize, EmbedError>,
}

impl Service {
    fn new(answer: Result<usize, EmbedError>) -> Self {
        Self { calls: AtomicUsize::new(0), answer }
    }

    fn prepare(&self, source: &str) -> Result<Prepared, NotPrepared> {
        prepare("src/sorted/mod.rs", source.as_bytes(), 0, 0, [0; 16], self, &|| true)
    }
}

impl Embedder for Service {
    fn dimensions(&self) -> usize {
        2
    }

    fn id(&self) -> &'static str {
        "service"
    }

    fn embed_batch(&self, texts: &[Parts<'_>], out: &mut Vec<f32>) -> Result<(), EmbedError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        *out = vec![1.0; texts.len() * self.answer.clone()?];
        Ok(())
    }
}

#[test]
fn an_embedder_is_asked_once_for_a_document() {
    let service = Service::new(Ok(2));
    let document = service.prepare(SOURCE).unwrap();
    assert!(document.chunks.len() > 1);
    assert!(document.chunks.iter().all(|chunk| chunk.vector == [127, 127] && chunk.tokens.is_empty()));
    assert_eq!(service.calls.load(Ordering::Relaxed), 1);
    assert!(service.prepare("").unwrap().chunks.is_empty());
    assert_eq!(service.calls.load(Ordering::Relaxed), 1, "a document without chunks needs no vectors");
}

#[test]
fn a_document_is_not_prepared_if_the_embedder_fails_or_gives_too_little() {
    let error = EmbedError::Unavailable { reason: "timed out".to_owned(), retry_after: None };
    let failed = Service::new(Err(error.clone())).prepare(SOURCE).unwrap_err();
    assert_eq!(failed, NotPrepared::Embedding(error));
    assert_eq!(failed.to_string(), "the embedding model is not available: timed out");
    let malformed = Service::new(Ok(1)).prepare(SOURCE).unwrap_err();
    assert!(matches!(malformed, NotPrepared::Embedding(EmbedError::Malformed { .. })), "{malformed}");
}

#[test]
fn words_are_the_texts_of_the_terms_of_each_chunk() {
    for (path, source) in [("src/sorted/mod.rs", SOURCE), ("notes/größe.md", "# Größe\n\nÄndern und 東京都 lesen.\n")]
    {
        let (document, words) =
            prepare_with_words(path, source.as_bytes(), 7, -3, [5; 16], built_in().unwrap(), &|| true).unwrap();
        assert_eq!(document, prepared(path, source.as_bytes()).unwrap());
        assert_eq!(words.len(), document.chunks.len());
        for (chunk, words) in document.chunks.iter().zip(&words) {
            let stored: Vec<u64> = chunk.terms.iter().map(|(hash, _)| *hash).collect();
            assert_eq!(words.iter().map(|word| term_hash(word)).collect::<Vec<_>>(), stored);
        }
        let query = crate::ranking::query_words("where is a value inserted in the sorted list, größe?");
        assert!(words.iter().flatten().any(|word| query.contains(word)), "{query:?}");
    }
}

#[test]
fn a_stored_document_is_the_same_document() {
    let document = prepared("src/sorted/mod.rs", SOURCE.as_bytes()).unwrap();
    assert_eq!(Prepared::from_bytes(&document.to_bytes()), Ok(document));
}

#[test]
fn a_stored_document_of_another_version_is_told_from_damage() {
    let bytes = prepared("src/sorted/mod.rs", SOURCE.as_bytes()).unwrap().to_bytes();
    let changed = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        Prepared::from_bytes(&bytes).unwrap_err()
    };
    // The magic number, the format, the recipe.
    assert!(matches!(changed(0), StoredError::Damaged(_)));
    assert_eq!((changed(4), changed(8)), (StoredError::OtherVersion, StoredError::OtherVersion));
    for length in 0..bytes.len() {
        assert!(matches!(Prepared::from_bytes(&bytes[..length]), Err(StoredError::Damaged(_))), "{length}");
    }
    let longer = [bytes.as_slice(), &[0]].concat();
    assert_eq!(Prepared::from_bytes(&longer), Err(StoredError::Damaged("there is more after its end")));
}

#[test]
fn a_stored_document_that_would_mislead_a_segment_is_refused() {
    let whole = prepared("src/sorted/mod.rs", SOURCE.as_bytes()).unwrap();
    let refused = |change: fn(&mut Prepared)| {
        let mut document = whole.clone();
        change(&mut document);
        Prepared::from_bytes(&document.to_bytes()).unwrap_err().to_string()
    };
    let end = |document: &Prepared| u32::try_from(document.chunks.len()).unwrap();
    assert!(refused(|document| document.definitions[0].chunk = u32::MAX).contains("does not exist"));
    assert!(refused(|document| document.chunks[1].vector.push(1)).contains("dimensions"));
    assert!(refused(|document| document.chunks[0].scale = f32::NAN).contains("no number"));
    let mut next = whole.clone();
    next.definitions[0].chunk = end(&whole);
    assert!(Prepared::from_bytes(&next.to_bytes()).is_err(), "the first chunk of the next document");
}

#[test]
fn a_stored_count_takes_no_memory_before_it_is_believed() {
    let mut bytes = prepared("a", b"").unwrap().to_bytes();
    // Of the document's terms: behind the header, the path "a", its numbers and the lengths of its fields.
    let at = 12 + 5 + 8 + 4 + 8 + 16 + 4 + 1 + 2 * 5 * 4;
    bytes[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(Prepared::from_bytes(&bytes), Err(StoredError::Damaged("a list is longer than the document")));
}

proptest::proptest! {
    #[test]
    fn no_document_panics(path: String, source: Vec<u8>) {
        let _ = prepared(&path, &source);
        let _ = prepared("a.py", &source);
    }

    #[test]
    fn any_document_is_stored_and_read(path: String, source: String) {
        for path in [path.as_str(), "a.rs"] {
            if let Ok(document) = prepared(path, source.as_bytes()) {
                assert_eq!(Prepared::from_bytes(&document.to_bytes()), Ok(document));
            }
        }
    }

    #[test]
    fn no_stored_bytes_make_reading_panic(bytes: Vec<u8>, at: usize, byte: u8, cut: usize) {
        let _ = Prepared::from_bytes(&bytes);
        let mut damaged = prepared("src/sorted/mod.rs", SOURCE.as_bytes()).unwrap().to_bytes();
        // Most of the bytes are those of vectors, where every value is a good one: counts are hit more often near the start.
        let length = damaged.len();
        let at = if at.is_multiple_of(2) { at % 400.min(length) } else { at % length };
        damaged[at] = byte;
        damaged.truncate(length - if cut.is_multiple_of(3) { cut % length } else { 0 });
        let header = damaged.get(..12).map(<[u8]>::to_vec);
        let with_any = [header.unwrap_or_default(), bytes].concat();
        let _ = Prepared::from_bytes(&with_any);
        if let Ok(document) = Prepared::from_bytes(&damaged) {
            // What can be read can be searched.
            let versions = versions(built_in().unwrap());
            crate::index::Snapshot::in_memory(&[document], &versions).unwrap();
        }
    }
}
