//! Where a change takes place: an open directory, and a name in it.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use mainstay_core::Result;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::errors::{self, PathContext as _};
use super::fs_ops::{DIRECTORY, READ_FILE, metadata_at, sync_directory};
use super::journal::DirLocation;
use super::resolve::{self, Links, Resolved};
use super::{Metadata, OpenFile, Root, Workspace, WorkspacePath};

/// A name in an open directory, in a root that may be changed.
#[derive(Debug)]
pub struct WriteTarget {
    pub(super) workspace: Workspace,
    pub(super) root: Arc<Root>,
    /// The last directory of the path that exists.
    pub(super) directory: OwnedFd,
    /// The names that lead to `directory` from the root.
    pub(super) names: Vec<OsString>,
    /// Directories between `directory` and `name` that do not exist yet.
    pub(super) missing: Vec<OsString>,
    pub(super) name: OsString,
    display: String,
}

impl WorkspacePath {
    /// The target for writing: symbolic links are followed, so the file behind one is changed and not the link.
    pub fn write_target(&self) -> Result<WriteTarget> {
        WriteTarget::find(self, Links::Follow)
    }

    /// The entry of this very name, even if it is a symbolic link: for moving and removing.
    pub fn entry_target(&self) -> Result<WriteTarget> {
        WriteTarget::find(self, Links::KeepLast)
    }
}

impl WriteTarget {
    /// Resolves a path for a change. Neither a root nor anything in a read-only part can be a target.
    fn find(path: &WorkspacePath, links: Links) -> Result<Self> {
        let Resolved { directory, names, read_only, mut rest } =
            resolve::resolve(&path.root, &path.names, links, path.display())?;
        if read_only {
            return Err(errors::read_only(path.display()));
        }
        let (directory, names, name) = match rest.pop() {
            Some(name) => (directory, names, name),
            None => parent(path, names)?,
        };
        let (workspace, root, display) = (path.workspace.clone(), path.root.clone(), path.display.clone());
        let target = Self { workspace, root, directory, names, missing: rest, name, display };
        if !target.root.inner.is_empty()
            && let Some(metadata) = target.metadata()?
            && target.root.rule(metadata.identity).is_some()
        {
            return Err(errors::is_a_root(&target.display));
        }
        Ok(target)
    }

    /// The path as callers see it.
    pub fn display(&self) -> &str {
        &self.display
    }

    /// Where the directory is, for a record of the journal.
    pub(super) fn location(&self) -> DirLocation {
        DirLocation { root: self.root.path.clone(), names: self.names.clone() }
    }

    /// Paths of the directories that have to be created first.
    pub fn missing_directories(&self) -> Vec<String> {
        (1..=self.missing.len())
            .map(|count| {
                let names: Vec<_> = self.names.iter().chain(&self.missing[..count]).cloned().collect();
                self.root.display(&names)
            })
            .collect()
    }

    /// Metadata of what has this name at present. A symbolic link is not followed.
    pub fn metadata(&self) -> Result<Option<Metadata>> {
        if !self.missing.is_empty() {
            return Ok(None);
        }
        metadata_at(&self.directory, &self.name, &self.display)
    }

    /// The file that has this name at present, if there is one.
    pub fn current(&self) -> Result<Option<OpenFile>> {
        if !self.missing.is_empty() {
            return Ok(None);
        }
        match rustix::fs::openat(&self.directory, &self.name, READ_FILE | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(fd) => OpenFile::new(fd, &self.root, self.display.clone()).map(Some),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP | Errno::MLINK) => Err(errors::changing(&self.display)),
            Err(errno) => Err(errors::from_errno(errno, &self.display)),
        }
    }

    /// Creates the missing directories; those that are new are added to `made`, so that they can be removed again.
    pub(super) fn make_directories(&mut self, made: &mut Vec<(OwnedFd, OsString)>) -> Result<()> {
        for name in std::mem::take(&mut self.missing) {
            match rustix::fs::mkdirat(&self.directory, &name, Mode::from_raw_mode(0o777)) {
                Ok(()) => made.push((self.directory.try_clone().for_path(&self.display)?, name.clone())),
                // Another change has created it meanwhile.
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errors::from_errno(errno, &self.display)),
            }
            let deeper =
                rustix::fs::openat(&self.directory, &name, DIRECTORY, Mode::empty()).for_path(&self.display)?;
            // The new entry has to be as durable as what will be written below it.
            sync_directory(&self.directory, &self.display)?;
            self.directory = deeper;
            self.names.push(name);
        }
        Ok(())
    }
}

/// The parent of an existing directory, and its name in there. A root has no parent that may be changed.
fn parent(path: &WorkspacePath, mut names: Vec<OsString>) -> Result<(OwnedFd, Vec<OsString>, OsString)> {
    let Some(name) = names.pop() else {
        return Err(errors::is_a_root(path.display()));
    };
    let resolved = resolve::resolve(&path.root, &names, Links::Follow, path.display())?;
    if resolved.read_only {
        return Err(errors::read_only(path.display()));
    }
    if resolved.rest.is_empty() { Ok((resolved.directory, names, name)) } else { Err(errors::changing(path.display())) }
}
