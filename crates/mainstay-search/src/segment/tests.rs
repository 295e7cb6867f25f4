//! Segments are read back as they were built, merged without what is gone, and survive any damage.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const DIMENSIONS: u32 = 4;

fn versions() -> Versions {
    Versions { model: [7; 16], recipe: 3, dimensions: DIMENSIONS }
}

/// A document from a few numbers, so that equal numbers give equal documents.
fn document(number: u8, chunks: u8) -> (String, Vec<NewChunk>, Vec<NewDefinition>) {
    let chunk = |place: u8| NewChunk {
        name: format!("name{number}.{place}"),
        kind: place,
        start_line: u32::from(place) + 1,
        end_line: u32::from(place) + 5,
        start_byte: 0,
        end_byte: u32::from(number),
        terms: vec![(u64::from(number % 5), place + 1), (100 + u64::from(place), 9), (u64::MAX, 1)],
        tokens: vec![number.into(), 700, place.into()],
        vector: vec![number.cast_signed(), place.cast_signed(), -1, 127],
        scale: f32::from(number),
    };
    let definition = |place: u8| NewDefinition {
        name_hash: u64::from(number % 3),
        name: format!("def{number}.{place}"),
        qualifier: 3,
        chunk: place.into(),
        start_line: place.into(),
        end_line: place.into(),
        kind: 1,
    };
    (format!("dir/file{number}.rs"), (0..chunks).map(chunk).collect(), (0..chunks).map(definition).collect())
}

fn bytes_of(documents: &[(u8, u8)]) -> Vec<u8> {
    let mut builder = SegmentBuilder::new(versions());
    for (number, chunks) in documents {
        let (path, chunks, definitions) = document(*number, *chunks);
        let new = NewDocument {
            path: &path,
            size: (*number).into(),
            lines: 9,
            modified_ns: -5,
            etag: [*number; 16],
            tags: 3,
            language: 2,
            terms: &[(u64::from(*number % 5), *number), (7, 1)],
            chunks: &chunks,
            definitions: &definitions,
        };
        builder.add(&new).unwrap();
    }
    assert_eq!(builder.documents(), documents.len());
    let mut bytes = Vec::new();
    builder.write(&mut bytes).unwrap();
    bytes
}

fn open(bytes: Vec<u8>) -> Result<Segment, SegmentError> {
    Segment::open(Arc::new(bytes), &versions())
}

/// Everything that can be asked of a segment, by document path, so that segments can be compared whatever their numbers are.
fn dump(segment: &Segment) -> Vec<String> {
    let mut lines = Vec::new();
    let place = |chunk: u32| {
        let record = segment.chunk(chunk).unwrap();
        let document = segment.document(record.document).unwrap();
        format!("{} {}", segment.path(&document), segment.chunk_name(&record))
    };
    for id in 0..segment.documents() {
        let document = segment.document(id).unwrap();
        lines.push(format!(
            "{} {} {} {} {:?} {} {} {}",
            segment.path(&document),
            document.lines,
            document.size,
            document.modified_ns,
            document.etag,
            document.tags,
            document.language,
            document.chunks
        ));
    }
    for id in 0..segment.chunks() {
        let chunk = segment.chunk(id).unwrap();
        let (vector, tokens) = (segment.vector(id).unwrap(), segment.tokens(id).collect::<Vec<_>>());
        assert_eq!(tokens.len(), 3);
        lines.push(format!(
            "{} {} {}-{} {vector:?} {}",
            place(id),
            chunk.kind,
            chunk.start_line,
            chunk.end_line,
            segment.scale(id)
        ));
    }
    for hash in (0..5).chain(100..110).chain([u64::MAX, 50]) {
        let postings = segment.postings(hash);
        let count = postings.length();
        let found: Vec<Posting> = postings.collect();
        assert_eq!(found.len(), usize::try_from(count).unwrap());
        assert!(found.is_sorted_by_key(|posting| posting.id));
        lines.extend(found.iter().map(|posting| format!("term {hash} {} {}", place(posting.id), posting.impact)));
    }
    for hash in 0..8 {
        let found = segment.document_postings(hash).map(|posting| {
            let document = segment.document(posting.id).unwrap();
            format!("document term {hash} {} {}", segment.path(&document), posting.impact)
        });
        lines.extend(found);
    }
    for hash in 0..4 {
        let found = segment.definitions(hash);
        lines.extend(found.map(|found| {
            format!("definition {hash} {} {} {}", segment.definition_name(&found), place(found.chunk), found.start_line)
        }));
    }
    lines.sort();
    lines
}

#[test]
fn what_was_built_is_read_back() {
    let segment = open(bytes_of(&[(1, 2), (6, 0), (2, 1)])).unwrap();
    segment.verify().unwrap();
    assert_eq!((segment.documents(), segment.chunks()), (3, 3));
    let found: Vec<Posting> = segment.postings(1).collect();
    assert_eq!(found, [Posting { id: 0, impact: 1 }, Posting { id: 1, impact: 2 }]);
    assert_eq!(segment.postings(u64::MAX).length(), 3);
    assert_eq!(segment.postings(77).length(), 0);
    let names: Vec<_> = segment.definitions(1).map(|found| segment.definition_name(&found).to_owned()).collect();
    assert_eq!(names, ["def1.0", "def1.1"]);
    assert_eq!(segment.vector(2), Some([2, 0, 255, 127].as_slice()));
    assert_eq!((segment.vector(3), segment.scale(2), segment.scale(3)), (None, 2.0, 0.0));
}

#[test]
fn an_empty_segment_is_a_segment() {
    let segment = open(bytes_of(&[])).unwrap();
    assert!(segment.is_empty());
    assert_eq!(dump(&segment), Vec::<String>::new());
}

#[test]
fn segments_of_other_versions_are_told_apart_from_damage() {
    let bytes: Bytes = Arc::new(bytes_of(&[(1, 1)]));
    for other in [
        Versions { model: [8; 16], ..versions() },
        Versions { recipe: 4, ..versions() },
        Versions { dimensions: 5, ..versions() },
    ] {
        let error = Segment::open(bytes.clone(), &other).unwrap_err();
        assert!(matches!(error, SegmentError::OtherVersion(_)), "{error}");
    }
    assert_eq!(open(Vec::new()).unwrap_err(), SegmentError::NotASegment);
}

#[test]
fn a_vector_of_another_length_is_refused() {
    let mut builder = SegmentBuilder::new(Versions { dimensions: 3, ..versions() });
    let (path, chunks, _) = document(1, 1);
    let new = NewDocument {
        path: &path,
        size: 0,
        lines: 0,
        modified_ns: 0,
        etag: [0; 16],
        tags: 0,
        language: 0,
        terms: &[],
        chunks: &chunks,
        definitions: &[],
    };
    assert!(builder.add(&new).is_err());
    assert!(builder.is_empty());
}

proptest! {
    /// Merging what is left of several segments is building one of it.
    #[test]
    fn a_merged_segment_is_what_would_have_been_built(
        parts in vec(vec((0_u8..40, 0_u8..4, any::<bool>()), 0..6), 0..5),
    ) {
        let segments: Vec<Segment> = parts
            .iter()
            .map(|part| open(bytes_of(&part.iter().map(|(number, chunks, _)| (*number, *chunks)).collect::<Vec<_>>())).unwrap())
            .collect();
        let gone: Vec<Box<dyn Fn(u32) -> bool + Sync>> = parts
            .iter()
            .map(|part| {
                let gone: Vec<bool> = part.iter().map(|(_, _, gone)| *gone).collect();
                Box::new(move |id: u32| gone[usize::try_from(id).unwrap()]) as Box<dyn Fn(u32) -> bool + Sync>
            })
            .collect();
        let sources: Vec<Source<'_>> =
            segments.iter().zip(&gone).map(|(segment, gone)| Source { segment, is_deleted: gone.as_ref() }).collect();
        let mut bytes = Vec::new();
        merge(&sources, &versions(), &mut bytes).unwrap();
        let merged = open(bytes).unwrap();
        merged.verify().unwrap();
        let left: Vec<(u8, u8)> =
            parts.iter().flatten().filter(|(_, _, gone)| !gone).map(|(number, chunks, _)| (*number, *chunks)).collect();
        prop_assert_eq!(dump(&merged), dump(&open(bytes_of(&left)).unwrap()));
    }

    /// Damage is found by the checksums, and no question about a damaged segment panics.
    #[test]
    fn damage_is_found(changes in vec((any::<prop::sample::Index>(), 1_u8..=255), 1..4), cut in any::<prop::sample::Index>()) {
        let whole = bytes_of(&[(1, 2), (2, 3), (3, 1)]);
        let mut bytes = whole.clone();
        for (place, change) in changes {
            let place = place.index(bytes.len());
            bytes[place] ^= change;
        }
        if let Ok(segment) = open(bytes.clone()) {
            for id in 0..segment.chunks() + 2 {
                let _ = segment.chunk(id).map(|chunk| segment.chunk_name(&chunk).len());
                let _ = (segment.vector(id), segment.scale(id));
                let _ = segment.document(id).map(|document| segment.path(&document).len());
            }
            for hash in (0..110).chain([u64::MAX]) {
                let _ = segment.postings(hash).count();
                let _ = segment.postings(hash).map(|posting| u64::from(posting.id)).sum::<u64>();
                let _ = segment.document_postings(hash).count();
                let _ = segment.definitions(hash).count();
            }
            let mut out = Vec::new();
            let _ = merge(&[Source { segment: &segment, is_deleted: &|_| false }], &versions(), &mut out);
            // Only the zeros between sections may have changed.
            if segment.verify().is_ok() {
                prop_assert_eq!(dump(&segment), dump(&open(whole.clone()).unwrap()));
            }
        }
        prop_assert!(open(whole[..cut.index(whole.len())].to_vec()).is_err());
    }
}
