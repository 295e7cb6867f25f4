//! The protected names that were hidden before, wherever they are now.
//!
//! A search can miss a name whose directory another command moves meanwhile. A handle of each name that was hidden tells
//! whether it still exists, and the kernel tells its path at one moment: what is still protected there is hidden again.
//! This covers a name inside a directory that is hidden as a whole too, which could be moved out of it before the
//! directory is hidden.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

use super::names::{Search, is_too_long};
use crate::exec::linux::mounts::{Mask, MaskKind};
use crate::exec::open_files_limit;
use crate::identity::FileId;

/// The most handles to hold. Where the process may open few files, an eighth of those.
const MOST_HANDLES: usize = 1024;

/// Every name that was hidden from the last command.
pub(super) struct KnownNames {
    search: Arc<Search>,
    all: HashMap<FileId, Known>,
    pub(super) capacity: usize,
    /// How many names may be settled.
    max_settled: usize,
}

struct Known {
    /// `None` if it could not be opened, or if there are too many: then it may exist anywhere.
    handle: Option<OwnedFd>,
    directory: bool,
    settled: bool,
}

/// What a search has not found of the known names.
#[derive(Default)]
pub(super) struct Missing {
    /// What is still protected, where it is now.
    pub(super) located: Vec<Mask>,
    /// Whether something may exist, and nothing tells where.
    pub(super) unlocated: bool,
}

/// What a handle tells.
enum Located {
    At(PathBuf),
    /// It was removed.
    Gone,
    Unknown,
}

impl KnownNames {
    pub(super) fn new(search: Arc<Search>, max_settled: usize) -> Self {
        let capacity = MOST_HANDLES.min(open_files_limit() / 8);
        Self { search, all: HashMap::new(), capacity, max_settled }
    }

    /// What is known and not among these masks.
    pub(super) fn missing(&self, found: &[Mask]) -> Missing {
        let found: HashSet<FileId> = found.iter().map(|mask| mask.identity).collect();
        let mut missing = Missing::default();
        for (identity, known) in self.all.iter().filter(|(identity, _)| !found.contains(identity)) {
            match known.handle.as_ref().map_or(Located::Unknown, |handle| locate(handle, *identity)) {
                Located::Gone => {}
                Located::Unknown => missing.unlocated = true,
                Located::At(path) => {
                    if self.is_protected(&path, *identity) {
                        let mask = self.search.names.mask(&path, *identity, known.directory, MaskKind::Located);
                        missing.located.extend(mask);
                    }
                }
            }
        }
        missing
    }

    /// Whether something is in a searched directory and still protected there.
    fn is_protected(&self, path: &Path, identity: FileId) -> bool {
        let tops = self.search.tops.iter().filter_map(|top| path.strip_prefix(&top.path).ok());
        // The innermost: a directory that is searched for itself may be inside a protected one.
        let inside = tops.min_by_key(|inside| inside.as_os_str().len());
        inside.is_some_and(|inside| {
            inside.iter().any(|name| self.search.names.protects(name)) || self.search.names.is_closed(identity)
        })
    }

    /// Whether something is among the first names that were hidden by themselves, so that it always is. Names that
    /// somebody creates in great number come later.
    pub(super) fn is_settled(&self, mask: &Mask) -> bool {
        self.all.get(&mask.identity).is_some_and(|known| known.settled)
    }

    /// Notes what is hidden from a command by itself now, and forgets everything else.
    pub(super) fn replace(&mut self, masks: &[Mask]) {
        let by_itself = || masks.iter().filter(|mask| mask.kind != MaskKind::Crowded);
        let now: HashSet<FileId> = by_itself().map(|mask| mask.identity).collect();
        self.all.retain(|identity, _| now.contains(identity));
        let mut handles = self.all.values().filter(|known| known.handle.is_some()).count();
        let mut settled = self.all.values().filter(|known| known.settled).count();
        for mask in by_itself() {
            let known = self.all.entry(mask.identity);
            let known = known.or_insert(Known { handle: None, directory: mask.directory, settled: false });
            if !known.settled && settled < self.max_settled {
                known.settled = true;
                settled += 1;
            }
            if known.handle.is_none() && handles < self.capacity {
                known.handle = hold(mask);
                handles += usize::from(known.handle.is_some());
            }
        }
    }

    /// Gives back what was removed: a handle keeps the content on the disk.
    pub(super) fn drop_removed(&mut self) {
        self.all.retain(|_, known| known.handle.as_ref().is_none_or(|handle| !is_removed(handle)));
    }
}

/// Opens what is hidden, if it is still there. Reading it is not possible with such a handle.
fn hold(mask: &Mask) -> Option<OwnedFd> {
    let flags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
    let handle = rustix::fs::open(mask.path.as_c_str(), flags, Mode::empty()).ok()?;
    (FileId::of(&handle) == Ok(mask.identity)).then_some(handle)
}

fn is_removed(handle: &OwnedFd) -> bool {
    rustix::fs::fstat(handle).is_ok_and(|stat| stat.st_nlink == 0)
}

/// Where an open file is at this moment. The kernel follows every rename, of the file itself and of what is above it.
fn locate(handle: &OwnedFd, identity: FileId) -> Located {
    if is_removed(handle) {
        return Located::Gone;
    }
    let link = format!("/proc/self/fd/{}", handle.as_raw_fd());
    let Ok(target) = rustix::fs::readlink(link, Vec::new()) else { return Located::Unknown };
    let bytes = target.as_bytes();
    // One of several hard links was removed: the others are names of their own.
    let removed = bytes.ends_with(b" (deleted)");
    let path = PathBuf::from(OsStr::from_bytes(bytes));
    if is_too_long(bytes.len()) {
        return Located::Unknown;
    }
    if removed && FileId::of_path(&path) != Ok(identity) {
        return Located::Gone;
    }
    Located::At(path)
}
