//! A damaged segment gives fewer or other results, and no panic.

use std::fs::File;
use std::io::Read as _;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use super::fixture::{FILES, document};
use super::*;
use crate::document::versions;
use crate::index::{Index, IndexDirectory, MapFile, Update};
use crate::ranking::{Filter, Span, similar, symbols};
use crate::segment::{Bytes, SegmentBuilder};

/// Bytes to change, as shares of the file, so that they are spread over all sections.
type Changes = Vec<(prop::sample::Index, u8)>;

/// An index whose segment reads with other bytes than were written. The table of contents at the end, which is
/// checked when a segment is opened, stays whole.
fn damaged(changes: Changes) -> (Arc<Snapshot>, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let map: MapFile = Arc::new(move |mut file: &File| {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let checked = bytes.len().saturating_sub(600).max(1);
        for (place, value) in &changes {
            bytes[place.index(checked)] ^= value;
        }
        let bytes: Bytes = Arc::new(bytes);
        Ok(bytes)
    });
    let embedder = built_in().unwrap();
    let opened = IndexDirectory::open(directory.path().to_owned(), map).unwrap();
    let index = Index::open(opened, versions(embedder)).unwrap();
    for half in FILES.chunks(5) {
        let mut builder = SegmentBuilder::new(versions(embedder));
        for (path, source) in half {
            document(path, source).add_to(&mut builder).unwrap();
        }
        index.apply(Update { added: Some(builder), ..Update::default() }).unwrap();
    }
    index.apply(Update { removed: vec!["src/queue.rs".to_owned()], ..Update::default() }).unwrap();
    (index.snapshot(), directory)
}

fn search_everything(snapshot: &Snapshot) {
    let embedder = built_in().unwrap();
    for query in ["ValueStack", "stack of values", "Returns the missing fields.", "HTTP server", "JSON element"] {
        for rerank in [true, false] {
            let answer = find(snapshot, &Request { query, rerank, ..request() });
            assert!(answer.hits.iter().all(|hit| hit.score.is_finite()));
        }
        symbols(snapshot, query, &Filter::default(), 9);
    }
    let filter = Filter { paths: vec!["src".to_owned()], ..Filter::default() };
    find(snapshot, &Request { query: "value", filter, ..request() });
    find(snapshot, &Request { embedding: Some(&[0.5; 256]), ..request() });
    let span = Span { path: "src/stack.rs", lines: 1..=30, text: "push value" };
    let _ = similar(snapshot, embedder, &span, &Filter::default(), 9);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn damage_never_makes_a_search_panic(few in vec((any::<prop::sample::Index>(), 1_u8..), 1..20)) {
        let (snapshot, _directory) = damaged(few);
        search_everything(&snapshot);
    }

    #[test]
    fn much_damage_never_makes_a_search_panic(many in vec((any::<prop::sample::Index>(), 1_u8..), 100..4_000)) {
        let (snapshot, _directory) = damaged(many);
        search_everything(&snapshot);
    }
}
