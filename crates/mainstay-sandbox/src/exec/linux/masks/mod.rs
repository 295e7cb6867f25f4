//! Finds the protected names in the roots, and in the paths that a setting adds, so that they can be hidden from a
//! command.
//!
//! A scan runs before every command, so a directory that has not changed since it was last read is not read again.
//! [`ProtectedScan`] decides what to search and when a result can be trusted; [`Walk`] reads the directories and checks
//! every name with the guard. Symbolic links are not followed.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::ffi::{CString, OsStr, OsString};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Error, Result};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::exec::ExecSettings;
use crate::exec::linux::mounts::Mask;
use crate::exec::visibility::{Origin, Visibility};
use crate::guard::Guard;
use crate::identity::FileId;
use crate::workspace::{DIRECTORY, Metadata, Workspace};

/// Long enough for one change to be distinguished from the next within a few passes, see `is_recent`.
const BETWEEN_PASSES: Duration = Duration::from_millis(10);

/// Finds protected names again and again, and remembers the directories that did not change.
pub(super) struct ProtectedScan {
    workspace: Workspace,
    /// Directories that commands see because of a setting. They are held open from the beginning: commands see this one
    /// under its name, whatever becomes of it.
    added: Vec<(PathBuf, OwnedFd)>,
    /// Directories inside of those that are not searched.
    skipped: HashSet<FileId>,
    /// The server's own directories among programs and toolchains, which are not searched; no command can move them.
    closed: Vec<(PathBuf, FileId)>,
    known: HashMap<FileId, Arc<KnownDir>>,
    /// What was found the last time, with a handle that shows whether it still exists anywhere.
    hits: HashMap<FileId, Option<OwnedFd>>,
    /// Names that are not hidden, by a setting.
    exempt: Guard,
    max_masks: usize,
}

impl ProtectedScan {
    /// Prepares a scan of the roots and of what a setting adds. Roots inside of the latter are searched anyway. Programs
    /// and toolchains are not: they are full of names that look like secrets and are none.
    pub(super) fn new(workspace: &Workspace, visibility: &Visibility, settings: &ExecSettings) -> Result<Self> {
        let of = |origin| visibility.grants.iter().filter(move |grant| grant.origin == origin && grant.directory);
        let machine = of(Origin::Machine).filter_map(|grant| FileId::of_path(&grant.path).ok());
        let roots = workspace.roots().iter().map(|root| root.identity);
        let among = |path: &Path| visibility.around(path).is_some_and(|grant| grant.origin == Origin::Machine);
        let closed = workspace.closed.iter().filter(|closed| among(&closed.path));
        Ok(Self {
            workspace: workspace.clone(),
            added: of(Origin::Setting).map(|grant| open_added(&grant.path)).collect::<Result<_>>()?,
            skipped: machine.chain(roots).collect(),
            closed: closed.map(|closed| (closed.path.clone(), closed.identity)).collect(),
            known: HashMap::new(),
            hits: HashMap::new(),
            exempt: Guard::only(&settings.allow_protected),
            max_masks: settings.hidden_names,
        })
    }

    /// Every protected name in the roots and in the paths that a setting adds.
    ///
    /// A name that was found before and is missing now may have been moved while the scan was running: another command
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
        let nothing = HashSet::new();
        let mut walk = Walk {
            scan: self,
            skipped: &nothing,
            new: HashMap::with_capacity(self.known.len()),
            masks: Vec::new(),
            calm: true,
        };
        for root in self.workspace.roots() {
            walk.begin(root.handle.as_fd(), root.path())?;
        }
        walk.skipped = &self.skipped;
        for (path, handle) in &self.added {
            walk.begin(handle.as_fd(), path)?;
        }
        for (path, identity) in &self.closed {
            walk.hide(path.clone(), *identity, true)?;
        }
        let Walk { new, mut masks, calm, .. } = walk;
        let before = std::mem::replace(&mut self.known, new);
        // A root may be inside another.
        masks.sort_by(|a, b| a.path.cmp(&b.path));
        masks.dedup_by(|a, b| a.path == b.path);
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

fn open_added(path: &Path) -> Result<(PathBuf, OwnedFd)> {
    let handle = rustix::fs::open(path, DIRECTORY.union(OFlags::PATH), Mode::empty())
        .map_err(|errno| Error::internal(format!("{} cannot be opened: {errno}", path.display())))?;
    Ok((path.to_owned(), handle))
}

/// Deeper than any real tree: each level is held open during a scan.
const MAX_DEPTH: usize = 256;

/// The longest path of a directory that is searched, in bytes: with any name added to it, and mounted somewhere else, it
/// is still shorter than `PATH_MAX`, so that what is found can be hidden.
const MAX_PATH: usize = 3800;

/// How often a directory is read again that changes while it is being read.
const ATTEMPTS: usize = 16;

/// A directory that has been read.
#[derive(Debug)]
struct KnownDir {
    /// While it stays the same, so do the entries.
    metadata: Metadata,
    subdirectories: Vec<OsString>,
    /// Protected names, and whether each is a directory.
    hits: Vec<(OsString, FileId, bool)>,
}

/// One pass over all directories.
struct Walk<'a> {
    scan: &'a ProtectedScan,
    /// Directories that are not searched.
    skipped: &'a HashSet<FileId>,
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
    /// It cannot be searched, because it is not readable, too deep, or its path too long. A command could change that, so
    /// it is hidden as a whole. Other commands go on: a command could make such a directory on purpose.
    Unsearchable,
}

impl Walk<'_> {
    /// Searches a directory and everything below it.
    fn begin(&mut self, handle: BorrowedFd<'_>, path: &Path) -> Result<()> {
        let visit = match rustix::fs::openat(handle, ".", DIRECTORY, Mode::empty()) {
            Ok(directory) => self.visit(directory.as_fd(), path, 0)?,
            Err(Errno::ACCESS) => WalkResult::Unsearchable,
            Err(errno) => return Err(Error::internal(errno)),
        };
        if visit == WalkResult::Unsearchable {
            self.hide(path.to_owned(), FileId::of(handle).map_err(Error::internal)?, true)?;
        }
        Ok(())
    }

    /// Searches an open directory. If an entry vanishes meanwhile, the directory is read again from the beginning, and
    /// what was found in the meantime is dropped.
    fn visit(&mut self, directory: BorrowedFd<'_>, path: &Path, depth: usize) -> Result<WalkResult> {
        if depth > MAX_DEPTH || path.as_os_str().len() > MAX_PATH {
            return Ok(WalkResult::Unsearchable);
        }
        let before = self.masks.len();
        for look in 0..ATTEMPTS {
            let metadata = Metadata::of(directory).map_err(Error::internal)?;
            let identity = metadata.identity;
            let known = match self.scan.known.get(&identity).filter(|known| known.metadata == metadata && look == 0) {
                Some(known) => known.clone(),
                None => match self.read(directory, metadata) {
                    Ok(read) => Arc::new(read),
                    Err(Errno::ACCESS) => return Ok(WalkResult::Unsearchable),
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
        let searched = depth < MAX_DEPTH && path.as_os_str().len() <= MAX_PATH;
        let leaf = self
            .scan
            .known
            .get(&identity)
            .filter(|known| searched && known.metadata == metadata && known.subdirectories.is_empty());
        if let Some(known) = leaf.cloned() {
            self.enter(above, &path, &known, depth)?;
            self.new.insert(identity, known);
            return Ok(WalkResult::Done);
        }
        let visit = match rustix::fs::openat(above, name, DIRECTORY, Mode::empty()) {
            Ok(directory) => self.visit(directory.as_fd(), &path, depth + 1)?,
            Err(Errno::ACCESS) => WalkResult::Unsearchable,
            Err(_) => return Ok(WalkResult::Vanished),
        };
        if visit == WalkResult::Unsearchable {
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
                is_directory && self.scan.workspace.closed.iter().any(|closed| closed.identity == FileId::from(&stat));
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
        self.scan.workspace.roots()[0].guard.protects(name) && !self.scan.exempt.protects(name)
    }

    /// Adds a mask. Each is a mount, and a command with thousands of mounts takes long to start, so there is a limit.
    fn hide(&mut self, path: PathBuf, identity: FileId, directory: bool) -> Result<()> {
        if self.masks.len() >= self.scan.max_masks {
            return Err(Error::unavailable(format!(
                "There are more than {} protected names to hide from a command; raise exec.hidden_names, or exempt some \
                 with exec.allow_protected.",
                self.scan.max_masks
            )));
        }
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
