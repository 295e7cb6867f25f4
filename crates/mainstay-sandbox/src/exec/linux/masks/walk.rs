//! Finds the protected names by looking at every directory, where notices of changes cannot be relied on.
//!
//! A walk runs before every command then, so a directory that has not changed since it was last read is not read again.
//! [`Walker`] decides when a result can be trusted; [`Walk`] is one pass over the directories.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Error, Result};
use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use super::known_names::KnownNames;
use super::names::{Hit, Listing, Search, is_too_deep};
use crate::exec::linux::mounts::{Mask, MaskKind};
use crate::identity::FileId;
use crate::workspace::{DIRECTORY, Metadata};

/// Long enough for one change to be distinguished from the next within a few passes, see `is_recent`.
const BETWEEN_PASSES: Duration = Duration::from_millis(10);

/// How often everything is looked at again if a known name is missing.
const PASSES: usize = 16;

/// How often a directory is read again that changes while it is being read.
const ATTEMPTS: usize = 64;

/// Finds protected names again and again, and remembers the directories that did not change.
pub(super) struct Walker {
    search: Arc<Search>,
    known: HashMap<FileId, Arc<KnownDir>>,
}

impl Walker {
    pub(super) fn new(search: Arc<Search>) -> Self {
        Self { search, known: HashMap::new() }
    }

    /// Forgets everything, and with it the memory it takes.
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.search.clone());
    }

    /// Every protected name in the roots and in the paths that a setting adds.
    ///
    /// A name that is known and missing now may have been moved while the walk was running: another command can do that
    /// on purpose. Where its handle does not tell where it is, it counts as gone if two passes saw the same directories,
    /// none of which changed in between: then everything was where they saw it.
    pub(super) fn masks(&mut self, names: &KnownNames) -> Result<Vec<Mask>> {
        let mut seen = self.pass()?;
        let mut passes = 0;
        while names.missing(&seen.masks).unlocated {
            passes += 1;
            if passes > PASSES {
                return Err(changing_too_fast(&self.search.tops[0].path));
            }
            std::thread::sleep(BETWEEN_PASSES);
            let was_calm = seen.calm;
            seen = self.pass()?;
            if was_calm && seen.calm && same(&seen.before, &self.known) {
                break;
            }
        }
        Ok(seen.masks)
    }

    /// Reads everything once, with the help of what the previous pass knew.
    fn pass(&mut self) -> Result<Pass> {
        let mut walk =
            Walk { walker: self, top: 0, new: HashMap::with_capacity(self.known.len()), masks: Vec::new(), calm: true };
        for (at, top) in self.search.tops.iter().enumerate() {
            walk.top = at;
            walk.begin(top.handle.as_fd(), &top.path)?;
        }
        let Walk { new, masks, calm, .. } = walk;
        let before = std::mem::replace(&mut self.known, new);
        Ok(Pass { masks, before, calm })
    }
}

/// The result of reading everything once.
struct Pass {
    masks: Vec<Mask>,
    /// The directories as the previous pass saw them.
    before: HashMap<FileId, Arc<KnownDir>>,
    /// Whether no directory had changed so recently that another change might not show.
    calm: bool,
}

/// Whether two passes saw the same directories, all of them unchanged.
fn same(before: &HashMap<FileId, Arc<KnownDir>>, now: &HashMap<FileId, Arc<KnownDir>>) -> bool {
    let unchanged = |(identity, known): (&FileId, &Arc<KnownDir>)| {
        before.get(identity).is_some_and(|before| before.metadata == known.metadata)
    };
    before.len() == now.len() && now.iter().all(unchanged)
}

/// A directory that has been read.
#[derive(Debug)]
struct KnownDir {
    /// While it stays the same, so do the entries.
    metadata: Metadata,
    listing: Listing,
}

/// One pass over all directories.
struct Walk<'a> {
    walker: &'a Walker,
    /// Which of the tops is being searched.
    top: usize,
    new: HashMap<FileId, Arc<KnownDir>>,
    masks: Vec<Mask>,
    /// Whether no directory had changed so recently that another change might not show.
    calm: bool,
}

/// The result of reading a directory.
#[derive(PartialEq, Eq)]
enum WalkResult {
    Done,
    /// It was not there any more.
    Vanished,
    /// It cannot be searched, so it is hidden as a whole: a command could change its mode, or move it up.
    Closed,
}

impl Walk<'_> {
    /// Searches a directory and everything below it.
    fn begin(&mut self, handle: BorrowedFd<'_>, path: &Path) -> Result<()> {
        let visit = match rustix::fs::openat(handle, ".", DIRECTORY, Mode::empty()) {
            Ok(directory) => self.visit(directory.as_fd(), path, 0)?,
            Err(Errno::ACCESS) => WalkResult::Closed,
            Err(errno) => return Err(Error::internal(errno)),
        };
        if visit == WalkResult::Closed {
            self.hide(path, FileId::of(handle).map_err(Error::internal)?, true)?;
        }
        Ok(())
    }

    /// Searches an open directory. If an entry vanishes meanwhile, the directory is read again from the beginning, and
    /// what was found in the meantime is dropped.
    fn visit(&mut self, directory: BorrowedFd<'_>, path: &Path, depth: usize) -> Result<WalkResult> {
        if is_too_deep(depth, path.as_os_str().len()) {
            return Ok(WalkResult::Closed);
        }
        let before = self.masks.len();
        for look in 0..ATTEMPTS {
            let metadata = Metadata::of(directory).map_err(Error::internal)?;
            let identity = metadata.identity;
            let known = match self.walker.known.get(&identity).filter(|known| known.metadata == metadata && look == 0) {
                Some(known) => known.clone(),
                None => match self.walker.search.names.read(directory) {
                    Ok(listing) => Arc::new(KnownDir { metadata, listing }),
                    Err(Errno::ACCESS) => return Ok(WalkResult::Closed),
                    Err(errno) => return Err(Error::internal(errno)),
                },
            };
            if self.enter(directory, path, &known.listing, depth)? == WalkResult::Done {
                if is_recent(&metadata) {
                    self.calm = false;
                } else {
                    self.new.insert(identity, known);
                }
                return Ok(WalkResult::Done);
            }
            self.masks.truncate(before);
        }
        Err(changing_too_fast(path))
    }

    /// Hides the protected names of a directory that has been read, and searches its subdirectories.
    fn enter(&mut self, directory: BorrowedFd<'_>, path: &Path, known: &Listing, depth: usize) -> Result<WalkResult> {
        for Hit { name, identity, directory } in &known.hits {
            self.hide(&path.join(name), *identity, *directory)?;
        }
        for (name, _) in &known.subdirectories {
            if self.descend(directory, path, name, depth)? == WalkResult::Vanished {
                return Ok(WalkResult::Vanished);
            }
        }
        Ok(WalkResult::Done)
    }

    /// Searches a subdirectory. One without subdirectories that has not changed need not be opened: that is most of
    /// them.
    fn descend(&mut self, above: BorrowedFd<'_>, path: &Path, name: &OsStr, depth: usize) -> Result<WalkResult> {
        let path = path.join(name);
        let Ok(stat) = rustix::fs::statat(above, name, AtFlags::SYMLINK_NOFOLLOW) else {
            return Ok(WalkResult::Vanished);
        };
        let metadata = Metadata::from(&stat);
        let identity = metadata.identity;
        if self.walker.search.is_elsewhere(identity, self.top) {
            return Ok(WalkResult::Done);
        }
        let leaf = self
            .walker
            .known
            .get(&identity)
            .filter(|known| known.metadata == metadata && known.listing.subdirectories.is_empty())
            .filter(|_| !is_too_deep(depth + 1, path.as_os_str().len()));
        if let Some(known) = leaf.cloned() {
            self.enter(above, &path, &known.listing, depth)?;
            self.new.insert(identity, known);
            return Ok(WalkResult::Done);
        }
        let visit = match rustix::fs::openat(above, name, DIRECTORY, Mode::empty()) {
            Ok(directory) => self.visit(directory.as_fd(), &path, depth + 1)?,
            Err(Errno::ACCESS) => WalkResult::Closed,
            Err(_) => return Ok(WalkResult::Vanished),
        };
        if visit == WalkResult::Closed {
            self.hide(&path, identity, true)?;
        }
        Ok(WalkResult::Done)
    }

    fn hide(&mut self, path: &Path, identity: FileId, directory: bool) -> Result<()> {
        let mask = self.walker.search.names.mask(path, identity, directory, MaskKind::Name);
        self.masks.push(mask.map_err(Error::internal)?);
        Ok(())
    }
}

/// The error for a directory in which protected names move faster than they can be found.
fn changing_too_fast(directory: &Path) -> Error {
    let directory = directory.display();
    Error::unavailable(format!(
        "{directory} changes too fast to hide the protected names in it from a command; try again later."
    ))
}

/// A directory that has just changed may change again within the same tick of the file system's clock, which would not
/// show in its times.
fn is_recent(metadata: &Metadata) -> bool {
    const TICK: i128 = 50_000_000;
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    let (seconds, rest) = metadata.changed;
    nanoseconds(now.tv_sec, now.tv_nsec) - nanoseconds(seconds, rest.into()) < TICK
}
