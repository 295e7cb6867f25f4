//! A path that a caller has named, before anything is opened.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;
use std::sync::Arc;

use mainstay_core::{Error, Result};
use rustix::fs::AtFlags;

use super::errors::{self, PathContext as _};
use super::fs_ops::metadata_at;
use super::resolve::{self, Links, MAX_DEPTH, names_of};
use super::{Dir, Metadata, OpenFile, Root, Workspace};

/// `PATH_MAX` of Linux: a longer path could not be opened anyway.
const MAX_PATH: usize = 4096;

/// The root that a caller's path belongs to, and the names below it. It may lead anywhere: that shows on opening.
#[derive(Debug, Clone)]
pub struct WorkspacePath {
    pub(super) workspace: Workspace,
    pub(super) root: Arc<Root>,
    pub(super) names: Vec<OsString>,
    /// The text ended with a slash, so a file is not accepted.
    directory: bool,
    pub(super) display: String,
}

impl Workspace {
    /// Parses a caller's path: relative to the workspace, or absolute and beneath one of the roots.
    pub fn find(&self, path: &str) -> Result<WorkspacePath> {
        if path.is_empty() {
            return Err(Error::field("path", "The path is empty; \".\" is the workspace itself."));
        }
        if path.len() > MAX_PATH {
            return Err(Error::field("path", format!("The path is longer than {MAX_PATH} bytes.")));
        }
        if path.contains('\0') {
            return Err(Error::field("path", "The path contains a NUL byte."));
        }
        let text = Path::new(path);
        let (root, rest) = if text.is_absolute() { self.root_of(text)? } else { (&self.roots[0], text) };
        let names = names_of(rest);
        if names.len() > MAX_DEPTH {
            return Err(errors::too_deep(MAX_DEPTH));
        }
        Ok(WorkspacePath { directory: path.ends_with('/'), ..self.path(root, names) })
    }

    pub(super) fn path(&self, root: &Arc<Root>, names: Vec<OsString>) -> WorkspacePath {
        let display = root.display(&names);
        WorkspacePath { workspace: self.clone(), root: root.clone(), names, directory: false, display }
    }

    /// The innermost root that an absolute path begins with.
    fn root_of<'a>(&self, text: &'a Path) -> Result<(&Arc<Root>, &'a Path)> {
        let fitting = self.roots.iter().filter_map(|root| {
            let rest = text.strip_prefix(&root.path).or_else(|_| text.strip_prefix(&root.given)).ok()?;
            Some((root, rest))
        });
        fitting.min_by_key(|(_, rest)| rest.components().count()).ok_or_else(errors::outside)
    }
}

impl WorkspacePath {
    /// The path as callers see it.
    pub fn display(&self) -> &str {
        &self.display
    }

    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// The same path without symbolic links and `..`, as they lead at present.
    pub fn resolved(&self) -> Result<Self> {
        let resolved = resolve::resolve(&self.root, &self.names, Links::Follow, &self.display)?;
        let names = resolved.names.into_iter().chain(resolved.rest).collect();
        Ok(Self { directory: self.directory, ..self.workspace.path(&self.root, names) })
    }

    /// Opens the file for reading. Symbolic links are followed as long as they stay inside the root.
    pub fn open_file(&self) -> Result<OpenFile> {
        if self.directory {
            return Err(errors::not_a_file(&self.display));
        }
        let fd = resolve::open_file(&self.root, &self.names, &self.display)?;
        OpenFile::new(fd, &self.root, self.display.clone())
    }

    /// Opens a file without ever waiting for a disk; `None` if that is not possible, for whatever reason.
    pub fn open_cached(&self) -> Option<OpenFile> {
        let fd = resolve::open_cached(&self.root, &self.names).filter(|_| !self.directory)?;
        OpenFile::new(fd, &self.root, self.display.clone()).ok()
    }

    /// Opens the directory. Symbolic links are followed as long as they stay inside the root.
    pub fn open_dir(&self) -> Result<Dir> {
        let resolved = resolve::resolve(&self.root, &self.names, Links::Follow, &self.display)?;
        match resolved.rest.as_slice() {
            [] => Dir::new(&self.workspace, &self.root, &resolved.directory, resolved.names),
            [name] => match rustix::fs::statat(&resolved.directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(_) => Err(Error::field("path", format!("{} is a file, not a directory.", self.display))),
                Err(errno) => Err(errors::from_errno(errno, &self.display)),
            },
            _ => Err(errors::not_found(&self.display)),
        }
    }

    /// Metadata of what is there; `None` if nothing is. If the last name is a symbolic link, the link's own.
    pub fn metadata(&self) -> Result<Option<Metadata>> {
        let resolved = resolve::resolve(&self.root, &self.names, Links::KeepLast, &self.display)?;
        match resolved.rest.as_slice() {
            [] => {
                let stat = rustix::fs::fstat(&resolved.directory).for_path(&self.display)?;
                Ok(Some(Metadata::from(&stat)))
            }
            [name] => metadata_at(&resolved.directory, name, &self.display),
            _ => Ok(None),
        }
    }

    /// The target of a symbolic link, as text.
    pub fn link_target(&self) -> Result<String> {
        let resolved = resolve::resolve(&self.root, &self.names, Links::KeepLast, &self.display)?;
        let [name] = resolved.rest.as_slice() else { return Err(errors::not_found(&self.display)) };
        let target = rustix::fs::readlinkat(&resolved.directory, name, Vec::new()).for_path(&self.display)?;
        Ok(OsString::from_vec(target.into_bytes()).to_string_lossy().into_owned())
    }
}
