//! What a plan does, as callers read it: before it is committed, and completed by what the commit did.

use mainstay_core::{Error, Result};
use mainstay_sandbox::{EntryKind, StepResult, etag_of};
use schemars::JsonSchema;
use serde::Serialize;

use crate::files::planning::plan::{Item, NewState, Plan};
use crate::files::planning::subtree::{TreeSummary, summarize};
use crate::files::text::timestamp::modified;

/// What happens to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChangeKind {
    Created,
    Overwritten,
    Removed,
    Moved,
    DirectoryMade,
    DirectoryCopied,
}

/// What happened to one file or directory, or would happen in a dry run.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ChangedEntry {
    /// Its path; of something removed, the path it had.
    pub(crate) path: String,
    pub(crate) what: ChangeKind,
    /// The path before a move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<String>,
    /// The move replaced another entry.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) replaced: bool,
    /// Bytes of the file, or of all files in the directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) etag: Option<String>,
    /// Modification time, ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mtime: Option<String>,
    /// Contents of the directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) holds: Option<TreeContents>,
}

/// Contents of a directory that was copied or removed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TreeContents {
    pub(crate) files: u64,
    pub(crate) directories: u64,
    /// Links, pipes, sockets and devices: removed with a directory, but not copied.
    pub(crate) others: u64,
    /// The first paths in it; for a copy, the first paths that were not copied.
    pub(crate) paths: Vec<String>,
}

/// What a change did, or would do.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Report {
    /// Nothing was changed: this is what would happen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) dry_run: bool,
    /// The changes, by path.
    pub(crate) changes: Vec<ChangedEntry>,
    /// Parent directories that were created.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) directories: Vec<String>,
    /// Unified diff; its last line says what is left out, if anything is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) diff: Option<String>,
}

impl Report {
    /// The entry of the only file, where the tool changes one file.
    pub(crate) fn take_only_entry(&mut self) -> Result<ChangedEntry> {
        self.changes.pop().ok_or_else(|| Error::internal("a change of one file has changed none"))
    }
}

impl Plan {
    /// What happens to each item, by the item's index; `None` for items that only others depend on.
    pub(crate) fn describe(&self) -> Result<Vec<Option<ChangedEntry>>> {
        self.items.iter().map(|item| self.describe_item(item)).collect()
    }

    fn describe_item(&self, item: &Item) -> Result<Option<ChangedEntry>> {
        let entry = |what, size, etag| ChangedEntry {
            path: item.path.clone(),
            what,
            from: item.from.clone(),
            replaced: what == ChangeKind::Moved && item.before.is_some(),
            size,
            etag,
            mtime: None,
            holds: None,
        };
        // A moved file that was changed afterwards counts as moved.
        let put = match (&item.from, &item.before) {
            (Some(_), _) => ChangeKind::Moved,
            (None, Some(_)) => ChangeKind::Overwritten,
            (None, None) => ChangeKind::Created,
        };
        Ok(match &item.state {
            NewState::Untouched | NewState::MovedAway => None,
            NewState::Removed if item.before.is_none() || self.is_moved_elsewhere(&item.path) => None,
            NewState::Removed => {
                let summary =
                    self.removed_directory(item)?.map(|directory| summarize(&directory, &self.cancel)).transpose()?;
                let holds = summary.map(|summary| TreeContents::new(&summary, summary.paths.clone()));
                let size =
                    item.before.filter(|metadata| metadata.kind == EntryKind::File).map(|metadata| metadata.size);
                Some(ChangedEntry { holds, ..entry(ChangeKind::Removed, size, None) })
            }
            NewState::Content(bytes) => Some(entry(put, Some(bytes.len() as u64), Some(etag_of(bytes)))),
            NewState::CopyOf(file) => Some(entry(put, Some(file.metadata().size), None)),
            NewState::Append { to, more } => Some(entry(put, Some(to.metadata().size + more.len() as u64), None)),
            NewState::MovedHere(_) => Some(entry(ChangeKind::Moved, None, None)),
            NewState::NewDirectory => Some(entry(ChangeKind::DirectoryMade, None, None)),
            NewState::CopiedTree(_, summary) => {
                let holds = Some(TreeContents::new(summary, summary.other_paths.clone()));
                Some(ChangedEntry { holds, ..entry(ChangeKind::DirectoryCopied, Some(summary.bytes), None) })
            }
        })
    }

    /// Whether what was at this path is at another path now.
    pub(crate) fn is_moved_elsewhere(&self, path: &str) -> bool {
        self.items.iter().any(|item| item.will_exist() && item.from.as_deref() == Some(path))
    }
}

impl ChangedEntry {
    /// Replaces what was planned by what the commit found on disk.
    pub(crate) fn complete(&mut self, done: StepResult) {
        let file = done.metadata.filter(|metadata| metadata.kind == EntryKind::File);
        self.size = file.map(|metadata| metadata.size).or(self.size);
        self.mtime = file.as_ref().map(modified);
        self.etag = done.etag.or(self.etag.take());
        match self.what {
            ChangeKind::Created | ChangeKind::Overwritten => {
                self.what = if done.replaced { ChangeKind::Overwritten } else { ChangeKind::Created };
            }
            ChangeKind::Moved => self.replaced = done.replaced,
            ChangeKind::Removed | ChangeKind::DirectoryMade | ChangeKind::DirectoryCopied => {}
        }
    }
}

impl TreeContents {
    fn new(summary: &TreeSummary, paths: Vec<String>) -> Self {
        let TreeSummary { files, directories, others, .. } = *summary;
        Self { files, directories, others, paths }
    }
}
