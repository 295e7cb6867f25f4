use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::Mutex;

use super::way::DEEPEST;
use super::*;
use crate::files::sample::Sample;
use mainstay_core::Kind;

/// Notes every path it sees, and may call the walk off at one of them.
struct Notes {
    paths: Mutex<Vec<String>>,
    last: Option<&'static str>,
    progress: Progress,
}

impl Notes {
    fn new() -> Self {
        Self { paths: Mutex::default(), last: None, progress: Progress::default() }
    }
}

impl Visit for Notes {
    type Kit = ();
    type Catch = Pile<Vec<u8>>;
    const SHARED: bool = true;

    fn kit(&self) {}

    fn wants(&self, _seen: &Seen<'_>) -> bool {
        true
    }

    fn visit(&self, _kit: &mut (), seen: &Seen<'_>, _stop: &Stop, caught: &mut Pile<Vec<u8>>) {
        if self.last.is_some_and(|last| seen.entry.name == last) {
            self.progress.cancel();
        }
        self.paths.lock().unwrap().push(seen.shown());
        caught.add(seen.path().as_os_str().as_bytes().to_vec(), 1);
    }
}

fn walk(items: usize) -> Walk {
    let size = Size { items, bytes: usize::MAX };
    Walk { since: None, ignored: false, depth: usize::MAX, size, progress: Progress::default() }
}

fn start(sample: &Sample, path: &str) -> Dir {
    sample.desk().workspace.find(path).unwrap().open_dir().unwrap()
}

#[test]
fn every_thread_gives_the_same_order() {
    let sample = Sample::with(&[]);
    let mut expected = Vec::new();
    for a in 0..20 {
        expected.push(format!("{a:02}").into_bytes());
        for b in 0..100 {
            sample.write(format!("{a:02}/{b:02}"), b"");
            expected.push(format!("{a:02}/{b:02}").into_bytes());
        }
    }
    for _ in 0..20 {
        let all = walk(10_000).run(start(&sample, "."), &Notes::new()).unwrap().caught.things;
        assert!(all == expected, "{} of {}", all.len(), expected.len());
    }
    for items in [1, 150, 1999] {
        let some = walk(items).run(start(&sample, "."), &Notes::new()).unwrap().caught.things;
        assert!(some.len() > items, "there is more, and that shows");
        assert!(some == expected[..some.len()], "{items}");
    }
}

#[test]
fn a_walk_goes_on_behind_any_path_even_one_that_has_gone() {
    let sample = Sample::with(&[("a/b/c", ""), ("a/d", ""), ("e", "")]);
    sample.write(std::ffi::OsStr::from_bytes(b"a/b/\xff"), b"");
    let all: [&[u8]; 6] = [b"a", b"a/b", b"a/b/c", b"a/b/\xff", b"a/d", b"e"];
    let behind = |path: &[u8], inclusive| {
        let since = Some(Since::path(path, inclusive));
        Walk { since, ..walk(100) }.run(start(&sample, "."), &Notes::new()).unwrap().caught.things
    };
    for (at, path) in all.iter().enumerate() {
        assert_eq!(behind(path, false), all[at + 1..], "{path:?}");
        assert_eq!(behind(path, true), all[at..], "{path:?}");
    }
    assert_eq!(behind(b"a/b/aaa/x", false), all[2..]);
    assert_eq!(behind(b"a/c", false), all[4..]);
    assert_eq!(behind(b"a/d/x", false), all[5..]);
    assert!(behind(b"f", false).is_empty());
}

#[test]
fn a_walk_that_is_called_off_stops() {
    let sample = Sample::with(&[]);
    for index in 0..2000 {
        sample.write(format!("{:02}/{index:04}", index / 100), b"");
    }
    let notes = Notes { last: Some("0100"), ..Notes::new() };
    let walk = Walk { progress: notes.progress.clone(), ..walk(10_000) };
    assert_eq!(walk.run(start(&sample, "."), &notes).unwrap_err().kind, Kind::Cancelled);
    assert!(notes.paths.into_inner().unwrap().len() < 2000);
}

#[test]
fn a_tree_too_deep_is_walked_as_far_as_it_goes() {
    let sample = Sample::with(&[("after", "")]);
    let mut deep = PathBuf::new();
    deep.extend(std::iter::repeat_n("d", DEEPEST + 10));
    sample.write(&deep, b"");
    let harvest = walk(10_000).run(start(&sample, "."), &Notes::new()).unwrap();
    let (caught, unread) = harvest.into_parts();
    assert_eq!(caught.things.len(), DEEPEST + 1);
    let unread = unread.unwrap();
    assert!(unread.count == 1 && unread.reasons[0].contains("levels down"), "{unread:?}");
    let below = ["d"; 20].join("/");
    assert_eq!(walk(10_000).run(start(&sample, &below), &Notes::new()).unwrap().caught.things.len(), DEEPEST - 10);
}

#[test]
fn rules_of_directories_above_the_start_hold() {
    let sample =
        Sample::with(&[(".gitignore", "*.log\n/a/b/no\n"), ("a/b/x.log", ""), ("a/b/no", ""), ("a/b/yes", "")]);
    let seen = walk(100).run(start(&sample, "a/b"), &Notes::new()).unwrap().caught.things;
    assert_eq!(seen, [b"yes"]);
}
