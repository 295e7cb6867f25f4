//! The way through a tree: over handles alone, by all cores, in the order of the paths (compared name by name).
//!
//! Links are not followed. Protected entries and `.git` are not there. What the project ignores is left out unless it
//! is asked for. A directory that cannot be read is told of, and the walk goes on.

mod board;
mod globs;
mod rules;
mod trail;
mod way;

use crate::progress::Progress;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mainstay_sandbox::{Dir, Entry, EntryKind};
use schemars::JsonSchema;
use serde::Serialize;

use super::page::Size;

pub(crate) use globs::Globs;
pub(crate) use rules::Rules;
pub(crate) use trail::Trail;

/// Where a walk starts unless it is told.
pub(crate) fn here() -> String {
    ".".to_owned()
}

/// What is done with the entries of a tree.
pub(crate) trait Visit: Sync {
    /// What a thread needs for itself.
    type Kit;
    type Catch: Catch;

    /// Visiting an entry takes long enough to share the entries of one directory among threads.
    const SHARED: bool;

    fn kit(&self) -> Self::Kit;

    /// Whether an entry is to be visited. Asked of every entry, before anything is opened.
    fn wants(&self, seen: &Seen<'_>) -> bool;

    /// Whether a directory is to be entered.
    fn enters(&self, _seen: &Seen<'_>) -> bool {
        true
    }

    fn visit(&self, kit: &mut Self::Kit, seen: &Seen<'_>, stop: &Stop, caught: &mut Self::Catch);
}

/// What visits have brought, in the order of the tree. Asked for its size after every visit.
pub(crate) trait Catch: Default + Send {
    fn items(&self) -> usize;
    fn bytes(&self) -> usize;
    fn append(&mut self, later: Self);
}

/// Things of one kind, with the bytes they take in a reply.
#[derive(Debug)]
pub(crate) struct Pile<T> {
    pub(crate) things: Vec<T>,
    bytes: usize,
}

impl<T> Pile<T> {
    pub(crate) fn add(&mut self, thing: T, bytes: usize) {
        self.things.push(thing);
        self.bytes += bytes;
    }
}

impl<T> Default for Pile<T> {
    fn default() -> Self {
        Self { things: Vec::new(), bytes: 0 }
    }
}

impl<T: Send> Catch for Pile<T> {
    fn items(&self) -> usize {
        self.things.len()
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn append(&mut self, later: Self) {
        self.things.extend(later.things);
        self.bytes += later.bytes;
    }
}

/// An entry on the way.
pub(crate) struct Seen<'a> {
    pub(crate) directory: &'a Dir,
    pub(crate) entry: &'a Entry,
    from_root: &'a Path,
    start: usize,
}

impl Seen<'_> {
    /// The path from where the walk started.
    pub(crate) fn path(&self) -> &Path {
        Path::new(std::ffi::OsStr::from_bytes(&self.from_root.as_os_str().as_bytes()[self.start..]))
    }

    pub(crate) fn is_directory(&self) -> bool {
        self.entry.kind == EntryKind::Directory
    }

    /// The path as it is given back to callers.
    pub(crate) fn shown(&self) -> String {
        self.directory.display_child(&self.entry.name)
    }
}

/// Whether to go on.
#[derive(Clone)]
pub(crate) struct Stop {
    unneeded: Arc<AtomicBool>,
    progress: Progress,
}

impl Stop {
    pub(crate) fn new(progress: &Progress) -> Self {
        Self { unneeded: Arc::default(), progress: progress.clone() }
    }

    pub(crate) fn is_due(&self) -> bool {
        self.unneeded.load(Ordering::Relaxed) || self.progress.is_cancelled()
    }
}

/// Where a page begins.
#[derive(Debug, Clone, Default)]
pub(crate) struct Since {
    /// The last path that was seen.
    pub(crate) names: Vec<OsString>,
    /// That path itself has more to give.
    pub(crate) inclusive: bool,
}

impl Since {
    pub(crate) fn path(bytes: &[u8], inclusive: bool) -> Self {
        let names = bytes.split(|byte| *byte == b'/').map(|name| OsString::from_vec(name.to_vec())).collect();
        Self { names, inclusive }
    }
}

pub(crate) struct Walk {
    pub(crate) since: Option<Since>,
    /// Also what the project ignores.
    pub(crate) ignored: bool,
    /// How many levels are seen; the entries of the start are the first.
    pub(crate) depth: usize,
    pub(crate) size: Size,
    pub(crate) progress: Progress,
}

/// Directories that could not be read.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Unread {
    /// How many there are.
    count: u64,
    /// Why, for the first of them.
    reasons: Vec<String>,
}

/// What a walk brought home.
#[derive(Debug, Default)]
pub(crate) struct Harvest<C> {
    pub(crate) caught: C,
    unread: Unread,
}

impl<C> Harvest<C> {
    /// For the reply: nothing if there is nothing to tell.
    pub(crate) fn into_parts(self) -> (C, Option<Unread>) {
        (self.caught, Some(self.unread).filter(|unread| unread.count > 0))
    }
}

impl<C: Catch> Catch for Harvest<C> {
    fn items(&self) -> usize {
        self.caught.items()
    }

    fn bytes(&self) -> usize {
        self.caught.bytes()
    }

    fn append(&mut self, later: Self) {
        const MOST_REASONS: usize = 5;
        self.caught.append(later.caught);
        self.unread.count += later.unread.count;
        self.unread.reasons.extend(later.unread.reasons);
        self.unread.reasons.truncate(MOST_REASONS);
    }
}

#[cfg(test)]
mod tests;
