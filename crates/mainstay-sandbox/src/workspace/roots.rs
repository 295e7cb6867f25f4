//! The workspace: which directory trees callers may access, and which they may not.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mainstay_core::{Error, Result};
use rustix::fs::Mode;

use super::fs_ops::{DIRECTORY, open_directory};
use super::journal::Journal;
use super::metadata::EtagCache;
use crate::guard::Guard;
use crate::identity::FileId;
use crate::settings::{FilesSettings, HardLinks};

/// The workspace directory and the additional roots. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Workspace {
    /// Never empty; the first is the workspace directory itself.
    pub(super) roots: Arc<[Arc<Root>]>,
    pub(super) journal: Option<Arc<Journal>>,
    /// The server's own directories, which the sandbox hides.
    pub(crate) closed: Arc<Vec<ClosedDir>>,
}

/// A directory with the server's own files: neither callers nor commands may access it, in whatever root it is.
#[derive(Debug, Clone)]
pub(crate) struct ClosedDir {
    pub(crate) path: PathBuf,
    #[cfg_attr(
        any(not(target_os = "linux"), mainstay_unsupported),
        expect(dead_code, reason = "only the sandbox of Linux finds a directory again under another name")
    )]
    pub(crate) identity: FileId,
    handle: Arc<OwnedFd>,
}

impl Workspace {
    /// Opens the workspace directory and the additional roots.
    pub fn open(primary: &Path, settings: &FilesSettings) -> Result<Self> {
        let guard = Guard::new(&settings.protect, &settings.unprotect);
        let etags = Arc::new(EtagCache::default());
        let named = std::iter::once((primary, settings.read_only))
            .chain(settings.roots.iter().map(|root| (root.path.as_path(), root.read_only)));
        let mut roots = Vec::new();
        for (path, read_only) in named {
            let (primary, guard, etags) = (roots.is_empty(), guard.clone(), etags.clone());
            roots.push(Root { read_only, primary, guard, etags, hard_links: settings.hard_links, ..Root::open(path)? });
        }
        let all: Vec<_> = roots.iter().map(|root| (root.path.clone(), root.identity, root.read_only)).collect();
        for root in &mut roots {
            // A root inside another keeps its own rule, whichever way it is reached.
            let inside = all.iter().filter(|(path, id, _)| *id != root.identity && path.starts_with(&root.path));
            let rule = |read_only: bool| if read_only { Rule::ReadOnly } else { Rule::Writable };
            root.inner = inside.map(|(_, id, read_only)| (*id, rule(*read_only))).collect();
        }
        Ok(Self { roots: roots.into_iter().map(Arc::new).collect(), journal: None, closed: Arc::default() })
    }

    /// A read-only directory of the operator's choice in which no name is protected. For directories of which callers
    /// see only what the server selects by name.
    pub fn open_read_only(directory: &Path) -> Result<Self> {
        let root = Root { primary: true, ..Root::open(directory)? };
        Ok(Self { roots: [Arc::new(root)].into(), journal: None, closed: Arc::default() })
    }

    /// Closes a directory with the server's own files to callers and commands. Fails if a root is inside it.
    pub fn with_closed_dir(mut self, directory: &Path) -> Result<Self> {
        let closed = Root::open(directory)?;
        let Some(roots) = Arc::get_mut(&mut self.roots) else {
            return Err(Error::internal("the workspace is in use already"));
        };
        for root in roots {
            let Some(root) = Arc::get_mut(root) else { return Err(Error::internal("a root is in use already")) };
            if closed.identity == root.identity || root.path.starts_with(&closed.path) {
                return Err(Error::unavailable(format!(
                    "The directory {} is inside {}, where the server keeps its own files; choose another.",
                    root.path.display(),
                    closed.path.display()
                )));
            }
            if closed.path.starts_with(&root.path) {
                root.inner.push((closed.identity, Rule::Closed));
            }
        }
        let Root { path, identity, handle, .. } = closed;
        Arc::make_mut(&mut self.closed).push(ClosedDir { path, identity, handle: handle.into() });
        Ok(self)
    }

    /// The same roots for a program of the server's own choice: nothing in them can be changed, and no name is protected.
    /// What callers see of it is only what the server passes on of that program's output.
    pub(crate) fn for_own_program(&self) -> Result<Self> {
        let views = self.roots.iter().map(|root| root.for_own_program().map(Arc::new));
        Ok(Self { roots: views.collect::<Result<_>>()?, journal: None, closed: self.closed.clone() })
    }

    /// A root, or a directory of the server's own, that is somewhere inside a directory of `outer`. Looked for upwards from
    /// those, which are held open: that takes a few system calls, however large the directory is, and asks for no name that
    /// could be exchanged.
    pub(super) fn kept_inside(&self, outer: &Root, directory: FileId) -> Option<&Path> {
        let roots = self.roots.iter().map(|root| (root.path.as_path(), root.identity, &root.handle));
        let closed = self.closed.iter().map(|closed| (closed.path.as_path(), closed.identity, &*closed.handle));
        let mut inner = roots.chain(closed).filter(|(_, identity, _)| outer.rule(*identity).is_some());
        let is_inside = |identity, handle| is_inside(identity, handle, directory, outer.identity);
        // What cannot be found out may be.
        inner.find(|(_, identity, handle)| is_inside(*identity, handle).unwrap_or(true)).map(|(path, ..)| path)
    }

    /// The workspace directory and the additional roots, in this order.
    pub fn roots(&self) -> &[Arc<Root>] {
        &self.roots
    }
}

/// Whether an open directory is inside another: goes up from it as far as `top`.
fn is_inside(inner: FileId, handle: &OwnedFd, directory: FileId, top: FileId) -> rustix::io::Result<bool> {
    let mut below = inner;
    let mut above = open_directory(handle, "..")?;
    loop {
        let identity = FileId::of(&above)?;
        if identity == directory {
            return Ok(true);
        }
        // The directory above all others is its own parent.
        if identity == top || identity == below {
            return Ok(false);
        }
        (below, above) = (identity, open_directory(&above, "..")?);
    }
}

/// A directory tree, held by a handle from start to end: renaming or replacing the directory has no effect.
#[derive(Debug)]
pub struct Root {
    /// The canonical path. `given` is the operator's spelling, which may contain symbolic links.
    pub(super) path: PathBuf,
    pub(super) given: PathBuf,
    pub(crate) handle: OwnedFd,
    pub(crate) identity: FileId,
    /// Nothing in this root may be changed.
    pub(crate) read_only: bool,
    /// The workspace itself; its paths are displayed without a prefix.
    pub(super) primary: bool,
    /// Which names are protected in this root.
    pub(crate) guard: Guard,
    pub(super) hard_links: HardLinks,
    /// Directories inside this one with rules of their own.
    pub(super) inner: Vec<(FileId, Rule)>,
    pub(super) etags: Arc<EtagCache>,
}

/// What applies to a directory and everything below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    Writable,
    ReadOnly,
    /// The server's own files: no access for callers.
    Closed,
}

impl Root {
    /// Opens a directory as a root that is read-only and in which no name is protected. The canonical path is opened
    /// without following a link, so it is the one that was found.
    fn open(path: &Path) -> Result<Self> {
        let cannot = |reason: &dyn std::fmt::Display| {
            Error::unavailable(format!("The directory {} cannot be used: {reason}.", path.display()))
        };
        let absent = |error: std::io::Error| {
            let absent = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
            if absent { Error::not_found(format!("There is no directory {}.", path.display())) } else { cannot(&error) }
        };
        let real = std::fs::canonicalize(path).map_err(absent)?;
        let handle = rustix::fs::open(&real, DIRECTORY, Mode::empty()).map_err(|errno| absent(errno.into()))?;
        let identity = FileId::of(&handle).map_err(|error| cannot(&error))?;
        Ok(Self {
            given: std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
            path: real,
            handle,
            identity,
            read_only: true,
            primary: false,
            guard: Guard::only(&[]),
            hard_links: HardLinks::Allow,
            inner: Vec::new(),
            etags: Arc::default(),
        })
    }

    /// The same directory, read-only and without protected names. The server's own directories stay closed.
    fn for_own_program(&self) -> Result<Self> {
        let read_only = |(identity, rule): &(FileId, Rule)| match rule {
            Rule::Closed => (*identity, Rule::Closed),
            Rule::Writable | Rule::ReadOnly => (*identity, Rule::ReadOnly),
        };
        Ok(Self {
            path: self.path.clone(),
            given: self.given.clone(),
            handle: self.handle.try_clone().map_err(Error::internal)?,
            identity: self.identity,
            read_only: true,
            primary: self.primary,
            guard: Guard::only(&[]),
            hard_links: self.hard_links,
            inner: self.inner.iter().map(read_only).collect(),
            etags: self.etags.clone(),
        })
    }

    /// The canonical path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The rule that begins at a directory, if one does.
    pub(super) fn rule(&self, identity: FileId) -> Option<Rule> {
        self.inner.iter().find(|(inner, _)| *inner == identity).map(|(_, rule)| *rule)
    }

    /// A path as callers see it, and may send back: relative in the workspace, absolute in other roots.
    pub(super) fn display(&self, names: &[OsString]) -> String {
        let mut display = String::new();
        if !self.primary {
            let _ = write!(display, "{}", self.path.display());
        }
        for name in names {
            if !display.is_empty() {
                display.push('/');
            }
            let _ = write!(display, "{}", name.display());
        }
        if display.is_empty() { ".".to_owned() } else { display }
    }

    pub(super) fn absolute(&self, names: &[OsString]) -> PathBuf {
        let mut path = self.path.clone();
        path.extend(names);
        path
    }
}
