//! What a document gives.

use super::*;
use crate::embedding::built_in;

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

proptest::proptest! {
    #[test]
    fn no_document_panics(path: String, source: Vec<u8>) {
        let _ = prepared(&path, &source);
        let _ = prepared("a.py", &source);
    }
}
