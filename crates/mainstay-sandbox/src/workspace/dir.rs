//! An open directory: its entries, and the files and directories directly in it.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use mainstay_core::Result;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use super::errors::{self, PathContext as _};
use super::fs_ops::{DIRECTORY, READ_FILE, open_directory};
use super::roots::{Root, Rule};
use super::{EntryKind, Metadata, OpenFile, Workspace};
use crate::identity::FileId;

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    pub name: OsString,
    pub kind: EntryKind,
    /// The name may be listed, but nothing behind it may be read.
    pub protected: bool,
}

/// A directory beneath a root, reached through `resolve.rs` or from another `Dir`.
#[derive(Debug)]
pub struct Dir {
    workspace: Workspace,
    root: Arc<Root>,
    fd: OwnedFd,
    names: Vec<OsString>,
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Dir {
    pub(super) fn new(workspace: &Workspace, root: &Arc<Root>, handle: &OwnedFd, names: Vec<OsString>) -> Result<Self> {
        let fd = open_directory(handle, ".").for_path(&root.display(&names))?;
        Ok(Self { workspace: workspace.clone(), root: root.clone(), fd, names })
    }

    /// The path as callers see it.
    pub fn display(&self) -> String {
        self.root.display(&self.names)
    }

    /// The path of an entry as callers see it.
    pub fn display_child(&self, name: &OsStr) -> String {
        self.root.display(&self.child_names(name))
    }

    fn child_names(&self, name: &OsStr) -> Vec<OsString> {
        let mut names = self.names.clone();
        names.push(name.to_owned());
        names
    }

    /// The names that lead here from the root, without symbolic links.
    pub fn names(&self) -> &[OsString] {
        &self.names
    }

    pub fn root(&self) -> &Arc<Root> {
        &self.root
    }

    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Whether this is the same directory, by whatever names the two were reached.
    pub fn is_same(&self, other: &Self) -> bool {
        FileId::of(&self.fd).is_ok_and(|own| FileId::of(&other.fd) == Ok(own))
    }

    /// The absolute path at the time the directory was opened.
    pub fn absolute(&self) -> PathBuf {
        self.root.absolute(&self.names)
    }

    /// Every entry except `.` and `..`, in no particular order.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        // The path is only put together for an error: a walk lists thousands of directories.
        let failed = |errno| errors::from_errno(errno, &self.display());
        // A handle of its own: two listings at once would share one read position.
        let fd = open_directory(&self.fd, ".").map_err(failed)?;
        let mut entries = Vec::new();
        for entry in rustix::fs::Dir::new(fd).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                // Not every file system stores the type with the name.
                let Ok(stat) = rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
                kind = FileType::from_raw_mode(stat.st_mode);
            }
            let kind = kind.into();
            let protected = self.root.guard.protects(name) || self.is_closed(name, entry.ino());
            entries.push(Entry { protected, name: name.to_owned(), kind });
        }
        Ok(entries)
    }

    /// Whether an entry is one of the server's own directories. The inode is compared first, because a full check
    /// needs a system call for each entry.
    fn is_closed(&self, name: &OsStr, inode: u64) -> bool {
        let alike = |(inner, rule): &(FileId, Rule)| inner.inode == inode && *rule == Rule::Closed;
        self.root.inner.iter().any(alike)
            && FileId::of_entry(&self.fd, name).is_ok_and(|found| self.root.rule(found) == Some(Rule::Closed))
    }

    /// Opens a directory in this one. A symbolic link is not followed.
    pub fn child(&self, name: &OsStr) -> Result<Self> {
        let fd = self.open_child(name, DIRECTORY)?;
        if !self.root.inner.is_empty() {
            let identity = FileId::of(&fd).for_path(&self.display())?;
            if self.root.rule(identity) == Some(Rule::Closed) {
                return Err(errors::closed(&self.display_child(name)));
            }
        }
        Ok(Self { workspace: self.workspace.clone(), root: self.root.clone(), fd, names: self.child_names(name) })
    }

    /// Opens a file in this directory. A symbolic link is not followed.
    pub fn file(&self, name: &OsStr) -> Result<OpenFile> {
        let fd = self.open_child(name, READ_FILE | OFlags::NOFOLLOW)?;
        OpenFile::new(fd, &self.root, self.display_child(name))
    }

    /// Metadata of an entry. A symbolic link is not followed.
    pub fn metadata(&self, name: &OsStr) -> Result<Metadata> {
        self.check_name(name)?;
        let stat = rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW);
        stat.map(|stat| Metadata::from(&stat)).map_err(|errno| errors::from_errno(errno, &self.display_child(name)))
    }

    /// Opens an entry after checking its name.
    fn open_child(&self, name: &OsStr, flags: OFlags) -> Result<OwnedFd> {
        self.check_name(name)?;
        if self.root.guard.protects(name) {
            return Err(errors::protected(&self.display_child(name)));
        }
        rustix::fs::openat(&self.fd, name, flags, Mode::empty())
            .map_err(|errno| errors::from_errno(errno, &self.display_child(name)))
    }

    /// Accepts a single name and no path: the kernel would follow a path without our checks.
    fn check_name(&self, name: &OsStr) -> Result<()> {
        let bytes = name.as_bytes();
        if bytes.is_empty() || bytes == b"." || bytes == b".." || bytes.contains(&b'/') {
            return Err(errors::not_found(&self.display_child(name)));
        }
        Ok(())
    }
}
