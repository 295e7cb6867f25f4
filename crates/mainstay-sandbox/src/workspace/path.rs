//! A path that a caller has named: before anything is opened, and as the place of a change, where it is an open
//! directory and a name in it.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;
use std::sync::Arc;

use mainstay_core::{Error, Result};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::errors::{self, PathContext as _};
use super::fs_ops::{READ_FILE, metadata_at, open_directory, sync_directory};
use super::journal::{DirLocation, UndoEntry};
use super::resolve::{self, Links, MAX_DEPTH, Resolved, names_of};
use super::roots::Rule;
use super::{Dir, EntryKind, Metadata, OpenFile, Root, Workspace};
use crate::identity::FileId;

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
            [] => Metadata::of(&resolved.directory).for_path(&self.display).map(Some),
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

    /// The target for writing: symbolic links are followed, so the file behind one is changed and not the link.
    pub fn write_target(&self) -> Result<WriteTarget> {
        WriteTarget::find(self, Links::Follow)
    }

    /// The entry of this very name, even if it is a symbolic link: for moving and removing.
    pub fn entry_target(&self) -> Result<WriteTarget> {
        WriteTarget::find(self, Links::KeepLast)
    }
}

/// A name in an open directory, in a root that may be changed.
#[derive(Debug)]
pub struct WriteTarget {
    pub(super) path: WorkspacePath,
    /// The last directory of the path that exists.
    pub(super) directory: OwnedFd,
    /// The names that lead to `directory` from the root.
    pub(super) names: Vec<OsString>,
    /// Directories between `directory` and `name` that do not exist yet.
    pub(super) missing: Vec<OsString>,
    pub(super) name: OsString,
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
        let target = Self { path: path.clone(), directory, names, missing: rest, name };
        if !path.root.inner.is_empty()
            && let Some(metadata) = target.metadata()?
        {
            match path.root.rule(metadata.identity) {
                Some(Rule::Closed) => return Err(errors::closed(&path.display)),
                Some(Rule::Writable | Rule::ReadOnly) => return Err(errors::is_a_root(&path.display)),
                None => {}
            }
            // Moving it would leave the path of what is inside to whatever is put there next.
            if links == Links::KeepLast
                && metadata.kind == EntryKind::Directory
                && let Some(inner) = path.workspace.kept_inside(&path.root, metadata.identity)
            {
                return Err(errors::contains_kept(&path.display, inner));
            }
        }
        Ok(target)
    }

    /// The path as callers see it.
    pub fn display(&self) -> &str {
        &self.path.display
    }

    /// The names that lead here from the root, without symbolic links.
    pub(crate) fn resolved_names(&self) -> impl Iterator<Item = &OsStr> {
        self.names.iter().chain(&self.missing).chain([&self.name]).map(OsString::as_os_str)
    }

    /// The last directory of the path that exists, and how many names lead to it from the root.
    pub(crate) fn deepest_directory(&self) -> (&OwnedFd, usize) {
        (&self.directory, self.names.len())
    }

    /// Where the directory is, for a record of the journal.
    pub(super) fn location(&self) -> DirLocation {
        DirLocation { root: self.path.root.path.clone(), names: self.names.clone() }
    }

    /// How to undo the creation of the directories that do not exist yet, from the outermost.
    pub(super) fn undo_missing(&self) -> Vec<UndoEntry> {
        let mut at = self.location();
        let undo = self.missing.iter().map(|name| {
            let undo = UndoEntry::for_directory(at.clone(), name.clone());
            at.names.push(name.clone());
            undo
        });
        undo.collect()
    }

    /// Paths of the directories that have to be created first.
    pub fn missing_directories(&self) -> Vec<String> {
        (1..=self.missing.len())
            .map(|count| {
                let names: Vec<_> = self.names.iter().chain(&self.missing[..count]).cloned().collect();
                self.path.root.display(&names)
            })
            .collect()
    }

    /// Metadata of what has this name at present. A symbolic link is not followed.
    pub fn metadata(&self) -> Result<Option<Metadata>> {
        if !self.missing.is_empty() {
            return Ok(None);
        }
        metadata_at(&self.directory, &self.name, &self.path.display)
    }

    /// The file that has this name at present, if there is one.
    pub fn current(&self) -> Result<Option<OpenFile>> {
        if !self.missing.is_empty() {
            return Ok(None);
        }
        match rustix::fs::openat(&self.directory, &self.name, READ_FILE | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(fd) => OpenFile::new(fd, &self.path.root, self.path.display.clone()).map(Some),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP | Errno::MLINK) => Err(errors::changing(&self.path.display)),
            Err(errno) => Err(errno).for_path(&self.path.display),
        }
    }

    /// Refuses a directory tree with something protected, or another root, in it: it may not be removed.
    pub(super) fn check_tree(&self, wanted: &dyn Fn() -> bool) -> Result<()> {
        let fd = open_directory(&self.directory, &self.name).for_path(&self.path.display)?;
        let names = self.names.iter().chain([&self.name]).cloned().collect();
        self.check_removable(&Dir::new(&self.path.workspace, &self.path.root, &fd, names)?, wanted, 0)
    }

    /// Checks one directory after the other, so that only those on the way down are open.
    fn check_removable(&self, directory: &Dir, wanted: &dyn Fn() -> bool, depth: usize) -> Result<()> {
        errors::check_wanted(wanted)?;
        if self.path.root.rule(FileId::of(directory).for_path(&self.path.display)?).is_some() {
            return Err(errors::is_a_root(&directory.display()));
        }
        let entries = directory.entries()?;
        if let Some(protected) = entries.iter().find(|entry| entry.protected) {
            return Err(errors::protected(&directory.display_child(&protected.name)));
        }
        // The other entries are dropped before the way down.
        let directories = entries.into_iter().filter(|entry| entry.kind == EntryKind::Directory);
        for name in directories.map(|entry| entry.name).collect::<Vec<_>>() {
            if depth >= MAX_DEPTH {
                return Err(errors::too_deep(MAX_DEPTH));
            }
            self.check_removable(&directory.child(&name)?, wanted, depth + 1)?;
        }
        Ok(())
    }

    /// Creates the missing directories; those that are new are added to `made`, so that they can be removed again.
    pub(super) fn make_directories(&mut self, made: &mut Vec<(OwnedFd, OsString)>) -> Result<()> {
        for name in std::mem::take(&mut self.missing) {
            match rustix::fs::mkdirat(&self.directory, &name, Mode::from_raw_mode(0o777)) {
                Ok(()) => made.push((self.directory.try_clone().for_path(&self.path.display)?, name.clone())),
                // Another change has created it meanwhile.
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errors::from_errno(errno, &self.path.display)),
            }
            let deeper = open_directory(&self.directory, &name).for_path(&self.path.display)?;
            // The new entry has to be as durable as what will be written below it.
            sync_directory(&self.directory, &self.path.display)?;
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
