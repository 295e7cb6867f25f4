//! A directory tree that is assembled under a temporary name in the workspace, and then moved to its place.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use mainstay_core::Result;

use crate::workspace::errors::PathContext as _;
use crate::workspace::journal::{Record, UndoEntry};
use crate::workspace::{Root, Workspace, WorkspacePath, WriteTarget};

/// A temporary name. What has it when this is dropped is removed; if this process dies, the next one that opens the
/// workspace removes it, because the journal has a record of it.
pub struct Staging {
    workspace: Workspace,
    root: Arc<Root>,
    /// The names that lead to it from the root.
    names: Vec<OsString>,
    directory: OwnedFd,
    undo: UndoEntry,
    record: Option<Record>,
}

impl Workspace {
    /// A temporary name on the same file system as `target`, in its last directory that exists: moving one to the
    /// other is a single rename.
    pub fn staging(&self, target: &WriteTarget) -> Result<Staging> {
        let undo = UndoEntry::for_temporary(target.location());
        Ok(Staging {
            workspace: self.clone(),
            root: target.root.clone(),
            names: target.names.iter().chain([&undo.backup]).cloned().collect(),
            directory: target.directory.try_clone().for_path(target.display())?,
            record: self.journal.as_deref().map(|journal| journal.record_temporary(&undo)).transpose()?,
            undo,
        })
    }
}

impl Staging {
    /// The path of the temporary name, or of something below it.
    pub fn path(&self, inside: &Path) -> WorkspacePath {
        let inside = inside.iter().map(OsString::from);
        self.workspace.path(&self.root, self.names.iter().cloned().chain(inside).collect())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        self.undo.remove_backup(&self.directory, None);
        if let Some(record) = self.record.take() {
            record.close();
        }
    }
}
