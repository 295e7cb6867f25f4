//! What the journal is for besides a change itself: undoing what a process that died had begun, and a directory tree that
//! is assembled under a temporary name in the workspace, and then moved to its place.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mainstay_core::Result;
use rustix::fs::FlockOperation;

use crate::workspace::errors::PathContext as _;
use crate::workspace::journal::{BEGUN, COMPLETED, DIRECTORIES, DirLocation, Journal, Record, UndoEntry};
use crate::workspace::resolve::{self, Links};
use crate::workspace::{Workspace, WorkspacePath, WriteTarget};

impl Workspace {
    /// Keeps changes of several files atomic across a crash: undoes now what an earlier process left half done.
    pub fn with_journal(mut self, directory: &Path) -> Result<Self> {
        let journal = Journal::open(directory)?;
        recover(&journal, &self);
        self.journal = Some(Arc::new(journal));
        Ok(self)
    }

    /// A temporary name on the same file system as `target`, in its last directory that exists: moving one to the
    /// other is a single rename.
    pub fn staging(&self, target: &WriteTarget) -> Result<Staging> {
        let undo = UndoEntry::for_temporary(target.location());
        let names = target.names.iter().chain([&undo.backup]).cloned().collect();
        Ok(Staging {
            top: self.path(&target.path.root, names),
            directory: target.directory.try_clone().for_path(target.display())?,
            record: self.journal.as_deref().map(|journal| journal.write(&[&undo], COMPLETED)).transpose()?,
            undo,
        })
    }
}

/// A temporary name. What has it when this is dropped is removed; if this process dies, the next one that opens the
/// workspace removes it, because the journal has a record of it.
pub struct Staging {
    /// The path of the temporary name.
    top: WorkspacePath,
    directory: OwnedFd,
    undo: UndoEntry,
    record: Option<Record>,
}

impl Staging {
    /// The path of the temporary name, or of something below it.
    pub fn path(&self, inside: &Path) -> WorkspacePath {
        let inside = inside.iter().map(OsString::from);
        self.top.workspace.path(&self.top.root, self.top.names.iter().cloned().chain(inside).collect())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        self.undo.settle(true, &self.directory, None);
        if let Some(record) = self.record.take() {
            record.close();
        }
    }
}

/// Records of another workspace are left to the server of that one.
fn recover(journal: &Journal, workspace: &Workspace) {
    let Ok(entries) = std::fs::read_dir(&journal.directory) else { return };
    let paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    // Undo first: it may restore something under a temporary name that a completed record then removes. Only then are the
    // directories empty that were created for it.
    for state in [BEGUN, COMPLETED, DIRECTORIES] {
        let of_state = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == state);
        for path in paths.iter().filter(of_state) {
            if let Err(error) = recover_one(workspace, path) {
                tracing::warn!(%error, record = %path.display(), "an unfinished change could not be undone");
            }
        }
    }
}

/// Undoes one record, last step first, unless its server is alive or its roots are not ours.
fn recover_one(workspace: &Workspace, path: &Path) -> std::io::Result<()> {
    let mut file = File::open(path)?;
    if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(());
    }
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    // An incomplete record: its writer died before it changed anything.
    let Ok(entries) = serde_json::from_slice::<Vec<UndoEntry>>(&text) else { return std::fs::remove_file(path) };
    let guard = &workspace.roots[0].guard;
    if !entries.iter().all(|entry| entry.is_valid(guard)) {
        tracing::warn!(record = %path.display(), "a journal record that no server has written is ignored");
        return std::fs::remove_file(path);
    }
    let is_here = |location: &DirLocation| workspace.roots.iter().any(|root| root.path == location.root);
    if !entries.iter().all(|entry| is_here(&entry.at) && entry.to.as_ref().is_none_or(|(to, _)| is_here(to))) {
        return Ok(());
    }
    let completed = path.extension().is_some_and(|extension| extension == COMPLETED);
    for entry in entries.iter().rev() {
        let Some(directory) = open(workspace, &entry.at) else { continue };
        let to = entry.to.as_ref().and_then(|(to, _)| open(workspace, to));
        entry.settle(completed, &directory, to.as_ref());
    }
    if !completed {
        tracing::info!(changes = entries.len(), "an interrupted change has been undone");
    }
    std::fs::remove_file(path)
}

/// Opens the directory of a record by the same rules as a caller's path.
fn open(workspace: &Workspace, location: &DirLocation) -> Option<OwnedFd> {
    let root = workspace.roots.iter().find(|root| root.path == location.root)?;
    let resolved =
        resolve::resolve(root, &location.names, Links::Follow, "a directory of an unfinished change").ok()?;
    resolved.rest.is_empty().then_some(resolved.directory)
}
