//! The records of the journal: what a change of several files is about to do, on disk before it does anything.
//!
//! A record that a later process finds belongs to one that died, unless it is locked: then its server is alive.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use mainstay_core::{Error, Result, new_id};
use rustix::fs::FlockOperation;

use super::undo::UndoEntry;

/// File extensions of records. A begun change is undone; of a completed one only the backups are removed.
pub(crate) const BEGUN: &str = "begun";
pub(crate) const COMPLETED: &str = "done";

/// The directory with the records.
#[derive(Debug)]
pub(crate) struct Journal {
    directory: PathBuf,
}

/// The record of one change in progress.
pub(crate) struct Record {
    path: PathBuf,
    /// Holds the lock for as long as this process lives.
    _locked: File,
}

impl Journal {
    /// Creates the directory if it is missing, accessible for the server's user alone.
    pub(crate) fn open(directory: &Path) -> Result<Self> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|error| {
            Error::unavailable(format!("The journal {} cannot be created: {error}.", directory.display()))
        })?;
        Ok(Self { directory: directory.to_owned() })
    }

    /// Where the locks of directories are kept too.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Records a change that is undone if this process dies before [`Record::mark_completed`].
    pub(crate) fn begin(&self, entries: &[&UndoEntry]) -> Result<Record> {
        self.write(entries, BEGUN)
    }

    /// Records a temporary name that is removed in any case.
    pub(crate) fn record_temporary(&self, entry: &UndoEntry) -> Result<Record> {
        self.write(&[entry], COMPLETED)
    }

    fn write(&self, entries: &[&UndoEntry], state: &str) -> Result<Record> {
        self.try_write(entries, state).map_err(|error| {
            Error::unavailable("The journal of changes cannot be written; nothing was changed.").with_detail(error)
        })
    }

    /// The record is locked before it has content, and on disk, with its name, when this returns.
    fn try_write(&self, entries: &[&UndoEntry], state: &str) -> std::io::Result<Record> {
        let path = self.directory.join(new_id()).with_extension(state);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        file.write_all(&serde_json::to_vec(entries)?)?;
        file.sync_all()?;
        File::open(&self.directory)?.sync_all()?;
        Ok(Record { path, _locked: file })
    }
}

impl Record {
    /// The change is complete: a later process removes its backups and undoes nothing.
    pub(crate) fn mark_completed(&mut self) -> Result<()> {
        let completed = self.path.with_extension(COMPLETED);
        std::fs::rename(&self.path, &completed).map_err(Error::internal)?;
        self.path = completed;
        if let Some(directory) = self.path.parent() {
            File::open(directory).and_then(|directory| directory.sync_all()).map_err(Error::internal)?;
        }
        Ok(())
    }

    /// Removes the record: nothing is left to do.
    pub(crate) fn close(self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
