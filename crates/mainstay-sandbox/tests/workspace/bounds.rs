//! What bounds a read and a change: the size that a file had when it was opened, and the wish of the caller.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;

use mainstay_core::Kind;
use mainstay_sandbox::{Content, EntryKind, Expect, OpenFile, Step, etag_of};

use crate::{Fixture, kind};

const MIB: usize = 1 << 20;

fn put(fixture: &Fixture, path: &str, content: Content, expect: Expect) -> Step {
    let target = fixture.workspace.find(path).unwrap().write_target().unwrap();
    Step::Put { target, content, expect, mode: None }
}

fn open(fixture: &Fixture, path: &str) -> OpenFile {
    fixture.workspace.find(path).unwrap().open_file().unwrap()
}

/// Every file and directory, with the content of files.
fn snapshot(directory: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut ahead = vec![directory.to_owned()];
    while let Some(next) = ahead.pop() {
        for path in std::fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.strip_prefix(directory).unwrap().display().to_string();
            if path.is_dir() {
                found.insert(name, None);
                ahead.push(path);
            } else {
                found.insert(name, Some(std::fs::read(path).unwrap()));
            }
        }
    }
    found
}

#[test]
fn a_file_that_grows_after_it_was_opened_is_read_up_to_the_size_it_had() {
    for size in [0, 3, MIB] {
        let fixture = Fixture::new();
        let (path, content) = (fixture.inside.join("log"), vec![b'a'; size]);
        std::fs::write(&path, &content).unwrap();
        let file = open(&fixture, "log");
        // Far more than was promised: 8 MiB that nobody has reserved memory for.
        OpenOptions::new().write(true).open(&path).unwrap().set_len(8 * MIB as u64).unwrap();
        assert_eq!(file.etag().unwrap(), etag_of(&content), "the etag of {size} bytes");
        assert_eq!(file.etag().unwrap(), etag_of(&content), "and it is not remembered for what is there now");
        assert_ne!(open(&fixture, "log").etag().unwrap(), etag_of(&content));
        assert_eq!(file.read_whole(u64::MAX).unwrap().unwrap().len(), size);
        assert_eq!(file.read_range(0, u64::MAX).unwrap().len(), size);
        assert!(file.read_range(size as u64, u64::MAX).unwrap().is_empty());
        let mut bytes = Vec::new();
        file.reader(0).read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes.len(), size);
        let steps = vec![
            put(&fixture, "copy", Content::Copy(file.clone()), Expect::Nothing),
            put(&fixture, "longer", Content::Append { to: file, more: b"!".to_vec() }, Expect::Nothing),
        ];
        fixture.workspace.commit(steps).unwrap();
        let copied = |name: &str| std::fs::metadata(fixture.inside.join(name)).unwrap().len();
        assert_eq!((copied("copy"), copied("longer")), (size as u64, size as u64 + 1));
    }
}

#[test]
fn a_file_that_is_cut_off_while_it_is_copied_is_a_conflict() {
    for (size, left) in [(MIB, 0), (MIB, 10), (MIB, MIB / 2)] {
        let fixture = Fixture::new();
        let path = fixture.inside.join("log");
        std::fs::write(&path, vec![b'a'; size]).unwrap();
        let file = open(&fixture, "log");
        OpenOptions::new().write(true).open(&path).unwrap().set_len(left as u64).unwrap();
        let step = put(&fixture, "copy", Content::Copy(file), Expect::Nothing);
        assert_eq!(kind(fixture.workspace.commit(vec![step])), Kind::Conflict);
        assert!(!fixture.inside.join("copy").exists());
    }
}

#[test]
fn a_copy_of_a_sparse_file_has_its_holes_and_its_content() {
    let fixture = Fixture::new();
    let path = fixture.inside.join("disk.img");
    let sparse = std::fs::File::create(&path).unwrap();
    sparse.set_len(64 * MIB as u64).unwrap();
    for at in [0, 20 * MIB, 40 * MIB + 17] {
        sparse.write_all_at(b"some data in the middle of nothing", at as u64).unwrap();
    }
    sparse.sync_all().unwrap();
    let from = || open(&fixture, "disk.img");
    let steps = vec![
        put(&fixture, "copy.img", Content::Copy(from()), Expect::Nothing),
        put(&fixture, "longer.img", Content::Append { to: from(), more: b"end".to_vec() }, Expect::Nothing),
    ];
    let done = fixture.workspace.commit(steps).unwrap();
    let content = std::fs::read(&path).unwrap();
    assert_eq!(done[0].etag.as_deref(), Some(etag_of(&content).as_str()));
    assert_eq!(std::fs::read(fixture.inside.join("copy.img")).unwrap(), content);
    assert_eq!(std::fs::read(fixture.inside.join("longer.img")).unwrap(), [content.as_slice(), b"end"].concat());
    for copy in ["copy.img", "longer.img"] {
        let stored = std::fs::metadata(fixture.inside.join(copy)).unwrap().blocks() * 512;
        assert!(stored < MIB as u64, "{copy} takes {stored} bytes on disk");
    }
}

/// A change of every kind: copies, appends, expectations, a tree that is removed, a move, new directories.
fn every_kind(fixture: &Fixture) -> Vec<Step> {
    let target = |path: &str| fixture.workspace.find(path).unwrap().entry_target().unwrap();
    let (big, etag) = (open(fixture, "big"), open(fixture, "big").etag().unwrap());
    vec![
        put(fixture, "a/b/copy", Content::Copy(big.clone()), Expect::Nothing),
        put(fixture, "big", Content::Append { to: big, more: vec![b'!'; MIB] }, Expect::Etag(etag)),
        put(fixture, "src/main.rs", Content::Bytes(vec![b'#'; MIB]), Expect::Anything),
        Step::Remove { target: target("tree"), expect: Expect::Anything, kind: EntryKind::Directory, recursive: true },
        Step::Move { from: target("old"), to: target("c/new"), expect: Expect::Nothing },
        Step::MakeDirectory { target: target("d"), mode: None },
    ]
}

#[test]
fn a_change_that_is_stopped_at_any_moment_changes_nothing() {
    let fixture = Fixture::new();
    std::fs::write(fixture.inside.join("big"), vec![b'a'; 2 * MIB]).unwrap();
    std::fs::write(fixture.inside.join("old"), "old").unwrap();
    for deep in ["tree/1/2", "tree/3"] {
        std::fs::create_dir_all(fixture.inside.join(deep)).unwrap();
        std::fs::write(fixture.inside.join(deep).join("leaf"), "leaf").unwrap();
    }
    let before = snapshot(&fixture.inside);
    for moment in 0.. {
        let asked = Cell::new(0);
        let wanted = || {
            asked.set(asked.get() + 1);
            asked.get() <= moment
        };
        match fixture.workspace.commit_while(every_kind(&fixture), &wanted) {
            Ok(_) => {
                assert!(moment > 30, "only asked {moment} times while 7 MiB were read or written");
                break;
            }
            Err(error) => {
                assert_eq!(error.kind, Kind::Cancelled, "{error}");
                assert_eq!(snapshot(&fixture.inside), before, "stopped at question {moment}");
            }
        }
    }
    assert!(fixture.inside.join("a/b/copy").exists() && !fixture.inside.join("tree").exists());
    assert_eq!(std::fs::read_dir(fixture.inside.join("../journal")).unwrap().filter(is_record).count(), 0);
}

fn is_record(entry: &std::io::Result<std::fs::DirEntry>) -> bool {
    entry.as_ref().unwrap().path().extension().is_some_and(|extension| extension != "lock")
}

#[test]
fn a_change_that_waits_for_another_one_can_be_stopped() {
    let fixture = Fixture::new();
    // A change that stays inside its last check, with its directory locked, until the other one has given up.
    let (entered, release) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let asked = Cell::new(0);
            let step = put(&fixture, "first", Content::Bytes(vec![]), Expect::Nothing);
            let wanted = || {
                asked.set(asked.get() + 1);
                // Asked once before the step, once before the flush, and then under the lock.
                if asked.get() == 3 {
                    entered.wait();
                    release.wait();
                }
                true
            };
            fixture.workspace.commit_while(vec![step], &wanted).unwrap();
        });
        entered.wait();
        let asked = Cell::new(0);
        let wanted = || {
            asked.set(asked.get() + 1);
            asked.get() < 5
        };
        let step = put(&fixture, "second", Content::Bytes(vec![]), Expect::Nothing);
        assert_eq!(kind(fixture.workspace.commit_while(vec![step], &wanted)), Kind::Cancelled);
        release.wait();
    });
    assert!(fixture.inside.join("first").exists() && !fixture.inside.join("second").exists());
}
