//! What a walk calls for each entry, the paths of the entries, and what the walk brings back.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mainstay_sandbox::{Dir, Entry, EntryKind};

use crate::progress::Progress;

/// What is done with the selected entries of a tree. Shared by all threads of a walk.
pub(crate) trait Visitor: Sync {
    /// What each thread keeps for itself, such as buffers.
    type Worker;
    type Item: Send;

    /// Whether visiting an entry takes so long that the entries of one directory are worth sharing among threads.
    const PARALLEL_ENTRIES: bool;

    fn worker(&self) -> Self::Worker;

    /// Whether visits have turned out to take long. Until then the threads of a walk cost more than they bring.
    fn is_slow(&self) -> bool {
        true
    }

    /// Adds what comes of an entry to `all`. Long work asks `stop` from time to time.
    fn visit(
        &self,
        worker: &mut Self::Worker,
        found: &WalkEntry<'_>,
        stop: &StopSignal,
        all: &mut Collected<Self::Item>,
    );
}

/// What visits have collected, in path order. Its size is checked after every visit, to end a page in time.
#[derive(Debug)]
pub(crate) struct Collected<T> {
    pub(crate) list: Vec<T>,
    /// What counts towards the limits of a page.
    pub(crate) items: usize,
    pub(crate) bytes: usize,
    /// Files whose content was searched, and how many of them are binary; a walk that looks only at names has none.
    pub(crate) searched: u64,
    pub(crate) binary: u64,
    /// Files that could not be opened or not be searched to their end.
    pub(crate) unsearched: u64,
    pub(crate) unread: Unread,
}

impl<T> Collected<T> {
    /// Adds an item that counts as so many and takes so many bytes in a reply.
    pub(crate) fn add(&mut self, item: T, items: usize, bytes: usize) {
        self.list.push(item);
        self.items += items;
        self.bytes += bytes;
    }

    /// Adds what was collected later in path order.
    pub(super) fn append(&mut self, later: Self) {
        const MAX_REASONS: usize = 5;
        self.list.extend(later.list);
        self.items += later.items;
        self.bytes += later.bytes;
        self.searched += later.searched;
        self.binary += later.binary;
        self.unsearched += later.unsearched;
        self.unread.count += later.unread.count;
        self.unread.reasons.extend(later.unread.reasons);
        self.unread.reasons.truncate(MAX_REASONS);
    }
}

impl<T> Default for Collected<T> {
    fn default() -> Self {
        let unread = Unread::default();
        Self { list: Vec::new(), items: 0, bytes: 0, searched: 0, binary: 0, unsearched: 0, unread }
    }
}

/// Collects the path of every selected entry, relative to the start and as bytes, with its kind.
pub(crate) struct PathCollector;

impl Visitor for PathCollector {
    type Worker = ();
    type Item = (Vec<u8>, EntryKind);
    const PARALLEL_ENTRIES: bool = false;

    fn worker(&self) {}

    fn visit(&self, _worker: &mut (), found: &WalkEntry<'_>, _stop: &StopSignal, all: &mut Collected<Self::Item>) {
        let path = found.path().as_os_str().as_bytes().to_vec();
        let bytes = path.len();
        all.add((path, found.entry.kind), 1, bytes);
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
}

/// Tells a visit that its result is not needed any more: the page is full, or the call was cancelled.
#[derive(Clone)]
pub(crate) struct StopSignal {
    pub(crate) page_full: Arc<AtomicBool>,
    pub(crate) progress: Progress,
}

impl StopSignal {
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
#[derive(Debug, Default, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Unread {
    /// Number of directories.
    pub(super) count: u64,
    /// Reasons, for the first of them.
    pub(super) reasons: Vec<String>,
}

impl Unread {
    /// `None` if every directory could be read.
    pub(crate) fn if_any(self) -> Option<Self> {
        Some(self).filter(|unread| unread.count > 0)
    }
}

/// The path of a directory from its root, with room for the name of an entry: a directory may have a hundred thousand
/// entries, whose paths are built in one buffer.
pub(crate) struct PathBuffer {
    bytes: Vec<u8>,
    /// The length of the directory's part, with its slash.
    pub(super) base: usize,
}

impl PathBuffer {
    pub(crate) fn new(directory: &Dir) -> Self {
        let mut bytes = Vec::new();
        for name in directory.names() {
            bytes.extend_from_slice(name.as_bytes());
            bytes.push(b'/');
        }
        Self { base: bytes.len(), bytes }
    }

    pub(crate) fn directory(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.bytes[..self.base.saturating_sub(1)]))
    }

    /// The path of an entry. It replaces the entry before it.
    pub(crate) fn join(&mut self, name: &OsStr) -> &Path {
        self.bytes.truncate(self.base);
        self.bytes.extend_from_slice(name.as_bytes());
        Path::new(OsStr::from_bytes(&self.bytes))
    }
}
