//! Reads directories and checks every name with the guard. Symbolic links are not followed.

use std::collections::{HashMap, HashSet};
use std::ffi::{CString, OsStr, OsString};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mainstay_core::{Error, Result};
use rustix::fs::{AtFlags, FileType, Mode};
use rustix::io::Errno;

use crate::exec::linux::mounts::Mask;
use crate::guard::Guard;
use crate::identity::FileId;
use crate::workspace::{DIRECTORY, Metadata, Workspace};

/// Deeper than any real tree; and what has a path longer than `PATH_MAX` could not be hidden anyway.
const MAX_DEPTH: usize = 256;

/// How often a directory is read again that changes while it is being read.
pub(super) const ATTEMPTS: usize = 16;

/// A directory that has been read.
#[derive(Debug)]
pub(super) struct KnownDir {
    /// While it stays the same, so do the entries.
    pub(super) metadata: Metadata,
    subdirectories: Vec<OsString>,
    /// Protected names, and whether each is a directory.
    hits: Vec<(OsString, FileId, bool)>,
}

/// One pass over all directories.
pub(super) struct Walk<'a> {
    pub(super) old: &'a HashMap<FileId, Arc<KnownDir>>,
    pub(super) new: HashMap<FileId, Arc<KnownDir>>,
    pub(super) workspace: &'a Workspace,
    /// Directories that are not searched.
    pub(super) skipped: &'a HashSet<FileId>,
    pub(super) exempt: &'a Guard,
    pub(super) masks: Vec<Mask>,
    /// Whether no directory had changed so recently that another change might not show.
    pub(super) calm: bool,
    pub(super) max_masks: usize,
}

/// The result of reading a directory.
#[derive(PartialEq, Eq)]
enum WalkResult {
    Done,
    /// It was not there any more.
    Vanished,
    /// It cannot be read. A command could change its mode, so it is hidden as a whole.
    Unreadable,
}

impl Walk<'_> {
    /// Searches a directory and everything below it.
    pub(super) fn begin(&mut self, handle: BorrowedFd<'_>, path: &Path) -> Result<()> {
        let visit = match rustix::fs::openat(handle, ".", DIRECTORY, Mode::empty()) {
            Ok(directory) => self.visit(directory.as_fd(), path, 0)?,
            Err(Errno::ACCESS) => WalkResult::Unreadable,
            Err(errno) => return Err(Error::internal(errno)),
        };
        if visit == WalkResult::Unreadable {
            self.hide(path.to_owned(), FileId::of(handle).map_err(Error::internal)?, true)?;
        }
        Ok(())
    }

    /// Searches an open directory. If an entry vanishes meanwhile, the directory is read again from the beginning, and
    /// what was found in the meantime is dropped.
    fn visit(&mut self, directory: BorrowedFd<'_>, path: &Path, depth: usize) -> Result<WalkResult> {
        if depth > MAX_DEPTH {
            return Err(Error::unavailable(format!(
                "A directory is more than {MAX_DEPTH} levels deep, so protected names in it could not be hidden from a command."
            )));
        }
        let before = self.masks.len();
        for look in 0..ATTEMPTS {
            let metadata = Metadata::of(directory).map_err(Error::internal)?;
            let identity = metadata.identity;
            let known = match self.old.get(&identity).filter(|known| known.metadata == metadata && look == 0) {
                Some(known) => known.clone(),
                None => match self.read(directory, metadata) {
                    Ok(read) => Arc::new(read),
                    Err(Errno::ACCESS) => return Ok(WalkResult::Unreadable),
                    Err(errno) => return Err(Error::internal(errno)),
                },
            };
            if self.enter(directory, path, &known, depth)? == WalkResult::Done {
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
    fn enter(&mut self, directory: BorrowedFd<'_>, path: &Path, known: &KnownDir, depth: usize) -> Result<WalkResult> {
        for (name, identity, is_directory) in &known.hits {
            self.hide(path.join(name), *identity, *is_directory)?;
        }
        for name in &known.subdirectories {
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
        if self.skipped.contains(&identity) {
            return Ok(WalkResult::Done);
        }
        let leaf =
            self.old.get(&identity).filter(|known| known.metadata == metadata && known.subdirectories.is_empty());
        if let Some(known) = leaf.cloned() {
            self.enter(above, &path, &known, depth)?;
            self.new.insert(identity, known);
            return Ok(WalkResult::Done);
        }
        let visit = match rustix::fs::openat(above, name, DIRECTORY, Mode::empty()) {
            Ok(directory) => self.visit(directory.as_fd(), &path, depth + 1)?,
            Err(Errno::ACCESS) => WalkResult::Unreadable,
            Err(_) => return Ok(WalkResult::Vanished),
        };
        if visit == WalkResult::Unreadable {
            self.hide(path, identity, true)?;
        }
        Ok(WalkResult::Done)
    }

    /// Reads a directory. Only protected names and directories need a system call each.
    fn read(&self, directory: BorrowedFd<'_>, metadata: Metadata) -> rustix::io::Result<KnownDir> {
        let mut known = KnownDir { metadata, subdirectories: Vec::new(), hits: Vec::new() };
        for entry in rustix::fs::Dir::read_from(directory)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let protected = self.protects(name);
            let kind = entry.file_type();
            if !protected && kind != FileType::Directory && kind != FileType::Unknown {
                continue;
            }
            let stat = match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => continue,
                Err(errno) => return Err(errno),
            };
            let kind = FileType::from_raw_mode(stat.st_mode);
            let is_directory = kind == FileType::Directory;
            let closed =
                is_directory && self.workspace.closed.iter().any(|closed| closed.identity == FileId::from(&stat));
            if closed || (protected && kind != FileType::Symlink) {
                known.hits.push((name.to_owned(), FileId::from(&stat), is_directory));
            } else if is_directory {
                known.subdirectories.push(name.to_owned());
            }
        }
        Ok(known)
    }

    /// All roots have the same guard; it applies to what a setting adds too.
    fn protects(&self, name: &OsStr) -> bool {
        self.workspace.roots()[0].guard.protects(name) && !self.exempt.protects(name)
    }

    /// Adds a mask. Each is a mount, and a command with thousands of mounts takes long to start, so there is a limit.
    pub(super) fn hide(&mut self, path: PathBuf, identity: FileId, directory: bool) -> Result<()> {
        if self.masks.len() >= self.max_masks {
            return Err(Error::unavailable(format!(
                "There are more than {} protected names to hide from a command; raise exec.hidden_names, or exempt some \
                 with exec.allow_protected.",
                self.max_masks
            )));
        }
        let path = CString::new(path.into_os_string().into_vec()).map_err(Error::internal)?;
        self.masks.push(Mask { path, identity, directory });
        Ok(())
    }
}

/// The error for a workspace in which protected names move faster than they can be found.
pub(super) fn changing_too_fast() -> Error {
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
