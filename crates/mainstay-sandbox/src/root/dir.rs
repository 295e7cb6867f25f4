//! An open directory: its entries, and the way down from it.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use mainstay_core::Result;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use super::fault::{self, About as _};
use super::{Facts, Identity, OpenFile, Root, Rule, Workspace, walk};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    Directory,
    File,
    Symlink,
    /// A pipe, a socket or a device.
    Other,
}

impl From<FileType> for EntryKind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::Directory => Self::Directory,
            FileType::RegularFile => Self::File,
            FileType::Symlink => Self::Symlink,
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Self::Other,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    pub name: OsString,
    pub kind: EntryKind,
    /// It is there, and nothing of it may be seen.
    pub protected: bool,
}

/// A directory that has been reached by walking.
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
    pub(crate) fn new(workspace: &Workspace, root: &Arc<Root>, handle: &OwnedFd, names: Vec<OsString>) -> Result<Self> {
        // What was walked through is a handle that cannot be read; this one can.
        let fd = rustix::fs::openat(handle, ".", listing(), Mode::empty()).about(&root.shown(&names))?;
        Ok(Self { workspace: workspace.clone(), root: root.clone(), fd, names })
    }

    /// The path as it is given back to callers.
    pub fn shown(&self) -> String {
        self.root.shown(&self.names)
    }

    pub fn shown_child(&self, name: &OsStr) -> String {
        let mut names = self.names.clone();
        names.push(name.to_owned());
        self.root.shown(&names)
    }

    /// The names that lead here from the root; links have been resolved.
    pub fn names(&self) -> &[OsString] {
        &self.names
    }

    pub fn root(&self) -> &Arc<Root> {
        &self.root
    }

    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Whether this is the same directory, whatever the two are called.
    pub fn is(&self, other: &Self) -> bool {
        let same = Identity::of(self.fd.as_fd()).and_then(|own| Ok(own == Identity::of(other.fd.as_fd())?));
        same.unwrap_or(false)
    }

    /// Where it was when it was walked to.
    pub fn absolute(&self) -> PathBuf {
        self.root.absolute(&self.names)
    }

    /// Every entry but `.` and `..`, in no order.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let shown = self.shown();
        // A handle of its own: two listings at once would share one position.
        let fd = rustix::fs::openat(&self.fd, ".", listing(), Mode::empty()).about(&shown)?;
        let mut entries = Vec::new();
        for entry in rustix::fs::Dir::new(fd).about(&shown)? {
            let entry = entry.about(&shown)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                // Not every file system tells along with the name.
                let Ok(stat) = rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
                kind = FileType::from_raw_mode(stat.st_mode);
            }
            let kind = kind.into();
            let protected = self.root.guard.protects(name) || self.closes(name, entry.ino());
            entries.push(Entry { protected, name: name.to_owned(), kind });
        }
        Ok(entries)
    }

    /// Whether an entry is one of the server's own directories.
    fn closes(&self, name: &OsStr, inode: u64) -> bool {
        let alike = |(inner, rule): &(Identity, Rule)| inner.inode == inode && *rule == Rule::Closed;
        self.root.inner.iter().any(alike)
            && rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|stat| self.root.rule(Facts::from(&stat).identity) == Some(Rule::Closed))
    }

    /// A directory in this one. A link is not followed.
    pub fn child(&self, name: &OsStr) -> Result<Self> {
        let fd = self.open_child(name, listing() | OFlags::NOFOLLOW)?;
        if !self.root.inner.is_empty() {
            let identity = Identity::of(fd.as_fd()).about(&self.shown())?;
            if self.root.rule(identity) == Some(Rule::Closed) {
                return Err(fault::closed(&self.shown_child(name)));
            }
        }
        let mut names = self.names.clone();
        names.push(name.to_owned());
        Ok(Self { workspace: self.workspace.clone(), root: self.root.clone(), fd, names })
    }

    /// A file in this directory. A link is not followed.
    pub fn file(&self, name: &OsStr) -> Result<OpenFile> {
        let fd = self.open_child(name, walk::reading() | OFlags::NOFOLLOW)?;
        OpenFile::new(fd, &self.root, self.shown_child(name))
    }

    /// What the file system says of an entry. A link is not followed.
    pub fn facts(&self, name: &OsStr) -> Result<Facts> {
        self.plain(name)?;
        let stat = rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW);
        stat.map(|stat| Facts::from(&stat)).map_err(|errno| fault::of(errno, &self.shown_child(name)))
    }

    fn open_child(&self, name: &OsStr, flags: OFlags) -> Result<OwnedFd> {
        self.plain(name)?;
        if self.root.guard.protects(name) {
            return Err(fault::protected(&self.shown_child(name)));
        }
        rustix::fs::openat(&self.fd, name, flags, Mode::empty())
            .map_err(|errno| fault::of(errno, &self.shown_child(name)))
    }

    /// One name, not a path: the kernel would walk a path without us.
    fn plain(&self, name: &OsStr) -> Result<()> {
        let bytes = name.as_bytes();
        if bytes.is_empty() || bytes == b"." || bytes == b".." || bytes.contains(&b'/') {
            return Err(fault::not_found(&self.shown_child(name)));
        }
        Ok(())
    }
}

fn listing() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC
}
