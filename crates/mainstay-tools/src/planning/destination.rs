//! Checks of the destination of a copy or a move.

use std::path::PathBuf;

use mainstay_core::{Error, Result};
use mainstay_sandbox::{Dir, EntryKind, Workspace};

use crate::planning::errors::already_exists;
use crate::planning::plan::Plan;

/// Fails unless something may be put at the item `at`. `from` is the path of the source, `to` the destination as the
/// caller wrote it: with a slash at its end it means a directory, which the caller expects to be filled, not replaced.
pub(crate) fn check_free(plan: &Plan, at: usize, from: &str, to: &str, overwrite: bool) -> Result<()> {
    let path = &plan.items[at].path;
    // The most likely intention, for the error message.
    let name = from.rsplit('/').next().unwrap_or(from);
    let is_directory =
        || Error::field("to", format!("{path} is a directory; give the full new path, such as {path}/{name}."));
    match plan.kind(at) {
        // A directory may become a directory.
        None if to.ends_with('/') && plan.locate("from", from)?.open_dir().is_err() => Err(is_directory()),
        None => Ok(()),
        Some(EntryKind::Directory) => Err(is_directory()),
        Some(EntryKind::File | EntryKind::Symlink | EntryKind::Other) if overwrite => Ok(()),
        Some(EntryKind::File | EntryKind::Symlink | EntryKind::Other) => Err(already_exists(path)),
    }
}

/// Fails if the destination lies in the directory itself, also if a link leads there.
pub(crate) fn check_not_into_itself(plan: &Plan, directory: &Dir, to: &str) -> Result<()> {
    let to = plan.locate("to", to)?;
    if resolve_links(&plan.workspace, to.display())?.starts_with(directory.absolute()) {
        let reason =
            format!("{} is inside {}: a directory cannot be put into itself.", to.display(), directory.display());
        return Err(Error::field("to", reason));
    }
    Ok(())
}

/// The absolute path that a path leads to, with links resolved as far as it exists.
pub(crate) fn resolve_links(workspace: &Workspace, path: &str) -> Result<PathBuf> {
    let (parent, name) = match path.rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some(parts) => parts,
        None => (".", path),
    };
    match workspace.find(parent)?.open_dir() {
        Ok(directory) => Ok(directory.absolute().join(name)),
        Err(_) if parent != "." && parent != "/" => Ok(resolve_links(workspace, parent)?.join(name)),
        Err(error) => Err(error),
    }
}
