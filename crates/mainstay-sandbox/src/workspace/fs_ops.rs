//! File-system operations relative to an open directory, shared by changes, the journal and atomic directories.
//!
//! Everything here takes a directory handle and a single name; no path is resolved.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;

use mainstay_core::{Result, new_id};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::errors::{self, PathContext as _};
use super::metadata::Metadata;

/// Opens a directory by its own name: a symbolic link of that name is refused.
pub(crate) const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a file for reading without side effects: does not wait for the other end of a pipe, and does not make a
/// terminal the controlling one.
pub(super) const READ_FILE: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// A name of our own that nothing else has. The prefix tells our leftovers from the user's files.
pub(super) fn temporary_name(suffix: &str) -> OsString {
    format!(".mainstay-{}{suffix}", new_id()).into()
}

/// Metadata of an entry; `None` if there is none. A symbolic link is not followed.
pub(super) fn metadata_at(directory: &OwnedFd, name: &OsStr, display: &str) -> Result<Option<Metadata>> {
    match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(Metadata::from(&stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errors::from_errno(errno, display)),
    }
}

/// The entries of a directory, without `.` and `..`.
pub(super) fn list(directory: &OwnedFd) -> rustix::io::Result<Vec<(OsString, FileType)>> {
    let mut entries = Vec::new();
    for entry in rustix::fs::Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            entries.push((OsStr::from_bytes(name).to_owned(), entry.file_type()));
        }
    }
    Ok(entries)
}

/// Creates a directory. A given mode is applied as it is, whatever the process's umask.
pub(super) fn make_directory(directory: &OwnedFd, name: &OsStr, mode: Option<u32>) -> rustix::io::Result<()> {
    rustix::fs::mkdirat(directory, name, Mode::from_raw_mode(0o777))?;
    if let Some(mode) = mode {
        let made = rustix::fs::openat(directory, name, DIRECTORY, Mode::empty())?;
        rustix::fs::fchmod(&made, Mode::from_raw_mode(mode))?;
    }
    Ok(())
}

/// Flushes the names of a directory to disk: without it a rename may be lost in a power failure.
pub(super) fn sync_directory(directory: &OwnedFd, display: &str) -> Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // A handle opened with O_PATH cannot be synced.
    let readable = rustix::fs::openat(directory, ".", flags, Mode::empty()).for_path(display)?;
    match rustix::fs::fsync(&readable) {
        // Some file systems have nothing to flush.
        Ok(()) | Err(Errno::INVAL | Errno::ROFS) => Ok(()),
        Err(errno) => Err(errors::from_errno(errno, display)),
    }
}

/// Gives a new file the owner of the one that it replaces, where the system allows it.
pub(super) fn keep_owner(file: &File, old: &Metadata) {
    let Ok(now) = rustix::fs::fstat(file) else { return };
    if (now.st_uid, now.st_gid) != old.owner {
        let (user, group) = (rustix::fs::Uid::from_raw(old.owner.0), rustix::fs::Gid::from_raw(old.owner.1));
        let _ = rustix::fs::fchown(file, Some(user), Some(group));
    }
}

/// How an atomic rename treats an entry that has the new name already.
#[derive(Debug, Clone, Copy)]
pub(super) enum RenameMode {
    /// Fail with EEXIST.
    NoReplace,
    /// Exchange the two names.
    Exchange,
}

/// Renames without ever replacing anything.
pub(super) fn rename_no_replace(from: &OwnedFd, old: &OsStr, to: &OwnedFd, new: &OsStr) -> rustix::io::Result<()> {
    match rename_with(from, old, to, new, RenameMode::NoReplace) {
        // The file system does not support it. The caller holds the lock, so only foreign programs can interfere
        // between this check and the rename.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            match rustix::fs::statat(to, new, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(_) => Err(Errno::EXIST),
                Err(_) => rustix::fs::renameat(from, old, to, new),
            }
        }
        other => other,
    }
}

/// `renameat2`; `ENOSYS` on systems without it.
#[cfg(any(target_vendor = "apple", all(target_os = "linux", not(mainstay_unsupported))))]
pub(super) fn rename_with(
    from: &OwnedFd,
    old: &OsStr,
    to: &OwnedFd,
    new: &OsStr,
    mode: RenameMode,
) -> rustix::io::Result<()> {
    let flags = match mode {
        RenameMode::NoReplace => rustix::fs::RenameFlags::NOREPLACE,
        RenameMode::Exchange => rustix::fs::RenameFlags::EXCHANGE,
    };
    rustix::fs::renameat_with(from, old, to, new, flags)
}

#[cfg(not(any(target_vendor = "apple", all(target_os = "linux", not(mainstay_unsupported)))))]
pub(super) fn rename_with(
    _from: &OwnedFd,
    _old: &OsStr,
    _to: &OwnedFd,
    _new: &OsStr,
    _mode: RenameMode,
) -> rustix::io::Result<()> {
    Err(Errno::NOSYS)
}
