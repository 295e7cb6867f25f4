//! What a walk calls for each entry, and what it brings back.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mainstay_sandbox::{Dir, Entry, EntryKind};
use schemars::JsonSchema;
use serde::Serialize;

use crate::progress::Progress;

/// What is done with the entries of a tree. Shared by all threads of a walk.
pub(crate) trait Visitor: Sync {
    /// What each thread keeps for itself, such as buffers.
    type Worker;
    type Collector: Collector;

    /// Whether visiting an entry takes so long that the entries of one directory are worth sharing among threads.
    const PARALLEL_ENTRIES: bool;

    fn worker(&self) -> Self::Worker;

    /// Whether an entry is visited. Called for every entry, before anything is opened.
    fn wants(&self, found: &WalkEntry<'_>) -> bool;

    /// Whether a directory is entered.
    fn enters(&self, _found: &WalkEntry<'_>) -> bool {
        true
    }

    /// Adds what comes of an entry to `all`. Long work asks `stop` from time to time.
    fn visit(&self, worker: &mut Self::Worker, found: &WalkEntry<'_>, stop: &StopSignal, all: &mut Self::Collector);
}

/// What visits have collected, in path order. Its size is asked for after every visit, to end a page in time.
pub(crate) trait Collector: Default + Send {
    fn items(&self) -> usize;
    fn bytes(&self) -> usize;
    /// Adds what was collected later in path order.
    fn append(&mut self, later: Self);
}

/// A list of items, with the bytes they take in a reply.
#[derive(Debug)]
pub(crate) struct Collected<T> {
    pub(crate) list: Vec<T>,
    bytes: usize,
}

impl<T> Collected<T> {
    pub(crate) fn add(&mut self, item: T, bytes: usize) {
        self.list.push(item);
        self.bytes += bytes;
    }
}

impl<T> Default for Collected<T> {
    fn default() -> Self {
        Self { list: Vec::new(), bytes: 0 }
    }
}

impl<T: Send> Collector for Collected<T> {
    fn items(&self) -> usize {
        self.list.len()
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn append(&mut self, later: Self) {
        self.list.extend(later.list);
        self.bytes += later.bytes;
    }
}

/// An entry that a walk has come to.
pub(crate) struct WalkEntry<'a> {
    pub(crate) directory: &'a Dir,
    pub(crate) entry: &'a Entry,
    pub(super) path_from_root: &'a Path,
    /// The length of the part of the path above the start of the walk, with its slash.
    pub(super) start: usize,
}

impl WalkEntry<'_> {
    /// The path relative to the start of the walk.
    pub(crate) fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.path_from_root.as_os_str().as_bytes()[self.start..]))
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.entry.kind == EntryKind::Directory
    }

    /// The path as other tools take it.
    pub(crate) fn display(&self) -> String {
        self.directory.display_child(&self.entry.name)
    }
}

/// Tells a visit that its result is not needed any more: the page is full, or the call was cancelled.
#[derive(Clone)]
pub(crate) struct StopSignal {
    pub(super) page_full: Arc<AtomicBool>,
    pub(super) progress: Progress,
}

impl StopSignal {
    pub(crate) fn new(progress: &Progress) -> Self {
        Self { page_full: Arc::default(), progress: progress.clone() }
    }

    pub(crate) fn is_set(&self) -> bool {
        self.page_full.load(Ordering::Relaxed) || self.progress.is_cancelled()
    }
}

/// Where a page begins.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResumePoint {
    /// The last path of the page before. It need not exist any more.
    pub(crate) names: Vec<OsString>,
    /// Whether that path is visited again, because the page ended inside it.
    pub(crate) inclusive: bool,
}

impl ResumePoint {
    pub(crate) fn at(path: &[u8], inclusive: bool) -> Self {
        let names = path.split(|byte| *byte == b'/').map(|name| OsString::from_vec(name.to_vec())).collect();
        Self { names, inclusive }
    }
}

/// Directories that could not be read.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Unread {
    /// Number of directories.
    pub(super) count: u64,
    /// Reasons, for the first of them.
    pub(super) reasons: Vec<String>,
}

/// What a walk brings back.
#[derive(Debug, Default)]
pub(crate) struct WalkOutcome<C> {
    pub(crate) collected: C,
    pub(super) unread: Unread,
}

impl<C> WalkOutcome<C> {
    /// The parts for the reply; `None` if every directory could be read.
    pub(crate) fn into_parts(self) -> (C, Option<Unread>) {
        (self.collected, Some(self.unread).filter(|unread| unread.count > 0))
    }
}

impl<C: Collector> Collector for WalkOutcome<C> {
    fn items(&self) -> usize {
        self.collected.items()
    }

    fn bytes(&self) -> usize {
        self.collected.bytes()
    }

    fn append(&mut self, later: Self) {
        const MAX_REASONS: usize = 5;
        self.collected.append(later.collected);
        self.unread.count += later.unread.count;
        self.unread.reasons.extend(later.unread.reasons);
        self.unread.reasons.truncate(MAX_REASONS);
    }
}
