//! Which entries of a directory are hidden from commands, and which directories in it have to be searched.

use std::collections::HashSet;
use std::ffi::{CString, NulError, OsStr, OsString};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mainstay_core::{Error, Result};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::exec::ExecSettings;
use crate::exec::linux::mounts::{Mask, MaskKind};
use crate::exec::visibility::{Origin, Visibility};
use crate::guard::Guard;
use crate::identity::FileId;
use crate::workspace::{DIRECTORY, Root, Workspace};

/// Deeper directories are hidden as a whole. Real trees are not that deep, and the search keeps a handle open for every
/// level.
const MAX_DEPTH: usize = 256;

/// Directories with longer paths are hidden as a whole. With the longest name in them, and mounted somewhere else, they
/// would be past `PATH_MAX`, and what has no path that the kernel accepts cannot be hidden by itself.
const MAX_PATH: usize = 3800;

/// Whether a directory of the workspace is so deep that it is hidden instead of searched.
pub(super) fn is_too_deep(depth: usize, path_bytes: usize) -> bool {
    depth > MAX_DEPTH || is_too_long(path_bytes)
}

/// Whether nothing can be hidden at a path of this length.
pub(super) fn is_too_long(path_bytes: usize) -> bool {
    path_bytes > MAX_PATH
}

/// A file or directory that is hidden from commands.
#[derive(Debug, Clone)]
pub(super) struct Hit {
    pub(super) name: OsString,
    pub(super) identity: FileId,
    pub(super) directory: bool,
}

/// The entries of a directory that matter.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) subdirectories: Vec<(OsString, FileId)>,
    pub(super) hits: Vec<Hit>,
    /// An entry was renamed or removed while the directory was being read: what became of it is not known.
    pub(super) raced: bool,
}

/// A directory that is searched with everything below it. It is held open: commands see this one under its path,
/// whatever becomes of its name.
pub(super) struct Top {
    pub(super) path: PathBuf,
    pub(super) handle: OwnedFd,
    pub(super) identity: FileId,
    /// Directories of programs inside are not searched.
    pub(super) skips_programs: bool,
}

/// What is searched, and for what.
pub(super) struct Search {
    pub(super) names: ProtectedNames,
    pub(super) tops: Vec<Top>,
    /// The directories of programs and toolchains.
    pub(super) programs: HashSet<FileId>,
}

impl Search {
    /// The roots and what a setting adds. Programs and toolchains in the latter are not searched: they are full of names
    /// that look like secrets and are none.
    pub(super) fn new(workspace: &Workspace, visibility: &Visibility, settings: &ExecSettings) -> Result<Self> {
        let of = |origin| visibility.grants.iter().filter(move |grant| grant.origin == origin && grant.directory);
        let root = |root: &Arc<Root>| -> Result<Top> {
            let handle = root.handle.try_clone().map_err(Error::internal)?;
            Ok(Top { path: root.path().to_owned(), handle, identity: root.identity, skips_programs: false })
        };
        let added = of(Origin::Setting).map(|grant| open_added(&grant.path));
        Ok(Self {
            names: ProtectedNames::new(workspace, settings),
            tops: workspace.roots().iter().map(root).chain(added).collect::<Result<_>>()?,
            programs: of(Origin::Machine).filter_map(|grant| FileId::of_path(&grant.path).ok()).collect(),
        })
    }

    /// Whether a directory found in a top is not searched there: because it is a top itself, or holds programs.
    pub(super) fn is_elsewhere(&self, identity: FileId, top: usize) -> bool {
        self.tops.iter().any(|other| other.identity == identity)
            || (self.tops[top].skips_programs && self.programs.contains(&identity))
    }
}

fn open_added(path: &Path) -> Result<Top> {
    let cannot = |errno| Error::internal(format!("{} cannot be opened: {errno}", path.display()));
    let handle = rustix::fs::open(path, DIRECTORY.union(OFlags::PATH), Mode::empty()).map_err(cannot)?;
    let identity = FileId::of(&handle).map_err(cannot)?;
    Ok(Top { path: path.to_owned(), handle, identity, skips_programs: true })
}

/// The protected names, and the directories that are hidden whatever they are called.
#[derive(Debug)]
pub(super) struct ProtectedNames {
    guard: Guard,
    /// Names that are not hidden, by a setting.
    exempt: Guard,
    version_control: Guard,
    /// The server's own directories.
    closed: Vec<FileId>,
}

/// Names of repositories. In a submodule or a worktree such a name is a file that leads to the repository.
const VERSION_CONTROL: [&str; 3] = [".git", ".hg", ".svn"];

impl ProtectedNames {
    /// All roots have the same guard; it applies to what a setting adds too.
    pub(super) fn new(workspace: &Workspace, settings: &ExecSettings) -> Self {
        Self {
            guard: workspace.roots()[0].guard.clone(),
            exempt: Guard::only(&settings.allow_protected),
            version_control: Guard::only(&VERSION_CONTROL.map(str::to_owned)),
            closed: workspace.closed.iter().map(|closed| closed.identity).collect(),
        }
    }

    pub(super) fn protects(&self, name: &OsStr) -> bool {
        self.guard.protects(name) && !self.exempt.protects(name)
    }

    /// The mask over something found. Fails if the path contains a NUL byte, which no path of the kernel's does.
    pub(super) fn mask(
        &self,
        path: &Path,
        identity: FileId,
        directory: bool,
        kind: MaskKind,
    ) -> Result<Mask, NulError> {
        let keeps_place = path.file_name().is_some_and(|name| self.keeps_place(name, directory));
        let path = CString::new(path.as_os_str().as_bytes())?;
        Ok(Mask { path, identity, directory, keeps_place, kind })
    }

    /// Whether nothing may take the place of something hidden. A repository, or a directory such as `.ssh`, decides what
    /// programs do. Directories above other files with protected names may be renamed: package managers do that with what
    /// they have downloaded. Other directories are hidden because they cannot be searched.
    pub(super) fn keeps_place(&self, name: &OsStr, directory: bool) -> bool {
        self.version_control.protects(name) || (directory && self.guard.protects(name))
    }

    /// Whether a directory is the server's own.
    pub(super) fn is_closed(&self, identity: FileId) -> bool {
        self.closed.contains(&identity)
    }

    /// Reads a directory. Only protected names and directories need a system call each. Symbolic links are neither
    /// hidden nor followed.
    pub(super) fn read(&self, directory: BorrowedFd<'_>) -> rustix::io::Result<Listing> {
        let mut listing = Listing::default();
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
                Err(Errno::NOENT) => {
                    listing.raced = true;
                    continue;
                }
                Err(errno) => return Err(errno),
            };
            let (kind, identity) = (FileType::from_raw_mode(stat.st_mode), FileId::from(&stat));
            let directory = kind == FileType::Directory;
            let closed = directory && self.is_closed(identity);
            if closed || (protected && kind != FileType::Symlink) {
                listing.hits.push(Hit { name: name.to_owned(), identity, directory });
            } else if directory {
                listing.subdirectories.push((name.to_owned(), identity));
            }
        }
        Ok(listing)
    }
}
