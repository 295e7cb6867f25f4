//! Paths. A caller's text picks a root and names to walk from there; every name is then opened beneath the root's
//! handle. Where a path leads is found out by walking it, never by comparing text.

mod building;
mod change;
mod dir;
mod exposure;
mod fault;
mod file;
mod journal;
mod lock;
mod place;
mod removal;
mod staged;
mod staging;
mod trace;
mod walk;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use mainstay_core::{Error, Result};
use rustix::fs::{Mode, OFlags};

pub use building::{Building, Check, Folder};
pub use change::{Content, Done, Expect, Step};
pub use dir::{Dir, Entry, EntryKind};
pub use fault::leads_outside;
pub use file::{Facts, OpenFile, etag_of};
pub use place::Place;
pub use staging::Staging;

use crate::settings::{FilesSettings, HardLinks};
use crate::{Guard, root::file::EtagCache};
use fault::outside;

/// The longest path that is looked at.
const LONGEST: usize = 4096;

/// How a directory is opened by its own name: what a link leads to is not meant.
pub(crate) const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The most directories above anything that is reached: each is held open while a path is walked.
const DEEPEST: usize = 256;

/// What the tools may reach: the workspace and the roots beside it.
#[derive(Debug, Clone)]
pub struct Workspace {
    roots: Arc<[Arc<Root>]>,
    journal: Option<Arc<journal::Journal>>,
    closed: Arc<Vec<Closed>>,
}

/// A directory of the server's own files: neither for callers nor for commands, wherever it lies.
#[derive(Debug, Clone)]
pub(crate) struct Closed {
    pub(crate) path: PathBuf,
    identity: Identity,
}

#[cfg(all(target_os = "linux", not(mainstay_elsewhere)))]
impl Closed {
    /// What it is, whatever it is called by now.
    pub(crate) fn identity(&self) -> (u64, u64) {
        (self.identity.device, self.identity.inode)
    }
}

/// One directory tree, held by a handle from start to end: what happens to its name does not matter any more.
#[derive(Debug)]
pub struct Root {
    /// Where it is, and where the operator said it is: a link may lie between the two.
    path: PathBuf,
    given: PathBuf,
    handle: OwnedFd,
    identity: Identity,
    read_only: bool,
    primary: bool,
    guard: Guard,
    hard_links: HardLinks,
    /// Directories inside this one that have rules of their own.
    inner: Vec<(Identity, Rule)>,
    etags: Arc<EtagCache>,
}

/// What a file is, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    fn of(fd: BorrowedFd<'_>) -> rustix::io::Result<Self> {
        rustix::fs::fstat(fd).map(|stat| Self::from(&stat))
    }
}

impl From<&rustix::fs::Stat> for Identity {
    #[cfg_attr(target_os = "linux", expect(clippy::unnecessary_cast, reason = "it is narrower on other systems"))]
    #[cfg_attr(
        target_vendor = "apple",
        expect(clippy::cast_sign_loss, reason = "it only has to be the same each time")
    )]
    fn from(stat: &rustix::fs::Stat) -> Self {
        Self { device: stat.st_dev as u64, inode: stat.st_ino }
    }
}

/// What holds from a directory on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    Writable,
    ReadOnly,
    /// The server's own files: not for callers.
    Closed,
}

impl Rule {
    fn read_only(read_only: bool) -> Self {
        if read_only { Self::ReadOnly } else { Self::Writable }
    }
}

/// A place that a caller has named: the root it belongs to, and the names to walk. Nothing has been opened yet.
#[derive(Debug, Clone)]
pub struct Spot {
    workspace: Workspace,
    root: Arc<Root>,
    names: Vec<OsString>,
    /// The text ended with a slash.
    directory: bool,
    shown: String,
}

impl Workspace {
    /// Opens the workspace and the roots beside it.
    pub fn open(primary: &Path, settings: &FilesSettings) -> Result<Self> {
        let guard = Guard::new(&settings.protect, &settings.unprotect);
        let etags = Arc::new(EtagCache::default());
        let named = std::iter::once((primary, settings.read_only))
            .chain(settings.roots.iter().map(|root| (root.path.as_path(), root.read_only)));
        let mut roots = Vec::new();
        for (path, read_only) in named {
            let mut root = Root::open(path, read_only, guard.clone(), settings.hard_links, etags.clone())?;
            root.primary = roots.is_empty();
            roots.push(root);
        }
        let inside: Vec<_> = roots.iter().map(|root| (root.path.clone(), root.identity, root.read_only)).collect();
        for root in &mut roots {
            let beneath = inside.iter().filter(|(path, id, _)| *id != root.identity && path.starts_with(&root.path));
            root.inner = beneath.map(|(_, id, read_only)| (*id, Rule::read_only(*read_only))).collect();
        }
        Ok(Self { roots: roots.into_iter().map(Arc::new).collect(), journal: None, closed: Arc::default() })
    }

    /// One directory of the operator's own choice, only to be read, in which no name is protected: nothing but what is
    /// asked for by name is ever shown of it.
    pub fn reading(directory: &Path) -> Result<Self> {
        let mut root = Root::open(directory, true, Guard::none(), HardLinks::Allow, Arc::default())?;
        root.primary = true;
        Ok(Self { roots: [Arc::new(root)].into(), journal: None, closed: Arc::default() })
    }

    /// Closes a directory to callers and commands, wherever it lies: the server's own files are in it.
    pub fn closing(mut self, directory: &Path) -> Result<Self> {
        let closed = Root::open(directory, true, Guard::default(), HardLinks::Allow, Arc::default())?;
        let Some(roots) = Arc::get_mut(&mut self.roots) else {
            return Err(Error::internal("the workspace is in use already"));
        };
        for root in roots {
            let Some(root) = Arc::get_mut(root) else { return Err(Error::internal("a root is in use already")) };
            if closed.identity == root.identity || root.path.starts_with(&closed.path) {
                return Err(Error::unavailable(format!(
                    "The directory {} lies in {}, where the server keeps its own files; choose another.",
                    root.path.display(),
                    closed.path.display()
                )));
            }
            if closed.path.starts_with(&root.path) {
                root.inner.push((closed.identity, Rule::Closed));
            }
        }
        Arc::make_mut(&mut self.closed).push(Closed { path: closed.path, identity: closed.identity });
        Ok(self)
    }

    /// Keeps changes of several files whole across a crash: what an earlier process left half done is undone now.
    pub fn with_journal(mut self, directory: &Path) -> Result<Self> {
        let journal = journal::Journal::open(directory)?;
        journal.recover(&self);
        self.journal = Some(Arc::new(journal));
        Ok(self)
    }

    pub fn roots(&self) -> &[Arc<Root>] {
        &self.roots
    }

    pub(crate) fn closed(&self) -> &[Closed] {
        &self.closed
    }

    /// Reads a caller's path: relative to the workspace, or absolute and beneath one of the roots. The text only picks
    /// the root and the names; whether they lead outside shows when they are walked.
    pub fn find(&self, path: &str) -> Result<Spot> {
        if path.is_empty() {
            return Err(Error::field("path", "The path is empty; \".\" is the workspace itself."));
        }
        if path.len() > LONGEST {
            return Err(Error::field("path", format!("The path is longer than {LONGEST} bytes.")));
        }
        if path.contains('\0') {
            return Err(Error::field("path", "The path contains a NUL byte."));
        }
        let text = Path::new(path);
        let (root, rest) = if text.is_absolute() { self.root_of(text)? } else { (&self.roots[0], text) };
        let names: Vec<OsString> = rest
            .components()
            .filter_map(|component| match component {
                Component::Normal(name) => Some(name.to_owned()),
                Component::ParentDir => Some("..".into()),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
            })
            .collect();
        if names.len() > DEEPEST {
            return Err(fault::too_deep());
        }
        let mut spot = self.spot(root, names);
        spot.directory = path.ends_with('/');
        Ok(spot)
    }

    fn spot(&self, root: &Arc<Root>, names: Vec<OsString>) -> Spot {
        let shown = root.shown(&names);
        Spot { workspace: self.clone(), root: root.clone(), names, directory: false, shown }
    }

    fn root_of<'a>(&self, text: &'a Path) -> Result<(&Arc<Root>, &'a Path)> {
        let fitting = self.roots.iter().filter_map(|root| {
            let rest = text.strip_prefix(&root.path).or_else(|_| text.strip_prefix(&root.given)).ok()?;
            Some((root, rest))
        });
        fitting.min_by_key(|(_, rest)| rest.components().count()).ok_or_else(outside)
    }
}

impl Root {
    fn open(path: &Path, read_only: bool, guard: Guard, hard_links: HardLinks, etags: Arc<EtagCache>) -> Result<Self> {
        let cannot = |reason: &dyn std::fmt::Display| {
            Error::unavailable(format!("The directory {} cannot be used: {reason}.", path.display()))
        };
        let absent = |error: std::io::Error| {
            let absent = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
            if absent { Error::not_found(format!("There is no directory {}.", path.display())) } else { cannot(&error) }
        };
        let real = std::fs::canonicalize(path).map_err(absent)?;
        let handle = rustix::fs::open(&real, DIRECTORY, Mode::empty()).map_err(|errno| absent(errno.into()))?;
        let identity = Identity::of(handle.as_fd()).map_err(|error| cannot(&error))?;
        let given = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Ok(Self {
            path: real,
            given,
            handle,
            identity,
            read_only,
            primary: false,
            guard,
            hard_links,
            inner: Vec::new(),
            etags,
        })
    }

    /// Where it is; links have been followed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    pub fn read_only(&self) -> bool {
        self.read_only
    }

    fn rule(&self, identity: Identity) -> Option<Rule> {
        self.inner.iter().find(|(inner, _)| *inner == identity).map(|(_, rule)| *rule)
    }

    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// A path as callers may give it back: relative in the workspace, absolute elsewhere.
    fn shown(&self, names: &[OsString]) -> String {
        let mut shown = String::new();
        if !self.primary {
            let _ = write!(shown, "{}", self.path.display());
        }
        for name in names {
            if !shown.is_empty() {
                shown.push('/');
            }
            let _ = write!(shown, "{}", name.display());
        }
        if shown.is_empty() { ".".to_owned() } else { shown }
    }

    fn absolute(&self, names: &[OsString]) -> PathBuf {
        let mut path = self.path.clone();
        path.extend(names);
        path
    }
}

impl Spot {
    /// The path as it is given back to callers.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Whether this is the root itself, by its own name.
    pub fn is_root(&self) -> bool {
        self.names.is_empty()
    }

    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// The same place by the names that lead to it without a link or `..`, as they do now.
    pub fn resolved(&self) -> Result<Self> {
        let walked = walk::walk(&self.root, &self.names, walk::Links::Follow, &self.shown)?;
        let names = walked.names.into_iter().chain(walked.rest).collect();
        Ok(Self { directory: self.directory, ..self.workspace.spot(&self.root, names) })
    }

    pub fn open_file(&self) -> Result<OpenFile> {
        if self.directory {
            return Err(fault::not_a_file(&self.shown));
        }
        let fd = walk::open_file(&self.root, &self.names, &self.shown)?;
        OpenFile::new(fd, &self.root, self.shown.clone())
    }

    /// The same without ever waiting for a disk; `None` if that cannot be, for whatever reason.
    pub fn open_at_hand(&self) -> Option<OpenFile> {
        let fd = walk::open_at_hand(&self.root, &self.names).filter(|_| !self.directory)?;
        OpenFile::new(fd, &self.root, self.shown.clone()).ok()
    }

    pub fn open_dir(&self) -> Result<Dir> {
        let walked = walk::walk(&self.root, &self.names, walk::Links::Follow, &self.shown)?;
        match walked.rest.as_slice() {
            [] => Dir::new(&self.workspace, &self.root, &walked.directory, walked.names),
            [name] => match rustix::fs::statat(&walked.directory, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) {
                Ok(_) => Err(Error::field("path", format!("{} is a file, not a directory.", self.shown))),
                Err(errno) => Err(fault::of(errno, &self.shown)),
            },
            _ => Err(fault::not_found(&self.shown)),
        }
    }

    /// What is there; `None` if nothing is. The last name is not followed if it is a link.
    pub fn look(&self) -> Result<Option<Facts>> {
        let walked = walk::walk(&self.root, &self.names, walk::Links::KeepLast, &self.shown)?;
        let stat = match walked.rest.as_slice() {
            [] => rustix::fs::fstat(&walked.directory),
            [name] => rustix::fs::statat(&walked.directory, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW),
            _ => return Ok(None),
        };
        match stat {
            Ok(stat) => Ok(Some(Facts::from(&stat))),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(errno) => Err(fault::of(errno, &self.shown)),
        }
    }

    /// Where a link points, as text.
    pub fn link_target(&self) -> Result<String> {
        let walked = walk::walk(&self.root, &self.names, walk::Links::KeepLast, &self.shown)?;
        let [name] = walked.rest.as_slice() else { return Err(fault::not_found(&self.shown)) };
        let target = rustix::fs::readlinkat(&walked.directory, name, Vec::new())
            .map_err(|errno| fault::of(errno, &self.shown))?;
        Ok(OsString::from_vec(target.into_bytes()).to_string_lossy().into_owned())
    }

    /// Where something may be written: links are followed, so that the file behind one is meant and not the link.
    pub fn place(&self) -> Result<Place> {
        Place::find(self, walk::Links::Follow)
    }

    /// The entry of this very name, even if it is a link: for moving and removing.
    pub fn entry(&self) -> Result<Place> {
        Place::find(self, walk::Links::KeepLast)
    }
}
