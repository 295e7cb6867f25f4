//! Whole directories: what is in them, and copies of them.

use std::ffi::OsStr;

use mainstay_core::{CancellationToken, Error, Kind, Result, new_id};
use mainstay_sandbox::{Content, Dir, Entry, EntryKind, Expect, Step, Workspace};
use serde_json::json;

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
        let path = at.shown_child(&entry.name);
        match entry.kind {
            EntryKind::Directory => survey.directories += 1,
            EntryKind::File => {
                survey.files += 1;
                survey.bytes += at.facts(&entry.name).map_or(0, |facts| facts.size);
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
        Some(entry) => Err(protected(&directory.shown_child(&entry.name))),
        None => Ok(entries),
    }
}

fn deeper(directory: &Dir, name: &OsStr, depth: usize) -> Result<Dir> {
    if depth < DEEPEST {
        return directory.child(name);
    }
    let path = directory.shown_child(name);
    Err(Error::new(Kind::TooLarge, format!("{path} is more than {DEEPEST} directories deep.")))
}

/// A directory with another root in it stays where it is.
pub(super) fn refuse_roots(directory: &Dir) -> Result<()> {
    let here = directory.absolute();
    match directory.workspace().roots().iter().find(|root| root.path().starts_with(&here)) {
        Some(root) => Err(Error::denied(format!(
            "{} is a root of its own, and it lies in {}, which therefore stays as it is.",
            root.path().display(),
            directory.shown()
        ))),
        None => Ok(()),
    }
}

fn protected(path: &str) -> Error {
    Error::denied(format!("{path} is protected, and so is the directory it lies in from this change."))
        .with_data(json!({ "path": path }))
}

/// What is to be copied has to be within bounds.
pub(super) fn survey_to_copy(directory: &Dir, cancel: &CancellationToken) -> Result<Survey> {
    let survey = survey(directory, cancel)?;
    if survey.files + survey.directories <= ENTRIES {
        return Ok(survey);
    }
    Err(Error::new(Kind::TooLarge, format!("{} has more than {ENTRIES} entries in it.", directory.shown())))
}

/// A copy of a directory under a name of its own, until it is moved to where it shall be. What is still there when this
/// is dropped is removed.
pub(super) struct Staging {
    workspace: Workspace,
    pub(super) path: String,
}

impl Staging {
    /// Copies a directory next to `beside`, file by file, so that few files are open at once.
    pub(super) fn copy(from: &Dir, beside: &str, cancel: &CancellationToken) -> Result<Self> {
        let parent = beside.rfind('/').map_or("", |slash| &beside[..=slash]);
        let path = format!("{parent}.mainstay-{}.copy", new_id());
        let staging = Self { workspace: from.workspace().clone(), path };
        // Where the permissions cannot be seen, nobody else gets any.
        let facts = staging.workspace.find(&from.shown())?.look()?;
        staging.fill(from, facts.map_or(0o700, |facts| facts.mode), &staging.path, cancel, 0)?;
        Ok(staging)
    }

    fn fill(&self, from: &Dir, mode: u32, to: &str, cancel: &CancellationToken, depth: usize) -> Result<()> {
        // What is in it has to be put into it first, so its owner may always write.
        let mode = Some(mode & 0o777 | 0o700);
        self.commit(Step::MakeDirectory { place: self.workspace.find(to)?.place()?, mode })?;
        for entry in sorted(from)? {
            alive(cancel)?;
            let name = entry.name.to_str().ok_or_else(|| odd_name(&from.shown_child(&entry.name)))?;
            let path = format!("{to}/{name}");
            match entry.kind {
                EntryKind::File => {
                    let file = from.file(&entry.name)?;
                    let mode = Some(file.facts().mode & 0o777);
                    let (place, content) = (self.workspace.find(&path)?.place()?, Content::Copy(file));
                    self.commit(Step::Put { place, content, expect: Expect::Nothing, mode })?;
                }
                EntryKind::Directory => {
                    let mode = from.facts(&entry.name)?.mode;
                    self.fill(&deeper(from, &entry.name, depth)?, mode, &path, cancel, depth + 1)?;
                }
                EntryKind::Symlink | EntryKind::Other => {}
            }
        }
        Ok(())
    }

    fn commit(&self, step: Step) -> Result<()> {
        self.workspace.commit(vec![step]).map(drop)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let place = self.workspace.find(&self.path).and_then(|spot| spot.entry());
        if let Ok(place) = place
            && place.look().is_ok_and(|found| found.is_some())
        {
            let (kind, recursive) = (EntryKind::Directory, true);
            let _ = self.commit(Step::Remove { place, expect: Expect::Anything, kind, recursive });
        }
    }
}

fn odd_name(path: &str) -> Error {
    Error::field("from", format!("The name of {path} is not UTF-8; a directory with such a name in it is not copied."))
}
