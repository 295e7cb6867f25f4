use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use mainstay_core::Kind;
use mainstay_sandbox::Dir;

use super::page::PageLimits;
use super::traversal::MAX_DEPTH;
use super::*;
use crate::progress::Progress;
use crate::testing::SampleWorkspace;

/// Records every path it visits, and may cancel the walk at one of them.
struct RecordingVisitor {
    paths: Mutex<Vec<String>>,
    last: Option<&'static str>,
    progress: Progress,
}

impl RecordingVisitor {
    fn new() -> Self {
        Self { paths: Mutex::default(), last: None, progress: Progress::default() }
    }
}

impl Visitor for RecordingVisitor {
    type Worker = ();
    type Item = Vec<u8>;
    const PARALLEL_ENTRIES: bool = true;

    fn worker(&self) {}

    fn visit(&self, _worker: &mut (), found: &WalkEntry<'_>, _stop: &StopSignal, collected: &mut Collected<Vec<u8>>) {
        if self.last.is_some_and(|last| found.entry.name == last) {
            self.progress.cancel();
        }
        self.paths.lock().unwrap().push(found.path().display().to_string());
        collected.add(found.path().as_os_str().as_bytes().to_vec(), 1, 1);
    }
}

fn walk(items: usize) -> Walk {
    let limits = PageLimits { items, bytes: usize::MAX };
    let (kind, progress) = (EntryFilter::Any, Progress::default());
    Walk { globs: None, kind, resume: None, ignored: false, sources_only: false, depth: usize::MAX, limits, progress }
}

fn start(sample: &SampleWorkspace, path: &str) -> Arc<Dir> {
    Arc::new(sample.workspace().find(path).unwrap().open_dir().unwrap())
}

#[test]
fn the_order_does_not_depend_on_the_threads() {
    let sample = SampleWorkspace::with(&[]);
    let mut expected = Vec::new();
    for a in 0..20 {
        expected.push(format!("{a:02}").into_bytes());
        for b in 0..100 {
            sample.write(format!("{a:02}/{b:02}"), b"");
            expected.push(format!("{a:02}/{b:02}").into_bytes());
        }
    }
    for _ in 0..20 {
        let all = walk(10_000).run(&start(&sample, "."), &RecordingVisitor::new()).unwrap().list;
        assert!(all == expected, "{} of {}", all.len(), expected.len());
    }
    for items in [1, 150, 1999] {
        let some = walk(items).run(&start(&sample, "."), &RecordingVisitor::new()).unwrap().list;
        assert!(some.len() > items, "there is more, and that shows");
        assert!(some == expected[..some.len()], "{items}");
    }
}

#[test]
fn a_walk_resumes_after_any_path_even_one_that_was_removed() {
    let sample = SampleWorkspace::with(&[("a/b/c", ""), ("a/d", ""), ("e", "")]);
    sample.write(std::ffi::OsStr::from_bytes(b"a/b/\xff"), b"");
    let all: [&[u8]; 6] = [b"a", b"a/b", b"a/b/c", b"a/b/\xff", b"a/d", b"e"];
    let behind = |path: &[u8], inclusive| {
        let resume = Some(ResumePoint::at(path, inclusive));
        Walk { resume, ..walk(100) }.run(&start(&sample, "."), &RecordingVisitor::new()).unwrap().list
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
fn a_cancelled_walk_stops() {
    let sample = SampleWorkspace::with(&[]);
    for index in 0..2000 {
        sample.write(format!("{:02}/{index:04}", index / 100), b"");
    }
    let visitor = RecordingVisitor { last: Some("0100"), ..RecordingVisitor::new() };
    let walk = Walk { progress: visitor.progress.clone(), ..walk(10_000) };
    assert_eq!(walk.run(&start(&sample, "."), &visitor).unwrap_err().kind, Kind::Cancelled);
    assert!(visitor.paths.into_inner().unwrap().len() < 2000);
}

#[test]
fn a_tree_that_is_too_deep_is_walked_down_to_the_limit() {
    let sample = SampleWorkspace::with(&[("after", "")]);
    let mut deep = PathBuf::new();
    deep.extend(std::iter::repeat_n("d", MAX_DEPTH + 10));
    sample.write(&deep, b"");
    let collected = walk(10_000).run(&start(&sample, "."), &RecordingVisitor::new()).unwrap();
    assert_eq!(collected.list.len(), MAX_DEPTH + 1);
    let unread = collected.unread.if_any().unwrap();
    assert!(unread.count == 1 && unread.reasons[0].contains("levels down"), "{unread:?}");
    let below = ["d"; 20].join("/");
    assert_eq!(walk(10_000).run(&start(&sample, &below), &RecordingVisitor::new()).unwrap().list.len(), MAX_DEPTH - 10);
}

#[test]
fn ignore_rules_above_the_start_apply() {
    let sample = SampleWorkspace::with(&[
        (".gitignore", "*.log\n/a/b/no\n"),
        ("a/b/x.log", ""),
        ("a/b/no", ""),
        ("a/b/yes", ""),
    ]);
    let seen = walk(100).run(&start(&sample, "a/b"), &RecordingVisitor::new()).unwrap().list;
    assert_eq!(seen, [b"yes"]);
}
