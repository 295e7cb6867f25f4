//! Finds the protected names by looking at every directory, where notices of changes cannot be relied on.
//!
//! A walk runs before every command then, so a directory that has not changed since it was last read is not read again.
//! [`Walker`] decides when a result can be trusted; [`Walk`] is one pass over the directories.

use std::collections::{HashMap, HashSet};
use std::ffi::{CString, OsStr};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Error, Result};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::names::{Hit, Listing, Search, is_too_deep};
use crate::exec::linux::mounts::Mask;
use crate::identity::FileId;
use crate::workspace::{DIRECTORY, Metadata};

/// Long enough for one change to be distinguished from the next within a few passes, see `is_recent`.
const BETWEEN_PASSES: Duration = Duration::from_millis(10);

/// How often a directory is read again that changes while it is being read.
const ATTEMPTS: usize = 16;

/// Finds protected names again and again, and remembers the directories that did not change.
pub(super) struct Walker {
    search: Arc<Search>,
    known: HashMap<FileId, Arc<KnownDir>>,
    /// What was found the last time, with a handle that shows whether it still exists anywhere.
    hits: HashMap<FileId, Option<OwnedFd>>,
}

impl Walker {
    pub(super) fn new(search: Arc<Search>) -> Self {
        Self { search, known: HashMap::new(), hits: HashMap::new() }
    }

    /// Notes what was found by other means: it must not be missed by the next walk.
    pub(super) fn expect(&mut self, masks: &[Mask]) {
        self.hits = self.open_hits(masks);
    }

    /// Forgets everything, and with it the memory and the handles it takes.
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.search.clone());
    }

    /// Every protected name in the roots and in the paths that a setting adds.
    ///
    /// A name that was found before and is missing now may have been moved while the walk was running: another command
    /// can do that on purpose. It counts as gone if it exists nowhere any more, or if two passes saw the same
    /// directories, none of which changed in between: then everything was where they saw it.
    pub(super) fn masks(&mut self) -> Result<Vec<Mask>> {
        let mut seen = self.pass()?;
        let mut looks = 0;
        while self.misses_any(&seen.masks) {
            looks += 1;
            if looks > ATTEMPTS {
                return Err(changing_too_fast());
            }
            std::thread::sleep(BETWEEN_PASSES);
            let was_calm = seen.calm;
            seen = self.pass()?;
            if was_calm && seen.calm && same(&seen.before, &self.known) {
                break;
            }
        }
        self.hits = self.open_hits(&seen.masks);
        Ok(seen.masks)
    }

    /// Whether something that was found before is missing now, although it still exists.
    fn misses_any(&self, masks: &[Mask]) -> bool {
        let found: HashSet<FileId> = masks.iter().map(|mask| mask.identity).collect();
        let exists = |handle: &Option<OwnedFd>| {
            let links = handle.as_ref().and_then(|handle| rustix::fs::fstat(handle).ok()).map(|stat| stat.st_nlink);
            links != Some(0)
        };
        self.hits.iter().any(|(identity, handle)| !found.contains(identity) && exists(handle))
    }

    /// Opens what was found. The handle shows later whether the file still exists, under whatever name; where it cannot
    /// be opened, it may exist.
    fn open_hits(&mut self, masks: &[Mask]) -> HashMap<FileId, Option<OwnedFd>> {
        let hold = |mask: &Mask| {
            let flags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
            let handle = rustix::fs::open(mask.path.as_c_str(), flags, Mode::empty()).ok()?;
            (FileId::of(&handle) == Ok(mask.identity)).then_some(handle)
        };
        let mut before = std::mem::take(&mut self.hits);
        let known = |mask: &Mask| (mask.identity, before.remove(&mask.identity).flatten().or_else(|| hold(mask)));
        masks.iter().map(known).collect()
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
            self.hide(path.to_owned(), FileId::of(handle).map_err(Error::internal)?, true)?;
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
        Err(changing_too_fast())
    }

    /// Hides the protected names of a directory that has been read, and searches its subdirectories.
    fn enter(&mut self, directory: BorrowedFd<'_>, path: &Path, known: &Listing, depth: usize) -> Result<WalkResult> {
        for Hit { name, identity, directory } in &known.hits {
            self.hide(path.join(name), *identity, *directory)?;
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
            self.hide(path, identity, true)?;
        }
        Ok(WalkResult::Done)
    }

    fn hide(&mut self, path: PathBuf, identity: FileId, directory: bool) -> Result<()> {
        let path = CString::new(path.into_os_string().into_vec()).map_err(Error::internal)?;
        self.masks.push(Mask { path, identity, directory });
        Ok(())
    }
}

/// The error for a workspace in which protected names move faster than they can be found.
fn changing_too_fast() -> Error {
    Error::unavailable("The workspace changes too fast to hide protected names from a command; try again later.")
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
