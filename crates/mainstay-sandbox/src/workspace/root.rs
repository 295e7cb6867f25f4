//! One directory tree that callers may access.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mainstay_core::{Error, Result};
use rustix::fs::Mode;

use super::etag::EtagCache;
use super::fs_ops::DIRECTORY;
use crate::guard::Guard;
use crate::identity::FileId;
use crate::settings::HardLinks;

/// A directory tree, held by a handle from start to end: renaming or replacing the directory has no effect.
#[derive(Debug)]
pub struct Root {
    /// The canonical path. `given` is the operator's spelling, which may contain symbolic links.
    pub(super) path: PathBuf,
    pub(super) given: PathBuf,
    pub(super) handle: OwnedFd,
    pub(super) identity: FileId,
    pub(super) read_only: bool,
    /// The workspace itself; its paths are displayed without a prefix.
    pub(super) primary: bool,
    pub(super) guard: Guard,
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
    /// Opens a directory as a root. The canonical path is opened without following a link, so it is the one that was
    /// found.
    pub(super) fn open(
        path: &Path,
        read_only: bool,
        guard: Guard,
        hard_links: HardLinks,
        etags: Arc<EtagCache>,
    ) -> Result<Self> {
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
        let given = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let inner = Vec::new();
        Ok(Self { path: real, given, handle, identity, read_only, primary: false, guard, hard_links, inner, etags })
    }

    /// The canonical path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// Whether nothing in this root may be changed.
    pub fn read_only(&self) -> bool {
        self.read_only
    }

    /// Which names are protected in this root.
    pub fn guard(&self) -> &Guard {
        &self.guard
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
