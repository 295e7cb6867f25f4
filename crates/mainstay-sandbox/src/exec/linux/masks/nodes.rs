//! The watched directories: where each is, and which protected names are in it. No file is touched here.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

use super::names::{Hit, Search, is_too_deep};
use crate::identity::FileId;
use crate::inotify::{Lost, WatchId};

/// Where a directory is.
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// It is one of the tops.
    Top(usize),
    In(WatchId, OsString),
    /// Not where it was, and not found elsewhere yet.
    Unknown,
}

/// A watched directory.
pub(super) struct Node {
    pub(super) identity: FileId,
    pub(super) place: Place,
    subdirectories: Vec<WatchId>,
    pub(super) hits: Vec<Hit>,
}

/// How to reach a directory: in which top it is, and by which path.
pub(super) struct Position {
    pub(super) top: usize,
    pub(super) path: PathBuf,
    depth: usize,
}

impl Position {
    pub(super) fn below(&self, name: &OsStr) -> Self {
        Self { top: self.top, path: self.path.join(name), depth: self.depth + 1 }
    }
}

/// All watched directories, by the number of their watch.
pub(super) struct Nodes {
    search: Arc<Search>,
    all: HashMap<WatchId, Node>,
    by_identity: HashMap<FileId, WatchId>,
    /// Those whose place is unknown.
    displaced: HashSet<WatchId>,
    /// Those with protected names in them.
    with_hits: BTreeSet<WatchId>,
}

impl Nodes {
    pub(super) fn new(search: Arc<Search>) -> Self {
        Self {
            search,
            all: HashMap::new(),
            by_identity: HashMap::new(),
            displaced: HashSet::new(),
            with_hits: BTreeSet::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, watch: WatchId) -> Option<&Node> {
        self.all.get(&watch)
    }

    /// The watch of a directory. The kernel keeps the inode of a watched directory, so the number is not another's.
    pub(super) fn find(&self, identity: FileId) -> Option<WatchId> {
        self.by_identity.get(&identity).copied()
    }

    /// The directories with protected names in them.
    pub(super) fn with_hits(&self) -> impl Iterator<Item = (WatchId, &Node)> {
        self.with_hits.iter().filter_map(|watch| Some((*watch, self.all.get(watch)?)))
    }

    /// Whether every directory is where its place says.
    pub(super) fn are_placed(&self) -> bool {
        self.displaced.is_empty()
    }

    pub(super) fn add(&mut self, watch: WatchId, identity: FileId, place: Place) {
        self.by_identity.insert(identity, watch);
        let node = || Node { identity, place: Place::Unknown, subdirectories: Vec::new(), hits: Vec::new() };
        self.all.entry(watch).or_insert_with(node);
        self.put(watch, place);
    }

    /// Notes where a directory is.
    pub(super) fn put(&mut self, watch: WatchId, place: Place) {
        let Some(node) = self.all.get_mut(&watch) else { return };
        if matches!(place, Place::Unknown) {
            self.displaced.insert(watch);
        } else {
            self.displaced.remove(&watch);
        }
        node.place = place;
    }

    /// Notes what is in a directory. What was in it before and is not now has an unknown place, unless it was found
    /// elsewhere.
    pub(super) fn replace_content(&mut self, watch: WatchId, subdirectories: Vec<WatchId>, hits: Vec<Hit>) {
        let Some(node) = self.all.get_mut(&watch) else { return };
        let still: HashSet<WatchId> = subdirectories.iter().copied().collect();
        let before = std::mem::replace(&mut node.subdirectories, subdirectories);
        if hits.is_empty() {
            self.with_hits.remove(&watch);
        } else {
            self.with_hits.insert(watch);
        }
        node.hits = hits;
        self.displace(before.into_iter().filter(|other| !still.contains(other)), watch);
    }

    /// Adds one more name to hide in a directory.
    pub(super) fn add_hit(&mut self, watch: WatchId, hit: Hit) {
        if let Some(node) = self.all.get_mut(&watch) {
            node.hits.push(hit);
            self.with_hits.insert(watch);
        }
    }

    /// Those of these directories that are in `directory` have an unknown place from now on.
    fn displace(&mut self, watches: impl Iterator<Item = WatchId>, directory: WatchId) {
        for watch in watches {
            if self.is_in(watch, directory) {
                self.put(watch, Place::Unknown);
            }
        }
    }

    fn is_in(&self, watch: WatchId, directory: WatchId) -> bool {
        self.all.get(&watch).is_some_and(|node| matches!(node.place, Place::In(above, _) if above == directory))
    }

    /// Where a directory is; `None` if that is unknown, of itself or of one above. Fails if it is so deep that it should
    /// be hidden as a whole: it was moved there.
    pub(super) fn position(&self, watch: WatchId) -> Result<Option<Position>, Lost> {
        let (mut names, mut at) = (Vec::new(), watch);
        loop {
            match self.all.get(&at).map(|node| &node.place) {
                Some(Place::Top(top)) => {
                    let position = Position { top: *top, path: names.iter().rev().collect(), depth: names.len() };
                    return if self.is_too_deep(&position) { Err(Lost::Notices) } else { Ok(Some(position)) };
                }
                Some(Place::In(above, name)) => {
                    names.push(name);
                    at = *above;
                    // Directories that were moved into one another may point at each other until both are read.
                    if is_too_deep(names.len(), 0) {
                        return Err(Lost::Notices);
                    }
                }
                Some(Place::Unknown) | None => return Ok(None),
            }
        }
    }

    /// Whether a directory at this position is hidden as a whole.
    pub(super) fn is_too_deep(&self, position: &Position) -> bool {
        let top = self.search.tops[position.top].path.as_os_str().len();
        is_too_deep(position.depth, top + 1 + position.path.as_os_str().len())
    }

    /// Forgets a directory that does not exist any more; `false` if it was not known.
    pub(super) fn forget(&mut self, watch: WatchId) -> bool {
        let Some(node) = self.all.remove(&watch) else { return false };
        // A new directory may have its inode number already.
        if self.find(node.identity) == Some(watch) {
            self.by_identity.remove(&node.identity);
        }
        self.displaced.remove(&watch);
        self.with_hits.remove(&watch);
        self.displace(node.subdirectories.into_iter(), watch);
        true
    }

    /// Forgets a directory and everything in it; returns the watches.
    pub(super) fn remove_subtree(&mut self, watch: WatchId) -> Vec<WatchId> {
        let (mut left, mut removed) = (vec![watch], Vec::new());
        while let Some(watch) = left.pop() {
            if let Some(node) = self.all.get(&watch) {
                left.extend(node.subdirectories.iter().filter(|other| self.is_in(**other, watch)));
            }
            self.forget(watch);
            removed.push(watch);
        }
        removed
    }

    /// Forgets the directories whose place is unknown, and everything in them; returns the watches.
    pub(super) fn remove_displaced(&mut self) -> Vec<WatchId> {
        let displaced: Vec<WatchId> = self.displaced.iter().copied().collect();
        displaced.into_iter().flat_map(|watch| self.remove_subtree(watch)).collect()
    }
}
