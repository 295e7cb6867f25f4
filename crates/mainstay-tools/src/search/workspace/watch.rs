//! Which files of a root have changed since the last look.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mainstay_core::Result;
use mainstay_sandbox::{Dir, DirChange, DirWatchId, DirWatcher, WatchError};
use parking_lot::Mutex;

use crate::progress::Progress;
use crate::walk::page::PageLimits;
use crate::walk::{Collected, EntryFilter, StopSignal, Visitor, Walk, WalkEntry};

/// With more than this, looking at all files is faster.
const MAX_PATHS: usize = 1000;

/// Files that say what is ignored: a change of one concerns everything beside it.
const RULES: [&str; 2] = [".gitignore", ".ignore"];

/// Paths from the root that may have changed.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Changes {
    pub(super) files: BTreeSet<PathBuf>,
    /// Directories of which anything may have changed.
    pub(super) directories: BTreeSet<PathBuf>,
}

impl Changes {
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.directories.is_empty()
    }

    /// Whether a document, by its path from the root, may have changed. Asked for every document of an index.
    pub(super) fn concern(&self) -> impl Fn(&str) -> bool {
        let files: HashSet<&str> = self.files.iter().filter_map(|path| path.to_str()).collect();
        let directories: Vec<&str> = self.directories.iter().filter_map(|path| path.to_str()).collect();
        let is_in = |path: &str, directory: &str| {
            let below = path.strip_prefix(directory);
            directory.is_empty() || below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
        };
        move |path| files.contains(path) || directories.iter().any(|directory| is_in(path, directory))
    }
}

/// The watched directories of a root: those that a walk of sources enters.
pub(super) struct Watch {
    watcher: DirWatcher,
    /// Their paths from the root. A directory that was moved has its old one until it is walked again.
    directories: HashMap<DirWatchId, PathBuf>,
    changes: Changes,
    /// Reports were missed, or are too many.
    is_incomplete: bool,
}

impl Watch {
    /// Watches everything below the start. What changes after this returns is reported.
    pub(super) fn start(start: &Arc<Dir>, progress: &Progress) -> Result<Result<Self, WatchError>> {
        let watcher = match DirWatcher::new(start) {
            Ok(watcher) => watcher,
            Err(error) => return Ok(Err(error)),
        };
        let mut watch =
            Self { watcher, directories: HashMap::new(), changes: Changes::default(), is_incomplete: false };
        Ok(watch.add(start, Path::new(""), progress)?.map(|()| watch))
    }

    /// Watches a directory and those in it.
    pub(super) fn add(&mut self, start: &Arc<Dir>, path: &Path, progress: &Progress) -> Result<Result<(), WatchError>> {
        match self.watcher.add(start) {
            Ok(id) => self.directories.insert(id, path.to_owned()),
            Err(error) => return Ok(Err(error)),
        };
        let adder = Adder { watcher: &self.watcher, failure: Mutex::new(None) };
        let walk = walk(EntryFilter::Directory, progress.part());
        let found = walk.run(start, &adder)?;
        if let Some(error) = adder.failure.into_inner() {
            return Ok(Err(error));
        }
        self.directories.extend(found.list.into_iter().map(|(id, below)| (id, path.join(below))));
        Ok(Ok(()))
    }

    /// Takes in what is reported. Called now and then even if nobody searches, because the kernel keeps only so many
    /// reports.
    pub(super) fn collect(&mut self) -> Result<(), WatchError> {
        match self.watcher.changes() {
            Ok(changes) => changes.into_iter().for_each(|change| self.note(change)),
            Err(WatchError::Missed) => self.is_incomplete = true,
            Err(error) => return Err(error),
        }
        if self.changes.files.len() + self.changes.directories.len() > MAX_PATHS {
            self.is_incomplete = true;
        }
        if self.is_incomplete {
            self.changes = Changes::default();
        }
        Ok(())
    }

    /// What may have changed since the last time; `None` if that is not known.
    pub(super) fn take(&mut self) -> Option<Changes> {
        let changes = std::mem::take(&mut self.changes);
        Some(changes).filter(|_| !self.is_incomplete)
    }

    fn note(&mut self, change: DirChange) {
        let Some(directory) = self.directories.get(&change.directory) else { return };
        if change.is_gone {
            self.directories.remove(&change.directory);
            return;
        }
        // About the directory itself: the report about its name in the directory above says what to look at.
        let Some(name) = change.name else { return };
        if change.is_directory {
            self.changes.directories.insert(directory.join(name));
        } else if RULES.iter().any(|rules| name == *rules) {
            self.changes.directories.insert(directory.clone());
        } else {
            self.changes.files.insert(directory.join(name));
        }
    }
}

/// A walk of sources through everything.
pub(super) fn walk(kind: EntryFilter, progress: Progress) -> Walk {
    let (ignored, sources_only) = (false, true);
    Walk {
        globs: None,
        kind,
        resume: None,
        ignored,
        sources_only,
        depth: usize::MAX,
        limits: PageLimits::NONE,
        progress,
    }
}

/// Watches the directories that a walk comes to.
struct Adder<'a> {
    watcher: &'a DirWatcher,
    failure: Mutex<Option<WatchError>>,
}

impl Visitor for Adder<'_> {
    type Worker = ();
    type Item = (DirWatchId, PathBuf);
    const PARALLEL_ENTRIES: bool = false;

    fn worker(&self) {}

    fn visit(&self, _worker: &mut (), found: &WalkEntry<'_>, _stop: &StopSignal, all: &mut Collected<Self::Item>) {
        // A directory that cannot be opened cannot be indexed either.
        let Ok(directory) = found.directory.child(&found.entry.name) else { return };
        match self.watcher.add(&directory) {
            Ok(id) => all.add((id, found.path().to_owned()), 1, 0),
            Err(error) => *self.failure.lock() = Some(error),
        }
    }
}
