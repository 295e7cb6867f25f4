//! Whole directories in a plan: counting what is in them, and copying them.

use std::ffi::OsStr;
use std::path::Path;

use mainstay_core::{CancellationToken, Error, Kind, Reason, Result};
use mainstay_sandbox::{Content, Dir, Entry, EntryKind, Expect, Staging, Step, WriteTarget};

use crate::progress::check_cancelled;

/// The most entries a directory may contain to be copied.
const MAX_COPIED_ENTRIES: u64 = 200_000;

/// The deepest directory that is entered: each level holds a file descriptor.
const MAX_DEPTH: usize = 200;

/// How many paths a summary lists.
const MAX_LISTED_PATHS: usize = 100;

/// What a directory contains.
#[derive(Debug, Default)]
pub(crate) struct TreeSummary {
    pub(crate) files: u64,
    pub(crate) directories: u64,
    pub(crate) bytes: u64,
    /// Links, pipes, sockets and devices.
    pub(crate) others: u64,
    /// The first paths in it.
    pub(crate) paths: Vec<String>,
    /// The first paths of links, pipes, sockets and devices.
    pub(crate) other_paths: Vec<String>,
}

/// Counts what a directory contains. A protected entry anywhere in it is an error, so that a directory is never moved,
/// copied or removed together with a protected file.
pub(crate) fn summarize(directory: &Dir, cancel: &CancellationToken) -> Result<TreeSummary> {
    let mut summary = TreeSummary::default();
    walk_tree(directory, cancel, 0, &mut |at, entry| {
        let path = at.display_child(&entry.name);
        match entry.kind {
            EntryKind::Directory => summary.directories += 1,
            EntryKind::File => {
                summary.files += 1;
                summary.bytes += at.metadata(&entry.name).map_or(0, |metadata| metadata.size);
            }
            EntryKind::Symlink | EntryKind::Other => {
                summary.others += 1;
                if summary.other_paths.len() < MAX_LISTED_PATHS {
                    summary.other_paths.push(path.clone());
                }
            }
        }
        if summary.paths.len() < MAX_LISTED_PATHS {
            summary.paths.push(path);
        }
        Ok(())
    })?;
    Ok(summary)
}

/// Like [`summarize`], for a directory that is to be copied: fails if it has too many entries.
pub(crate) fn summarize_for_copy(directory: &Dir, cancel: &CancellationToken) -> Result<TreeSummary> {
    let summary = summarize(directory, cancel)?;
    if summary.files + summary.directories <= MAX_COPIED_ENTRIES {
        return Ok(summary);
    }
    let message = format!("{} contains more than {MAX_COPIED_ENTRIES} entries.", directory.display());
    Err(Error::new(Kind::TooLarge, message))
}

/// Calls `each` for every entry below a directory, sorted by name, a directory before its contents. Links are not
/// followed.
pub(crate) fn walk_tree(
    directory: &Dir,
    cancel: &CancellationToken,
    depth: usize,
    each: &mut dyn FnMut(&Dir, &Entry) -> Result<()>,
) -> Result<()> {
    for entry in sorted_entries(directory)? {
        check_cancelled(cancel)?;
        each(directory, &entry)?;
        if entry.kind == EntryKind::Directory {
            walk_tree(&open_child(directory, &entry.name, depth)?, cancel, depth + 1, each)?;
        }
    }
    Ok(())
}

fn sorted_entries(directory: &Dir) -> Result<Vec<Entry>> {
    let mut entries = directory.entries()?;
    entries.sort();
    let Some(protected) = entries.iter().find(|entry| entry.protected) else { return Ok(entries) };
    let path = directory.display_child(&protected.name);
    let message = format!("{path} is protected, so a directory that contains it cannot be changed.");
    Err(Error::denied(message).with_reason(Reason::path(&path)))
}

fn open_child(directory: &Dir, name: &OsStr, depth: usize) -> Result<Dir> {
    if depth < MAX_DEPTH {
        return directory.child(name);
    }
    let path = directory.display_child(name);
    Err(Error::new(Kind::TooLarge, format!("{path} is more than {MAX_DEPTH} directories deep.")))
}

/// Fails if another root of the workspace lies in the directory: moving or removing it would take the root along.
pub(crate) fn check_contains_no_root(directory: &Dir) -> Result<()> {
    let here = directory.absolute();
    match directory.workspace().roots().iter().find(|root| root.path().starts_with(&here)) {
        Some(root) => Err(Error::denied(format!(
            "{} contains {}, a root of the workspace, and cannot be moved or removed.",
            directory.display(),
            root.path().display()
        ))),
        None => Ok(()),
    }
}

/// Copies a directory into a staging directory near `to`, one file at a time, so that few files are open at once. The
/// commit then renames the staging directory: the copy appears at once or not at all.
pub(crate) fn copy(from: &Dir, to: &WriteTarget, cancel: &CancellationToken) -> Result<Staging> {
    let workspace = from.workspace();
    let staging = workspace.staging(to)?;
    // Without known permissions the copy is for its owner alone.
    let metadata = workspace.find(&from.display())?.metadata()?;
    fill(&staging, Path::new(""), from, metadata.map_or(0o700, |metadata| metadata.mode), cancel, 0)?;
    Ok(staging)
}

/// Creates the directory `to` in the staging directory, and copies the contents of `from` into it.
fn fill(staging: &Staging, to: &Path, from: &Dir, mode: u32, cancel: &CancellationToken, depth: usize) -> Result<()> {
    let commit = |step| from.workspace().commit(vec![step]).map(drop);
    // The owner may always write: the contents are put into the directory after it is made.
    commit(Step::MakeDirectory { target: staging.path(to).write_target()?, mode: Some(mode & 0o777 | 0o700) })?;
    for entry in sorted_entries(from)? {
        check_cancelled(cancel)?;
        let name = entry.name.to_str().ok_or_else(|| not_utf8(&from.display_child(&entry.name)))?;
        let path = to.join(name);
        match entry.kind {
            EntryKind::File => {
                let file = from.file(&entry.name)?;
                let mode = Some(file.metadata().mode & 0o777);
                let (target, content) = (staging.path(&path).write_target()?, Content::Copy(file));
                commit(Step::Put { target, content, expect: Expect::Nothing, mode })?;
            }
            EntryKind::Directory => {
                let mode = from.metadata(&entry.name)?.mode;
                fill(staging, &path, &open_child(from, &entry.name, depth)?, mode, cancel, depth + 1)?;
            }
            // A link may lead anywhere, and a pipe or device has no content to copy.
            EntryKind::Symlink | EntryKind::Other => {}
        }
    }
    Ok(())
}

fn not_utf8(path: &str) -> Error {
    Error::field("from", format!("The name of {path} is not UTF-8; a directory that contains it cannot be copied."))
}
