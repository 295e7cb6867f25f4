//! What becomes of a plan: it is told and shown, or it is made and told.

use std::collections::BTreeSet;
use std::path::PathBuf;

use mainstay_core::{Error, Result};
use mainstay_sandbox::{EntryKind, StepResult, Workspace, etag_of};
use schemars::JsonSchema;
use serde::Serialize;

use super::diff::Diff;
use super::facts::modified;
use super::plan::{Item, Now, Plan, inside};
use super::subtree::Survey;

/// The room for the diff of a dry run, and for the one that comes with a change.
const REHEARSED: usize = 256 * 1024;
const MADE: usize = 16 * 1024;

/// What happens to a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum What {
    Created,
    Overwritten,
    Removed,
    Moved,
    DirectoryMade,
    DirectoryCopied,
}

/// What happened to one file or directory, or would happen.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Changed {
    /// The path it has, or had.
    pub(super) path: String,
    pub(super) what: What,
    /// Where it was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<String>,
    /// Something else had this name and is gone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) replaced: bool,
    /// Bytes of the file, or of all files in the directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) etag: Option<String>,
    /// When it was changed; ISO-8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mtime: Option<String>,
    /// What is in the directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) holds: Option<Holds>,
}

/// What is in a directory that was copied or removed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Holds {
    pub(super) files: u64,
    pub(super) directories: u64,
    /// Links, pipes and the like: they are removed with a directory and not copied with one.
    pub(super) others: u64,
    /// The first of its paths; those that are not copied, if it was copied.
    pub(super) paths: Vec<String>,
}

/// What a change did, or would do.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Report {
    /// Nothing was changed: this is what would happen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) dry_run: bool,
    /// What happened, name by name.
    pub(super) changes: Vec<Changed>,
    /// Directories that were made on the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) directories: Vec<String>,
    /// The change as a unified diff; its last line says so if something is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) diff: Option<String>,
}

impl Report {
    /// What happened to the file, where the change is of one file.
    pub(super) fn take_one(&mut self) -> Result<Changed> {
        self.changes.pop().ok_or_else(|| Error::internal("a change of one file has changed none"))
    }
}

/// Whether a change that is made is answered with its diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    IfSmall,
    Not,
}

impl Plan {
    /// Makes the change, or only tells what it would be.
    pub(super) fn finish(self, dry_run: bool, shown: Shown) -> Result<Report> {
        self.disjoint()?;
        let directories = self.directories();
        let diff = match (dry_run, shown) {
            (true, _) => Some(self.diff(REHEARSED)?.finish()),
            (false, Shown::IfSmall) => Some(self.diff(MADE)?).filter(Diff::is_whole).map(Diff::finish),
            (false, Shown::Not) => None,
        };
        let told = self.tell()?;
        let changes = if dry_run { told.into_iter().flatten().collect() } else { self.commit(told)? };
        Ok(Report { dry_run, changes, directories, diff })
    }

    /// What is changed must not lie in a directory that goes or moves, whichever way its path was written.
    fn disjoint(&self) -> Result<()> {
        let active = || self.items.iter().filter(|item| !matches!(item.now, Now::Untouched));
        if active().count() < 2 || !active().any(Item::is_tree) {
            return Ok(());
        }
        let mut places = Vec::new();
        for item in active() {
            places.push((resolved(&self.workspace, &item.path)?, item));
        }
        for (tree, item) in places.iter().filter(|(_, item)| item.is_tree()) {
            let others = places.iter().filter(|(_, other)| other.path != item.path);
            if let Some((_, other)) = others.into_iter().find(|(place, _)| place.starts_with(tree)) {
                return Err(inside("path", &other.path, &item.path));
            }
        }
        Ok(())
    }

    fn directories(&self) -> Vec<String> {
        let appearing = self.items.iter().filter(|item| item.appears());
        let made: BTreeSet<String> = appearing.flat_map(|item| item.place.missing_directories()).collect();
        made.into_iter().filter(|path| !self.items.iter().any(|item| item.appears() && item.path == *path)).collect()
    }

    /// What happens to each item; nothing to those that only others depend on.
    fn tell(&self) -> Result<Vec<Option<Changed>>> {
        self.items.iter().map(|item| self.tell_one(item)).collect()
    }

    fn tell_one(&self, item: &Item) -> Result<Option<Changed>> {
        let new = |what, size, etag| Changed {
            path: item.path.clone(),
            what,
            from: item.from.clone(),
            replaced: what == What::Moved && item.before.is_some(),
            size,
            etag,
            mtime: None,
            holds: None,
        };
        let put = match (&item.from, &item.before) {
            (Some(_), _) => What::Moved,
            (None, Some(_)) => What::Overwritten,
            (None, None) => What::Created,
        };
        Ok(match &item.now {
            Now::Untouched | Now::MovedAway => None,
            Now::Gone if item.before.is_none() || self.moved_from(&item.path) => None,
            Now::Gone => {
                let holds = self.survey(item)?.map(Holds::from);
                let size = item.before.filter(|facts| facts.kind == EntryKind::File).map(|facts| facts.size);
                Some(Changed { holds, ..new(What::Removed, size, None) })
            }
            Now::Bytes(bytes) => Some(new(put, Some(bytes.len() as u64), Some(etag_of(bytes)))),
            Now::Copy(file) => Some(new(put, Some(file.metadata().size), None)),
            Now::Append { to, more } => Some(new(put, Some(to.metadata().size + more.len() as u64), None)),
            Now::Whole(_) => Some(new(What::Moved, None, None)),
            Now::Directory => Some(new(What::DirectoryMade, None, None)),
            Now::Tree(_, survey) => {
                let holds = Holds { paths: survey.other_paths.clone(), ..Holds::counted(survey) };
                Some(Changed { holds: Some(holds), ..new(What::DirectoryCopied, Some(survey.bytes), None) })
            }
        })
    }

    /// Whether what was here is now somewhere else.
    pub(super) fn moved_from(&self, path: &str) -> bool {
        let there = |item: &Item| !matches!(item.now, Now::Untouched | Now::Gone | Now::MovedAway);
        self.items.iter().any(|item| there(item) && item.from.as_deref() == Some(path))
    }

    fn survey(&self, item: &Item) -> Result<Option<Survey>> {
        let directory = self.removed_directory(item)?;
        directory.map(|directory| super::subtree::survey(&directory, &self.cancel)).transpose()
    }
}

impl Changed {
    /// What the disk says now, in place of what was planned.
    pub(super) fn settle(&mut self, done: StepResult) {
        let file = done.metadata.filter(|facts| facts.kind == EntryKind::File);
        self.size = file.map(|facts| facts.size).or(self.size);
        self.mtime = file.as_ref().map(modified);
        self.etag = done.etag.or(self.etag.take());
        match self.what {
            What::Created | What::Overwritten => {
                self.what = if done.replaced { What::Overwritten } else { What::Created };
            }
            What::Moved => self.replaced = done.replaced,
            What::Removed | What::DirectoryMade | What::DirectoryCopied => {}
        }
    }
}

impl Holds {
    fn counted(survey: &Survey) -> Self {
        let Survey { files, directories, others, .. } = *survey;
        Self { files, directories, others, paths: Vec::new() }
    }
}

impl From<Survey> for Holds {
    fn from(survey: Survey) -> Self {
        Self { paths: survey.paths.clone(), ..Self::counted(&survey) }
    }
}

/// Where a path leads, links resolved as far as there is something.
pub(super) fn resolved(workspace: &Workspace, path: &str) -> Result<PathBuf> {
    let (parent, name) = match path.rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some(parts) => parts,
        None => (".", path),
    };
    match workspace.find(parent)?.open_dir() {
        Ok(directory) => Ok(directory.absolute().join(name)),
        Err(_) if parent != "." && parent != "/" => Ok(resolved(workspace, parent)?.join(name)),
        Err(error) => Err(error),
    }
}
