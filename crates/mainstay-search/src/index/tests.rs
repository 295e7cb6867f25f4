//! Updates, several processes, and what is left after a crash.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::segment::{Bytes, NewChunk, NewDocument, SegmentBuilder, Versions};

fn versions() -> Versions {
    Versions { model: [1; 16], recipe: 1, dimensions: 2 }
}

/// Reads the file instead of mapping it.
fn map() -> MapFile {
    Arc::new(|file: &File| {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut &*file, &mut bytes)?;
        let bytes: Bytes = Arc::new(bytes);
        Ok(bytes)
    })
}

fn open(path: &Path) -> Index {
    Index::open(IndexDirectory::open(path.to_owned(), map()).unwrap(), versions()).unwrap()
}

/// An update that adds or replaces these documents, each with one chunk of its text's length.
fn documents(of: &[(&str, u32)]) -> Update {
    let mut builder = SegmentBuilder::new(versions());
    for (path, length) in of {
        let chunk = NewChunk {
            name: (*path).to_owned(),
            kind: 0,
            start_line: 1,
            end_line: 1,
            start_byte: 0,
            end_byte: *length,
            terms: vec![(1, 1), (u64::from(*length), 2)],
            tokens: vec![1],
            vector: vec![1, 2],
            scale: 1.0,
        };
        let new = NewDocument {
            path,
            size: u64::from(*length),
            lines: 1,
            modified_ns: 0,
            etag: [0; 16],
            tags: 0,
            language: 0,
            terms: &[(1, 1)],
            chunks: &[chunk],
            definitions: &[],
        };
        builder.add(&new).unwrap();
    }
    Update {
        added: Some(builder),
        replaced: of.iter().map(|(path, _)| (*path).to_owned()).collect(),
        removed: Vec::new(),
        completes: false,
        position: None,
    }
}

fn removal(paths: &[&str]) -> Update {
    Update { removed: paths.iter().map(|path| (*path).to_owned()).collect(), ..Update::default() }
}

/// All documents that are found by the word that they all have, sorted.
fn found(snapshot: &Snapshot) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    for part in &snapshot.parts {
        for posting in part.segment.postings(1) {
            let chunk = part.segment.chunk(posting.id).unwrap();
            if !part.is_deleted(chunk.document) {
                let document = part.segment.document(chunk.document).unwrap();
                found.push((part.segment.path(&document).to_owned(), document.size));
            }
        }
    }
    found.sort();
    assert_eq!(found.len(), snapshot.documents());
    for (path, size) in &found {
        let place = snapshot.find(path).unwrap();
        assert_eq!(snapshot.record(place).unwrap().size, *size);
    }
    found
}

fn expected(of: &[(&str, u64)]) -> Vec<(String, u64)> {
    of.iter().map(|(path, size)| ((*path).to_owned(), *size)).collect()
}

fn files(path: &Path, extension: &str) -> usize {
    let entries = std::fs::read_dir(path).unwrap().flatten();
    entries.filter(|entry| entry.path().extension().is_some_and(|found| found == extension)).count()
}

#[test]
fn documents_are_added_replaced_and_removed() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    assert!(!index.snapshot().is_complete());
    index.apply(documents(&[("a", 10), ("b", 20)])).unwrap();
    index.apply(documents(&[("b", 21), ("c", 30)])).unwrap();
    let before = index.snapshot();
    let after = index.apply(Update { completes: true, ..removal(&["a", "unknown"]) }).unwrap();
    assert_eq!(found(&after), expected(&[("b", 21), ("c", 30)]));
    assert_eq!(
        found(&before),
        expected(&[("a", 10), ("b", 21), ("c", 30)]),
        "a search goes on with what it began with"
    );
    assert!(after.is_complete() && after.generation() == 3);
    assert_eq!(after.segments(), 1, "a segment of which nothing is left is gone");
    assert_eq!(files(directory.path(), "segment"), 1);
    let again = open(directory.path());
    assert_eq!(found(&again.snapshot()), expected(&[("b", 21), ("c", 30)]));
}

#[test]
fn processes_see_and_keep_what_others_have_changed() {
    let directory = tempfile::tempdir().unwrap();
    let (one, other) = (open(directory.path()), open(directory.path()));
    one.apply(documents(&[("a", 1)])).unwrap();
    other.apply(documents(&[("b", 2)])).unwrap();
    assert_eq!(found(&one.snapshot()), expected(&[("a", 1)]));
    assert_eq!(found(&one.refreshed().unwrap()), expected(&[("a", 1), ("b", 2)]));
    std::thread::scope(|scope| {
        for (thread, index) in [&one, &other].into_iter().enumerate() {
            scope.spawn(move || {
                for number in 0..20 {
                    index.apply(documents(&[(&format!("{thread}-{number}"), 5)])).unwrap();
                    index.merge_some().unwrap();
                    index.refreshed().unwrap();
                }
            });
        }
    });
    assert_eq!(one.refreshed().unwrap().documents(), 42);
    assert_eq!(found(&one.snapshot()), found(&other.refreshed().unwrap()));
    assert_eq!(files(directory.path(), "new"), 0);
}

#[test]
fn merging_keeps_segments_few_and_forgets_what_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    for number in 0..30_u32 {
        index.apply(documents(&[(&format!("file{number:02}"), number + 2), ("same", number + 100)])).unwrap();
        index.merge_some().unwrap();
        assert!(index.snapshot().segments() <= 9);
    }
    let snapshot = index.apply(removal(&["file07"])).unwrap();
    let found = found(&snapshot);
    assert_eq!(found.len(), 30);
    assert_eq!(found.last(), Some(&("same".to_owned(), 129)));
    assert_eq!(files(directory.path(), "segment"), snapshot.segments());
}

#[test]
fn what_is_deleted_while_segments_are_merged_stays_deleted() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    for number in 0..9_u32 {
        index.apply(documents(&[(&format!("file{number}"), number + 2), (&format!("more{number}"), 2)])).unwrap();
    }
    let base = index.snapshot();
    // What merge_some does, with another process in between.
    let parts: Vec<&Part> = base.parts.iter().collect();
    index.apply(removal(&["file3", "more8"])).unwrap();
    let deleted = super::merging::deleted_since(&index.snapshot(), &parts).unwrap();
    assert_eq!(deleted, [6, 17]);
    assert!(index.merge_some().unwrap());
    assert_eq!(found(&index.snapshot()).len(), 16);
}

#[test]
fn a_damaged_index_is_emptied_and_can_be_built_again() {
    for damage in ["manifest", "segment", "truncated", "gone"] {
        let directory = tempfile::tempdir().unwrap();
        open(directory.path()).apply(Update { completes: true, ..documents(&[("a", 10)]) }).unwrap();
        let entries = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
        let is_segment = |path: &std::path::PathBuf| path.extension().is_some_and(|extension| extension == "segment");
        let segment = entries.into_iter().find(is_segment).unwrap();
        match damage {
            "truncated" => File::options().write(true).open(&segment).unwrap().set_len(100).unwrap(),
            "gone" => std::fs::remove_file(&segment).unwrap(),
            name => {
                let path = if name == "segment" { segment } else { directory.path().join(name) };
                let mut bytes = std::fs::read(&path).unwrap();
                bytes[3] ^= 1;
                std::fs::write(path, bytes).unwrap();
            }
        }
        let index = open(directory.path());
        assert!(!index.snapshot().is_complete(), "{damage}");
        assert_eq!(found(&index.snapshot()), [], "{damage}");
        let snapshot = index.apply(documents(&[("a", 11)])).unwrap();
        assert_eq!(found(&snapshot), expected(&[("a", 11)]), "{damage}");
    }
}

#[test]
fn an_index_goes_on_after_its_directory_was_removed() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    index.apply(documents(&[("a", 10)])).unwrap();
    std::fs::remove_dir_all(directory.path()).unwrap();
    assert_eq!(found(&index.refreshed().unwrap()), []);
    assert!(index.try_build_lock().unwrap().is_some());
    index.apply(documents(&[("a", 11)])).unwrap();
    assert_eq!(found(&open(directory.path()).snapshot()), expected(&[("a", 11)]));
}

/// One that has a segment open would take another one of the same name for it.
#[test]
fn a_segment_never_has_the_name_of_another_even_after_the_manifest_was_lost() {
    let directory = tempfile::tempdir().unwrap();
    let (one, other) = (open(directory.path()), open(directory.path()));
    one.apply(documents(&[("a", 10), ("b", 20)])).unwrap();
    assert_eq!(found(&other.refreshed().unwrap()), expected(&[("a", 10), ("b", 20)]));
    std::fs::remove_file(directory.path().join("manifest")).unwrap();
    one.refreshed().unwrap();
    one.apply(documents(&[("b", 21), ("a", 11)])).unwrap();
    assert_eq!(found(&other.refreshed().unwrap()), expected(&[("a", 11), ("b", 21)]));
}

#[test]
fn another_version_begins_anew() {
    let directory = tempfile::tempdir().unwrap();
    open(directory.path()).apply(documents(&[("a", 10)])).unwrap();
    let newer = Versions { recipe: 2, ..versions() };
    let index = Index::open(IndexDirectory::open(directory.path().to_owned(), map()).unwrap(), newer).unwrap();
    assert_eq!(index.snapshot().documents(), 0);
    assert_eq!(files(directory.path(), "segment"), 0);
}

#[test]
fn what_a_killed_process_has_left_behind_is_removed_and_what_a_living_one_writes_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    let left = directory.path().join("left.new");
    std::fs::write(&left, "half a segment").unwrap();
    std::fs::write(directory.path().join("77.segment"), "of no manifest").unwrap();
    let written = File::create(directory.path().join("written.new")).unwrap();
    written.lock().unwrap();
    index.apply(documents(&[("a", 10)])).unwrap();
    assert!(!left.exists() && !directory.path().join("77.segment").exists());
    assert!(directory.path().join("written.new").exists());
}

#[test]
fn a_segment_that_cannot_be_written_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    index.apply(documents(&[("a", 10)])).unwrap();
    let failed = index.directory.write_segment(|to| {
        to.write_all(b"some")?;
        Err(std::io::Error::from(std::io::ErrorKind::StorageFull))
    });
    assert!(failed.is_err());
    assert_eq!(files(directory.path(), "new"), 0);
    assert_eq!(found(&index.refreshed().unwrap()), expected(&[("a", 10)]));
}
