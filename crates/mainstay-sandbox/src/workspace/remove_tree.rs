//! Removes a directory tree by handles, from top to bottom.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, Mode};
use rustix::io::Errno;

use super::fs_ops::{DIRECTORY, list, temporary_name};

/// Deeper directories are moved up before they are removed: each level holds a handle, and the number of open files is
/// limited.
const MAX_OPEN: usize = 64;

/// Removes whatever has this name. What cannot be removed is logged and stays.
pub(super) fn remove_all(directory: &OwnedFd, name: &OsStr) {
    if let Err(error) = remove(directory, name) {
        tracing::warn!(%error, name = %name.display(), "a removed directory tree could not be deleted completely");
    }
}

fn remove(directory: &OwnedFd, name: &OsStr) -> rustix::io::Result<()> {
    match rustix::fs::unlinkat(directory, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => {}
        other => return other,
    }
    let top = open(directory, name)?;
    while empty(&top, &top, 0)? {}
    rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR)
}

/// Empties a directory. Returns true if something was moved up to `top` and has to be removed there.
fn empty(directory: &OwnedFd, top: &OwnedFd, depth: usize) -> rustix::io::Result<bool> {
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
        moved_up |= empty(&open(directory, &name)?, top, depth + 1)?;
        rustix::fs::unlinkat(directory, &name, AtFlags::REMOVEDIR)?;
    }
    Ok(moved_up)
}

fn open(directory: &OwnedFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(directory, name, DIRECTORY, Mode::empty())
}
