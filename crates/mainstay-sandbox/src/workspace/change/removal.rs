//! Decides whether a directory tree may be removed.

use std::ffi::OsString;

use mainstay_core::Result;
use rustix::fs::Mode;

use crate::identity::FileId;
use crate::workspace::errors::{self, PathContext as _};
use crate::workspace::fs_ops::DIRECTORY;
use crate::workspace::resolve::MAX_DEPTH;
use crate::workspace::{Dir, EntryKind, WriteTarget};

/// Refuses a tree with something protected, or another root, in it. One directory after the other, so that only those
/// on the way down are open.
pub(super) fn check_tree(target: &WriteTarget) -> Result<()> {
    let fd =
        rustix::fs::openat(&target.directory, &target.name, DIRECTORY, Mode::empty()).for_path(target.display())?;
    let mut names = target.names.clone();
    names.push(target.name.clone());
    let top = Dir::new(&target.workspace, &target.root, &fd, names)?;
    let mut pending = subdirectories(&top, target)?;
    let mut open = Vec::new();
    loop {
        let parent = open.last().map_or(&top, |(directory, _)| directory);
        let Some(name) = pending.pop() else {
            match open.pop() {
                Some((_, rest)) => pending = rest,
                None => return Ok(()),
            }
            continue;
        };
        if open.len() >= MAX_DEPTH {
            return Err(errors::too_deep(MAX_DEPTH));
        }
        let directory = parent.child(&name)?;
        let deeper = subdirectories(&directory, target)?;
        open.push((directory, std::mem::replace(&mut pending, deeper)));
    }
}

/// The directories in one, if it and all its entries may be removed.
fn subdirectories(directory: &Dir, target: &WriteTarget) -> Result<Vec<OsString>> {
    let identity = FileId::of(directory).for_path(target.display())?;
    if target.root.rule(identity).is_some() {
        return Err(errors::is_a_root(&directory.display()));
    }
    let entries = directory.entries()?;
    if let Some(protected) = entries.iter().find(|entry| entry.protected) {
        return Err(errors::protected(&directory.display_child(&protected.name)));
    }
    let directories = entries.into_iter().filter(|entry| entry.kind == EntryKind::Directory);
    Ok(directories.map(|entry| entry.name).collect())
}
