//! Whole directories: what is in them, and copies of them.

use std::ffi::OsStr;
use std::path::Path;

use mainstay_core::{CancellationToken, Error, Kind, Reason, Result};
use mainstay_sandbox::{Content, Dir, Entry, EntryKind, Expect, Staging, Step, WriteTarget};

use super::plan::alive;

/// The most entries a directory may have in it to be copied.
const ENTRIES: u64 = 200_000;

/// One directory is held open for each level.
const DEEPEST: usize = 200;

/// Paths that are named one by one.
const NAMED: usize = 100;

/// What is in a directory.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) files: u64,
    pub(super) directories: u64,
    pub(super) bytes: u64,
    /// Links, pipes and the like.
    pub(super) others: u64,
    /// The first of what is in it.
    pub(super) paths: Vec<String>,
    /// The first of the links and the like.
    pub(super) other_paths: Vec<String>,
}

/// Counts what is in a directory. Something protected in it is an error.
pub(super) fn survey(directory: &Dir, cancel: &CancellationToken) -> Result<Survey> {
    let mut survey = Survey::default();
    visit(directory, cancel, 0, &mut |at, entry| {
        let path = at.display_child(&entry.name);
        match entry.kind {
            EntryKind::Directory => survey.directories += 1,
            EntryKind::File => {
                survey.files += 1;
                survey.bytes += at.metadata(&entry.name).map_or(0, |facts| facts.size);
            }
            EntryKind::Symlink | EntryKind::Other => {
                survey.others += 1;
                if survey.other_paths.len() < NAMED {
                    survey.other_paths.push(path.clone());
                }
            }
        }
        if survey.paths.len() < NAMED {
            survey.paths.push(path);
        }
        Ok(())
    })?;
    Ok(survey)
}

/// Looks at every entry beneath a directory, in the order of their names. Links are not followed.
pub(super) fn visit(
    directory: &Dir,
    cancel: &CancellationToken,
    depth: usize,
    each: &mut dyn FnMut(&Dir, &Entry) -> Result<()>,
) -> Result<()> {
    for entry in sorted(directory)? {
        alive(cancel)?;
        each(directory, &entry)?;
        if entry.kind == EntryKind::Directory {
            visit(&deeper(directory, &entry.name, depth)?, cancel, depth + 1, each)?;
        }
    }
    Ok(())
}

fn sorted(directory: &Dir) -> Result<Vec<Entry>> {
    let mut entries = directory.entries()?;
    entries.sort();
    match entries.iter().find(|entry| entry.protected) {
        Some(entry) => Err(protected(&directory.display_child(&entry.name))),
        None => Ok(entries),
    }
}

fn deeper(directory: &Dir, name: &OsStr, depth: usize) -> Result<Dir> {
    if depth < DEEPEST {
        return directory.child(name);
    }
    let path = directory.display_child(name);
    Err(Error::new(Kind::TooLarge, format!("{path} is more than {DEEPEST} directories deep.")))
}

/// A directory with another root in it stays where it is.
pub(super) fn refuse_roots(directory: &Dir) -> Result<()> {
    let here = directory.absolute();
    match directory.workspace().roots().iter().find(|root| root.path().starts_with(&here)) {
        Some(root) => Err(Error::denied(format!(
            "{} is a root of its own, and it lies in {}, which therefore stays as it is.",
            root.path().display(),
            directory.display()
        ))),
        None => Ok(()),
    }
}

fn protected(path: &str) -> Error {
    Error::denied(format!("{path} is protected, and so is the directory it lies in from this change."))
        .with_reason(Reason::path(path))
}

/// What is to be copied has to be within bounds.
pub(super) fn survey_to_copy(directory: &Dir, cancel: &CancellationToken) -> Result<Survey> {
    let survey = survey(directory, cancel)?;
    if survey.files + survey.directories <= ENTRIES {
        return Ok(survey);
    }
    Err(Error::new(Kind::TooLarge, format!("{} has more than {ENTRIES} entries in it.", directory.display())))
}

/// Copies a directory under a name of its own near `to`, file by file, so that few files are open at once.
pub(super) fn copy(from: &Dir, to: &WriteTarget, cancel: &CancellationToken) -> Result<Staging> {
    let workspace = from.workspace();
    let staging = workspace.staging(to)?;
    // Where the permissions cannot be seen, nobody else gets any.
    let facts = workspace.find(&from.display())?.metadata()?;
    fill(&staging, Path::new(""), from, facts.map_or(0o700, |facts| facts.mode), cancel, 0)?;
    Ok(staging)
}

fn fill(staging: &Staging, to: &Path, from: &Dir, mode: u32, cancel: &CancellationToken, depth: usize) -> Result<()> {
    let commit = |step| from.workspace().commit(vec![step]).map(drop);
    // What is in it has to be put into it first, so its owner may always write.
    commit(Step::MakeDirectory { target: staging.path(to).write_target()?, mode: Some(mode & 0o777 | 0o700) })?;
    for entry in sorted(from)? {
        alive(cancel)?;
        let name = entry.name.to_str().ok_or_else(|| odd_name(&from.display_child(&entry.name)))?;
        let path = to.join(name);
        match entry.kind {
            EntryKind::File => {
                let file = from.file(&entry.name)?;
                let mode = Some(file.metadata().mode & 0o777);
                let (place, content) = (staging.path(&path).write_target()?, Content::Copy(file));
                commit(Step::Put { target: place, content, expect: Expect::Nothing, mode })?;
            }
            EntryKind::Directory => {
                let mode = from.metadata(&entry.name)?.mode;
                fill(staging, &path, &deeper(from, &entry.name, depth)?, mode, cancel, depth + 1)?;
            }
            EntryKind::Symlink | EntryKind::Other => {}
        }
    }
    Ok(())
}

fn odd_name(path: &str) -> Error {
    Error::field("from", format!("The name of {path} is not UTF-8; a directory with such a name in it is not copied."))
}
