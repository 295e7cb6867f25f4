//! Removing a tree, by handles from top to bottom.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

use mainstay_core::Result;
use rustix::fs::{AtFlags, FileType, Mode};

use super::fault::{self, About as _};
use super::staged::temporary_name;
use super::{DIRECTORY, Dir, EntryKind, Identity, Place};

/// Deeper directories are brought up first: there is a limit to how many can be open.
const DEEPEST: usize = 64;

/// A tree with something protected in it is not removed.
pub(super) fn refuse_protected(place: &Place) -> Result<()> {
    let fd = open(&place.directory, &place.name).about(place.shown())?;
    let mut names = place.names.clone();
    names.push(place.name.clone());
    inspect(&Dir::new(&place.workspace, &place.root, &fd, names)?, place)
}

/// One directory after the other, so that only those on the way down are open.
fn inspect(top: &Dir, place: &Place) -> Result<()> {
    let mut below = subdirectories(top, place)?;
    let mut open = Vec::new();
    loop {
        let parent = open.last().map_or(top, |(directory, _)| directory);
        let Some(name) = below.pop() else {
            match open.pop() {
                Some((_, rest)) => below = rest,
                None => return Ok(()),
            }
            continue;
        };
        if open.len() >= super::DEEPEST {
            return Err(fault::too_deep());
        }
        let directory = parent.child(&name)?;
        let deeper = subdirectories(&directory, place)?;
        open.push((directory, std::mem::replace(&mut below, deeper)));
    }
}

/// The directories in one, if it and all that is in it may go.
fn subdirectories(directory: &Dir, place: &Place) -> Result<Vec<OsString>> {
    let identity = Identity::of(directory.as_fd()).about(place.shown())?;
    if place.root.rule(identity).is_some() {
        return Err(fault::a_root(&directory.shown()));
    }
    let entries = directory.entries()?;
    if let Some(protected) = entries.iter().find(|entry| entry.protected) {
        return Err(fault::protected(&directory.shown_child(&protected.name)));
    }
    let directories = entries.into_iter().filter(|entry| entry.kind == EntryKind::Directory);
    Ok(directories.map(|entry| entry.name).collect())
}

/// Removes whatever has this name. What cannot be removed is reported and left.
pub(super) fn remove_all(directory: &OwnedFd, name: &OsStr) {
    if let Err(error) = remove(directory, name) {
        tracing::warn!(%error, name = %name.display(), "a removed tree could not be cleared away entirely");
    }
}

fn remove(directory: &OwnedFd, name: &OsStr) -> rustix::io::Result<()> {
    match rustix::fs::unlinkat(directory, name, AtFlags::empty()) {
        Err(rustix::io::Errno::ISDIR | rustix::io::Errno::PERM) => {}
        other => return other,
    }
    let top = open(directory, name)?;
    while empty(&top, &top, 0)? {}
    rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR)
}

/// Empties a directory. True if something was brought up to the top and has to be removed there.
fn empty(directory: &OwnedFd, top: &OwnedFd, depth: usize) -> rustix::io::Result<bool> {
    let mut brought_up = false;
    for (name, kind) in list(directory)? {
        if kind != FileType::Directory && rustix::fs::unlinkat(directory, &name, AtFlags::empty()).is_ok() {
            continue;
        }
        if depth >= DEEPEST {
            rustix::fs::renameat(directory, &name, top, temporary_name(".deep"))?;
            brought_up = true;
            continue;
        }
        brought_up |= empty(&open(directory, &name)?, top, depth + 1)?;
        rustix::fs::unlinkat(directory, &name, AtFlags::REMOVEDIR)?;
    }
    Ok(brought_up)
}

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

fn open(directory: &OwnedFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(directory.as_fd(), name, DIRECTORY, Mode::empty())
}
