//! What a file is, independent of its name.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::AtFlags;

/// Device and inode number of a file or directory.
///
/// Two names with the same identity are the same file for as long as one of them is held open. The kernel reuses inode
/// numbers of removed files, so an identity that was stored proves nothing about a file that is opened later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) struct FileId {
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

impl FileId {
    /// The identity of an open file.
    pub(crate) fn of(fd: impl AsFd) -> rustix::io::Result<Self> {
        rustix::fs::fstat(fd).map(|stat| Self::from(&stat))
    }

    /// The identity of what a path leads to.
    pub(crate) fn of_path(path: &Path) -> rustix::io::Result<Self> {
        rustix::fs::stat(path).map(|stat| Self::from(&stat))
    }

    /// The identity of an entry of a directory. A symbolic link is not followed.
    pub(crate) fn of_entry(directory: impl AsFd, name: &OsStr) -> rustix::io::Result<Self> {
        rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| Self::from(&stat))
    }
}

impl From<&rustix::fs::Stat> for FileId {
    #[cfg_attr(
        target_os = "linux",
        expect(clippy::unnecessary_cast, reason = "the number is narrower on other systems")
    )]
    #[cfg_attr(
        target_vendor = "apple",
        expect(clippy::cast_sign_loss, reason = "the number only has to be the same each time")
    )]
    fn from(stat: &rustix::fs::Stat) -> Self {
        Self { device: stat.st_dev as u64, inode: stat.st_ino }
    }
}
