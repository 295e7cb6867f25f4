//! Whole directories in a plan: counting what is in them, and copying them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use mainstay_core::{CancellationToken, Error, Kind, Reason, Result};
use mainstay_sandbox::{Content, Dir, Entry, EntryKind, Expect, Staging, Step, WriteTarget};

/// The most entries a directory may contain to be copied.
const MAX_COPIED_ENTRIES: u64 = 200_000;

/// The deepest directory that is entered: each level holds a file descriptor.
const MAX_DEPTH: usize = 200;

/// How many paths a summary lists.
const MAX_LISTED_PATHS: usize = 100;

/// Contents of a directory that was copied or removed.
#[derive(Debug, Clone, Default, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct TreeContents {
    files: u64,
    directories: u64,
    /// Links, pipes, sockets and devices: removed with a directory, but not copied.
    others: u64,
    /// The first paths in it; for a copy, the first paths that were not copied.
    paths: Vec<String>,
    // Of all files together; the reply has it as the size of the directory.
    #[serde(skip)]
    pub(crate) bytes: u64,
}

/// Counts what a directory contains, and lists the first paths of the wanted kinds. A protected entry anywhere in it is
/// an error, so that a directory is never copied or removed together with a protected file.
pub(crate) fn summarize(
    directory: &Dir,
    cancel: &CancellationToken,
    is_listed: fn(EntryKind) -> bool,
) -> Result<TreeContents> {
    let mut contents = TreeContents::default();
    walk_tree(directory, cancel, 0, &mut |at, entry| {
        match entry.kind {
            EntryKind::Directory => contents.directories += 1,
            EntryKind::File => {
                contents.files += 1;
                contents.bytes += at.metadata(&entry.name).map_or(0, |metadata| metadata.size);
            }
            EntryKind::Symlink | EntryKind::Other => contents.others += 1,
        }
        if is_listed(entry.kind) && contents.paths.len() < MAX_LISTED_PATHS {
            contents.paths.push(at.display_child(&entry.name));
        }
        Ok(())
    })?;
    Ok(contents)
}

/// Like [`summarize`], for a directory that is to be copied: fails if it has too many entries.
pub(crate) fn summarize_for_copy(directory: &Dir, cancel: &CancellationToken) -> Result<TreeContents> {
    let is_skipped = |kind| matches!(kind, EntryKind::Symlink | EntryKind::Other);
    let contents = summarize(directory, cancel, is_skipped)?;
    if contents.files + contents.directories <= MAX_COPIED_ENTRIES {
        return Ok(contents);
    }
    let message = format!("{} contains more than {MAX_COPIED_ENTRIES} entries.", directory.display());
    Err(Error::new(Kind::TooLarge, message))
}

/// Calls `each` for every entry below a directory, sorted by name, a directory before its contents. Links are not
/// followed, and a protected entry is an error.
pub(crate) fn walk_tree(
    directory: &Dir,
    cancel: &CancellationToken,
    depth: usize,
    each: &mut dyn FnMut(&Dir, &Entry) -> Result<()>,
) -> Result<()> {
    for entry in sorted_entries(directory)? {
        crate::progress::check_cancelled(cancel)?;
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
/// commit then renames the staging directory: the copy appears at once or not at all. `count` is told the size of each
/// file before it is copied, and may refuse it.
pub(crate) fn copy(
    from: &Dir,
    to: &WriteTarget,
    cancel: &CancellationToken,
    count: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<Staging> {
    let workspace = from.workspace();
    let staging = workspace.staging(to)?;
    let commit = |step| workspace.commit_while(vec![step], &|| !cancel.is_cancelled()).map(drop);
    let make_directory = |path: &Path, mode: u32| {
        // The owner may always write: the contents are put into the directory after it is made.
        commit(Step::MakeDirectory { target: staging.path(path).write_target()?, mode: Some(mode & 0o777 | 0o700) })
    };
    // Without known permissions the copy is for its owner alone.
    let metadata = workspace.find(&from.display())?.metadata()?;
    make_directory(Path::new(""), metadata.map_or(0o700, |metadata| metadata.mode))?;
    walk_tree(from, cancel, 0, &mut |at, entry| {
        let name = entry.name.to_str().ok_or_else(|| not_utf8(&at.display_child(&entry.name)))?;
        let path = at.names()[from.names().len()..].iter().collect::<PathBuf>().join(name);
        match entry.kind {
            EntryKind::File => {
                let file = at.file(&entry.name)?;
                count(file.metadata().size)?;
                let mode = Some(file.metadata().mode & 0o777);
                let (target, content) = (staging.path(&path).write_target()?, Content::Copy(file));
                commit(Step::Put { target, content, expect: Expect::Nothing, mode })
            }
            EntryKind::Directory => make_directory(&path, at.metadata(&entry.name)?.mode),
            // A link may lead anywhere, and a pipe or device has no content to copy.
            EntryKind::Symlink | EntryKind::Other => Ok(()),
        }
    })?;
    Ok(staging)
}

fn not_utf8(path: &str) -> Error {
    Error::field("from", format!("The name of {path} is not UTF-8; a directory that contains it cannot be copied."))
}
