//! The directories of the workspace and the protected names in them, kept up to date by notices from the kernel.
//!
//! A directory is watched before it is read, so what changes after the reading is noticed. Notices say only which
//! directory to read again; what is there is found out by reading. A directory that is not where it was has been moved
//! or removed: it counts as gone only when the kernel says that it is removed, or when no notice is left that could say
//! where it went. While directories keep moving, the tree may be that of several moments; [`Found`] says so.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::Mode;
use rustix::fs::inotify::WatchFlags;
use rustix::io::Errno;

use super::names::{Hit, Listing, Search};
use super::nodes::{Nodes, Place, Position};
use crate::exec::linux::mounts::{Mask, MaskKind};
use crate::identity::FileId;
use crate::inotify::{Lost, WatchId, Watcher, check_watchable, mount_points};
use crate::workspace::DIRECTORY;

/// Whether an update may end while new directories keep appearing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// No notice is left: the tree is exactly what was there at one moment.
    Settled,
    /// Everything that was known is where the tree says. What appears meanwhile is for the next update.
    Complete,
}

/// What is noticed. Changes of attributes, because a directory that cannot be read is hidden as a whole.
const NOTICED: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::ATTRIB);

/// How often changed directories are read before new ones may be left for the next update.
const PATIENT_ROUNDS: usize = 16;

/// How often they are read at all, before it is given up.
const ROUNDS: usize = 64;

/// Between the later rounds.
const PAUSE: Duration = Duration::from_millis(1);

/// All directories that are searched.
pub(super) struct WatchedTree {
    search: Arc<Search>,
    watcher: Watcher,
    nodes: Nodes,
    /// Directories that have to be read.
    changed: HashSet<WatchId>,
    /// The protected names as masks, until something changes.
    masks: Option<Vec<Mask>>,
}

/// The protected names in the tree.
pub(super) struct Found {
    pub(super) masks: Vec<Mask>,
    /// Whether they are those of one moment. If not, a directory that was moved meanwhile may be missing.
    pub(super) settled: bool,
}

/// What became of a directory that was not known.
enum Explored {
    Watched(WatchId),
    /// It cannot be searched, so it is hidden as a whole.
    Closed,
    /// It was moved or removed meanwhile.
    Vanished,
}

impl WatchedTree {
    /// Reads and watches everything. Fails if something could change without a notice.
    pub(super) fn build(search: &Arc<Search>) -> Result<Self, Lost> {
        let mounts = mount_points()?;
        let mut tree = Self {
            search: search.clone(),
            watcher: Watcher::new(NOTICED)?,
            nodes: Nodes::new(search.clone()),
            changed: HashSet::new(),
            masks: None,
        };
        for (at, top) in search.tops.iter().enumerate() {
            if tree.nodes.find(top.identity).is_some() {
                continue;
            }
            check_watchable(top.handle.as_fd(), &top.path, &mounts)?;
            let cannot = |errno| Lost::Unwatchable(format!("{} cannot be read: {errno}", top.path.display()));
            let directory = rustix::fs::openat(&top.handle, ".", DIRECTORY, Mode::empty()).map_err(cannot)?;
            let watch = tree.watch(directory.as_fd(), Place::Top(at))?.map_err(cannot)?;
            tree.changed.insert(watch);
        }
        tree.update(Until::Settled)?;
        Ok(tree)
    }

    /// Every protected name, by path, as of now. Without changes since the last time this is one system call.
    pub(super) fn masks(&mut self) -> Result<Found, Lost> {
        let settled = self.update(Until::Complete)?;
        if let Some(masks) = &self.masks {
            return Ok(Found { masks: masks.clone(), settled });
        }
        let mut masks = Vec::new();
        for (watch, node) in self.nodes.with_hits() {
            let Some(position) = self.nodes.position(watch)? else { return Err(Lost::Notices) };
            let above = self.search.tops[position.top].path.join(&position.path);
            for Hit { name, identity, directory } in &node.hits {
                let mask = self.search.names.mask(&above.join(name), *identity, *directory, MaskKind::Name);
                masks.push(mask.map_err(|_| Lost::Notices)?);
            }
        }
        self.masks = Some(masks.clone());
        Ok(Found { masks, settled })
    }

    /// Takes in what has changed, before there is so much of it that the kernel drops notices.
    pub(super) fn follow(&mut self) -> Result<(), Lost> {
        self.update(Until::Complete).map(drop)
    }

    pub(super) fn has_notices(&self) -> bool {
        self.watcher.has_notices()
    }

    /// Takes in what has changed since the last time; returns whether the tree is that of one moment.
    fn update(&mut self, until: Until) -> Result<bool, Lost> {
        let mut read = HashSet::new();
        let mut confirmed = false;
        for round in 0..ROUNDS {
            let noticed = self.take_notices()?;
            confirmed &= !noticed;
            if !noticed && self.nothing_to_read()? {
                // A directory is missed before the notice of its move is queued. Whoever moves it holds the lock of the
                // directory it was in until then, so reading that one again waits for the notice.
                if !self.nodes.are_placed() && !std::mem::replace(&mut confirmed, true) {
                    self.changed.extend(read.iter().filter(|watch| self.nodes.get(**watch).is_some()));
                    self.masks = None;
                    self.read_changed()?;
                    continue;
                }
                // No notice is left that could say where they went: they have left the workspace.
                for watch in self.nodes.remove_displaced() {
                    self.watcher.remove(watch);
                }
                self.changed.clear();
                return Ok(true);
            }
            self.masks = None;
            read.extend(self.changed.iter().copied());
            self.read_changed()?;
            if round >= PATIENT_ROUNDS {
                if until == Until::Complete && self.nodes.are_placed() && self.changed.is_empty() {
                    return Ok(false);
                }
                std::thread::sleep(PAUSE);
            }
        }
        Err(Lost::Notices)
    }

    /// Marks what has to be read again; `false` if nothing was noticed.
    fn take_notices(&mut self) -> Result<bool, Lost> {
        let mut changed = HashSet::new();
        let mut gone = Vec::new();
        self.watcher.read(|notice| {
            // Those about files matter only if their names are protected.
            let matters = notice.is_directory || notice.name.is_none_or(|name| self.search.names.protects(name));
            if notice.is_gone {
                changed.remove(&notice.watch);
                gone.push(notice.watch);
            } else if matters {
                changed.insert(notice.watch);
            }
        })?;
        let mut noticed = false;
        for watch in gone {
            // The kernel may give its inode number to a new directory from now on.
            noticed |= self.nodes.forget(watch);
        }
        for watch in changed {
            if self.nodes.get(watch).is_some() {
                noticed = true;
                self.changed.insert(watch);
            }
        }
        Ok(noticed)
    }

    /// Whether all that has to be read is in directories whose own place is unknown.
    fn nothing_to_read(&self) -> Result<bool, Lost> {
        for watch in &self.changed {
            if self.nodes.position(*watch)?.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads what has changed, as far as it can be found.
    fn read_changed(&mut self) -> Result<(), Lost> {
        for watch in std::mem::take(&mut self.changed) {
            let Some(node) = self.nodes.get(watch) else { continue };
            let (identity, place) = (node.identity, node.place.clone());
            let Some(position) = self.nodes.position(watch)? else {
                self.changed.insert(watch);
                continue;
            };
            let path = if position.path.as_os_str().is_empty() { Path::new(".") } else { &position.path };
            let opened = rustix::fs::openat(&self.search.tops[position.top].handle, path, DIRECTORY, Mode::empty());
            match opened {
                // Comparing identities makes up for links that were followed on the way.
                Ok(directory) if FileId::of(&directory) == Ok(identity) => {
                    if !self.read(watch, directory.as_fd(), &position)? {
                        self.hide_whole(watch)?;
                    }
                }
                Err(Errno::ACCESS) => self.hide_whole(watch)?,
                Ok(_) | Err(_) => {
                    // It was moved, or something above it was. Whoever did that holds the lock of the directory above
                    // until the notices are queued, and reading that one waits for the lock.
                    self.changed.insert(watch);
                    if let Place::In(above, _) = place {
                        self.changed.insert(above);
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads an open directory, and everything in it that is new. `false` if its entries cannot be looked at.
    fn read(&mut self, watch: WatchId, directory: BorrowedFd<'_>, position: &Position) -> Result<bool, Lost> {
        let Listing { subdirectories, mut hits, raced } = match self.search.names.read(directory) {
            Ok(listing) => listing,
            Err(Errno::ACCESS) => return Ok(false),
            // It was removed while it was being read: the notice comes.
            Err(Errno::NOENT) => {
                self.changed.insert(watch);
                return Ok(true);
            }
            Err(errno) => return Err(Lost::Unwatchable(format!("a directory cannot be read: {errno}"))),
        };
        if raced {
            self.changed.insert(watch);
        }
        let mut inside = Vec::with_capacity(subdirectories.len());
        for (name, identity) in subdirectories {
            if self.search.is_elsewhere(identity, position.top) {
                continue;
            }
            if let Some(known) = self.nodes.find(identity) {
                self.nodes.put(known, Place::In(watch, name));
                inside.push(known);
                continue;
            }
            match self.explore(watch, directory, &name, position)? {
                Explored::Watched(new) => inside.push(new),
                Explored::Closed => hits.push(Hit { name, identity, directory: true }),
                // There is a notice about this directory, which says so.
                Explored::Vanished => {
                    self.changed.insert(watch);
                }
            }
        }
        self.nodes.replace_content(watch, inside, hits);
        Ok(true)
    }

    /// Watches and reads a directory that was not known.
    fn explore(
        &mut self,
        above: WatchId,
        directory: BorrowedFd<'_>,
        name: &OsStr,
        position: &Position,
    ) -> Result<Explored, Lost> {
        let position = position.below(name);
        if self.nodes.is_too_deep(&position) {
            return Ok(Explored::Closed);
        }
        let opened = match rustix::fs::openat(directory, name, DIRECTORY, Mode::empty()) {
            Ok(opened) => opened,
            Err(Errno::ACCESS) => return Ok(Explored::Closed),
            Err(_) => return Ok(Explored::Vanished),
        };
        let new = match self.watch(opened.as_fd(), Place::In(above, name.to_owned()))? {
            Ok(new) => new,
            Err(Errno::ACCESS) => return Ok(Explored::Closed),
            Err(_) => return Ok(Explored::Vanished),
        };
        if self.read(new, opened.as_fd(), &position)? {
            return Ok(Explored::Watched(new));
        }
        self.remove_subtree(new);
        Ok(Explored::Closed)
    }

    /// Watches an open directory. The inner error is of this directory alone.
    fn watch(&mut self, directory: BorrowedFd<'_>, place: Place) -> Result<Result<WatchId, Errno>, Lost> {
        let identity = match FileId::of(directory) {
            Ok(identity) => identity,
            Err(errno) => return Ok(Err(errno)),
        };
        let watch = self.watcher.add(directory, self.nodes.len() + 1)?;
        if let Ok(watch) = watch {
            self.nodes.add(watch, identity, place);
        }
        Ok(watch)
    }

    /// Hides a directory that cannot be read: a command could change its mode.
    fn hide_whole(&mut self, watch: WatchId) -> Result<(), Lost> {
        let Some(node) = self.nodes.get(watch) else { return Ok(()) };
        match node.place.clone() {
            Place::Top(_) => return Err(Lost::Unwatchable("a root cannot be read".to_owned())),
            Place::Unknown => {
                self.changed.insert(watch);
            }
            Place::In(above, name) => {
                let hit = Hit { name, identity: node.identity, directory: true };
                self.nodes.add_hit(above, hit);
                self.remove_subtree(watch);
            }
        }
        Ok(())
    }

    fn remove_subtree(&mut self, watch: WatchId) {
        for watch in self.nodes.remove_subtree(watch) {
            self.watcher.remove(watch);
        }
    }
}
