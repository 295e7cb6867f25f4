//! What a plan does, as callers read it: before it is committed, and completed by what the commit did.

use mainstay_core::{Context, Error, Result};
use mainstay_sandbox::{Content, EntryKind, StepResult, etag_of};

use crate::planning::plan::{NewState, Plan};
use crate::planning::subtree::{TreeContents, summarize};
use crate::text::modified;

/// What happens to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
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
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
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

/// What a change did, or would do.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
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

/// The reply of a tool that changes the content of one file.
#[derive(serde::Serialize, schemars::JsonSchema)]
pub(crate) struct FileReply {
    path: String,
    /// Size of the whole file in bytes.
    size: u64,
    /// Etag of the new content; pass it with the next change.
    etag: String,
    /// Modification time, ISO 8601. In a dry run, the time of the call.
    mtime: String,
    /// Nothing was changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
    /// Unified diff, in a dry run; of files_edit also if it is small.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

impl Report {
    /// The reply for the only file, where the tool changes one file, and what happened to it.
    pub(crate) fn into_file_reply(mut self, context: &Context) -> Result<(FileReply, ChangeKind)> {
        let entry = self.changes.pop().ok_or_else(|| Error::internal("a change of one file has changed none"))?;
        let reply = FileReply {
            path: entry.path,
            size: entry.size.unwrap_or(0),
            etag: entry.etag.unwrap_or_default(),
            mtime: entry.mtime.unwrap_or_else(|| context.clock.now().to_string()),
            dry_run: self.dry_run,
            diff: self.diff,
        };
        Ok((reply, entry.what))
    }
}

impl Plan {
    /// What happens to each item, by the item's index; `None` for items that only others depend on.
    pub(crate) fn describe(&self, dry_run: bool) -> Result<Vec<Option<ChangedEntry>>> {
        (0..self.items.len()).map(|at| self.describe_item(at, dry_run)).collect()
    }

    fn describe_item(&self, at: usize, dry_run: bool) -> Result<Option<ChangedEntry>> {
        let item = &self.items[at];
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
                let directory = self.removed_directory(item)?;
                let holds = directory.map(|from| summarize(&from, &self.cancel, |_| true)).transpose()?;
                let size =
                    item.before.filter(|metadata| metadata.kind == EntryKind::File).map(|metadata| metadata.size);
                Some(ChangedEntry { holds, ..entry(ChangeKind::Removed, size, None) })
            }
            NewState::File(Content::Bytes(bytes)) => Some(entry(put, Some(bytes.len() as u64), Some(etag_of(bytes)))),
            NewState::File(Content::Copy(file)) => Some(entry(put, Some(file.metadata().size), None)),
            NewState::File(Content::Append { to, more }) => {
                // The commit finds it out while it writes; only a dry run has to read the whole file for it.
                let etag = if dry_run { Some(self.etag(at)?) } else { None };
                Some(entry(put, Some(to.metadata().size + more.len() as u64), etag))
            }
            NewState::MovedHere(_) => Some(entry(ChangeKind::Moved, None, None)),
            NewState::NewDirectory => Some(entry(ChangeKind::DirectoryMade, None, None)),
            NewState::CopiedTree(_, contents) => {
                let holds = Some(contents.clone());
                Some(ChangedEntry { holds, ..entry(ChangeKind::DirectoryCopied, Some(contents.bytes), None) })
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
