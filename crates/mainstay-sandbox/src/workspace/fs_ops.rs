//! File-system operations relative to an open directory, shared by changes, the journal and atomic directories: among
//! them the removal of a directory tree.
//!
//! Everything here takes a directory handle and a single name; no path is resolved.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

use mainstay_core::{Result, new_id};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::path::Arg;

use super::errors::PathContext as _;
use super::metadata::Metadata;

/// Opens a directory by its own name: a symbolic link of that name is refused.
pub(crate) const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a directory in another one, or that one again as `.`: a handle opened with `O_PATH` can be neither listed nor
/// synced, and a new one has a read position of its own.
pub(super) fn open_directory(directory: impl AsFd, name: impl Arg) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(directory, name, DIRECTORY, Mode::empty())
}

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
        Err(errno) => Err(errno).for_path(display),
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
        rustix::fs::fchmod(open_directory(directory, name)?, Mode::from_raw_mode(mode))?;
    }
    Ok(())
}

/// Flushes the names of a directory to disk: without it a rename may be lost in a power failure.
pub(super) fn sync_directory(directory: &OwnedFd, display: &str) -> Result<()> {
    match rustix::fs::fsync(open_directory(directory, ".").for_path(display)?) {
        // Some file systems have nothing to flush.
        Err(Errno::INVAL | Errno::ROFS) => Ok(()),
        synced => synced.for_path(display),
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

/// Renames without ever replacing anything.
pub(super) fn rename_no_replace(from: &OwnedFd, old: &OsStr, to: &OwnedFd, new: &OsStr) -> rustix::io::Result<()> {
    match rename_with(from, old, to, new, false) {
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

/// `renameat2`: exchanges the two names, or fails with `EEXIST` if the new one exists. `ENOSYS` on systems without it.
#[cfg_attr(
    not(any(target_vendor = "apple", all(target_os = "linux", not(mainstay_unsupported)))),
    expect(unused_variables, reason = "there is nothing to call")
)]
pub(super) fn rename_with(
    from: &OwnedFd,
    old: &OsStr,
    to: &OwnedFd,
    new: &OsStr,
    exchange: bool,
) -> rustix::io::Result<()> {
    #[cfg(any(target_vendor = "apple", all(target_os = "linux", not(mainstay_unsupported))))]
    {
        use rustix::fs::RenameFlags;
        let flags = if exchange { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
        rustix::fs::renameat_with(from, old, to, new, flags)
    }
    #[cfg(not(any(target_vendor = "apple", all(target_os = "linux", not(mainstay_unsupported)))))]
    Err(Errno::NOSYS)
}

/// Deeper directories are moved up before they are removed: each level holds a handle, and the number of open files is
/// limited.
const MAX_OPEN: usize = 64;

/// Removes whatever has this name. What cannot be removed is logged and stays.
pub(super) fn remove_all(directory: &OwnedFd, name: &OsStr) {
    if let Err(error) = try_remove_all(directory, name) {
        tracing::warn!(%error, name = %name.display(), "a removed directory tree could not be deleted completely");
    }
}

fn try_remove_all(directory: &OwnedFd, name: &OsStr) -> rustix::io::Result<()> {
    match rustix::fs::unlinkat(directory, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => {}
        other => return other,
    }
    let top = open_directory(directory, name)?;
    while empty_directory(&top, &top, 0)? {}
    rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR)
}

/// Empties a directory. Returns true if something was moved up to `top` and has to be removed there.
fn empty_directory(directory: &OwnedFd, top: &OwnedFd, depth: usize) -> rustix::io::Result<bool> {
    let mut moved_up = false;
    for (name, kind) in list(directory)? {
        if kind != FileType::Directory && rustix::fs::unlinkat(directory, &name, AtFlags::empty()).is_ok() {
            continue;
        }
        if depth >= MAX_OPEN {
            rustix::fs::renameat(directory, &name, top, temporary_name(".deep"))?;
            moved_up = true;
            continue;
        }
        moved_up |= empty_directory(&open_directory(directory, &name)?, top, depth + 1)?;
        rustix::fs::unlinkat(directory, &name, AtFlags::REMOVEDIR)?;
    }
    Ok(moved_up)
}
