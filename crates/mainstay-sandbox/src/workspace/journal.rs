//! The journal of changes: undoes after a crash what a change of several files had begun.
//!
//! A record says what a change is about to do, and is on disk before the first name changes; each of its entries knows
//! how to reverse one step. A record that a later process finds belongs to one that died, unless it is locked: then its
//! server is alive. Applying the records that a dead process left behind is up to `change/recovery.rs`.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use mainstay_core::{Error, Result, new_id};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use serde::{Deserialize, Serialize};

use super::fs_ops::{READ_FILE, make_directory, remove_all, rename_no_replace, temporary_name};
use super::metadata::etag_from_hash;
use crate::guard::Guard;
use crate::identity::FileId;

/// File extensions of records. A begun change is undone; of a completed one only the backups are removed. Directories that
/// a change has created are removed if they are empty.
pub(super) const BEGUN: &str = "begun";
pub(super) const COMPLETED: &str = "done";
pub(super) const DIRECTORIES: &str = "dirs";

/// The directory with the records.
#[derive(Debug)]
pub(super) struct Journal {
    /// Where the locks of directories are kept too.
    pub(super) directory: PathBuf,
}

/// The record of one change in progress.
pub(super) struct Record {
    path: PathBuf,
    /// Holds the lock for as long as this process lives.
    _locked: File,
}

impl Journal {
    /// Creates the directory if it is missing, accessible for the server's user alone.
    pub(super) fn open(directory: &Path) -> Result<Self> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|error| {
            Error::unavailable(format!("The journal {} cannot be created: {error}.", directory.display()))
        })?;
        Ok(Self { directory: directory.to_owned() })
    }

    /// Records a change. One that has [`BEGUN`] is undone if this process dies before [`Record::mark_completed`]; of a
    /// [`COMPLETED`] one, such as a temporary name, only the backups are removed.
    pub(super) fn write(&self, entries: &[&UndoEntry], state: &str) -> Result<Record> {
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
    pub(super) fn mark_completed(&mut self) -> Result<()> {
        let completed = self.path.with_extension(COMPLETED);
        std::fs::rename(&self.path, &completed).map_err(Error::internal)?;
        self.path = completed;
        if let Some(directory) = self.path.parent() {
            File::open(directory).and_then(|directory| directory.sync_all()).map_err(Error::internal)?;
        }
        Ok(())
    }

    /// Removes the record: nothing is left to do.
    pub(super) fn close(self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// What a step does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Action {
    Put,
    #[default]
    Remove,
    RemoveEmpty,
    Move,
    MakeDirectory,
}

/// A directory: the path of its root, and the names below it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct DirLocation {
    pub(super) root: PathBuf,
    pub(super) names: Vec<OsString>,
}

/// One step of a change, as the journal stores it. The field names are the record's format.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct UndoEntry {
    #[serde(rename = "act")]
    pub(super) action: Action,
    pub(super) at: DirLocation,
    pub(super) name: OsString,
    pub(super) to: Option<(DirLocation, OsString)>,
    /// The name that the old entry has until the change is complete.
    pub(super) backup: OsString,
    /// The name that new content has for a moment.
    pub(super) temporary: OsString,
    /// The old entry.
    pub(super) was: Option<FileId>,
    /// The new entry.
    pub(super) new: Option<FileId>,
    /// Etag of the new content.
    pub(super) tag: Option<String>,
    /// Mode of the old entry.
    pub(super) mode: Option<u32>,
}

impl UndoEntry {
    /// For something that exists only under a temporary name and is to be removed.
    pub(super) fn for_temporary(at: DirLocation) -> Self {
        let (backup, temporary) = (temporary_name(".old"), temporary_name(".new"));
        Self { action: Action::Remove, at, name: backup.clone(), backup, temporary, ..Self::default() }
    }

    /// For a directory that is about to be created.
    pub(super) fn for_directory(at: DirLocation, name: OsString) -> Self {
        Self { action: Action::MakeDirectory, name, ..Self::for_temporary(at) }
    }

    /// Cleans up after a change: removes the old entry, which was kept in case the change had to be undone, if it was
    /// completed, and restores it otherwise.
    pub(super) fn settle(&self, completed: bool, directory: &OwnedFd, to: Option<&OwnedFd>) {
        if !completed {
            return self.undo(directory, to);
        }
        let directory = to.unwrap_or(directory);
        if identity(directory, &self.backup).is_some() {
            remove_all(directory, &self.backup);
        }
    }

    /// Restores what was there. Touches only what this change made, so it is safe to call twice, and to call for a step
    /// that never happened.
    fn undo(&self, directory: &OwnedFd, to: Option<&OwnedFd>) {
        let _ = rustix::fs::unlinkat(directory, &self.temporary, AtFlags::empty());
        match self.action {
            Action::Put => {
                if self.was.is_none() {
                    self.remove_new(directory);
                } else if self.new.is_some() && identity(directory, &self.name) == self.new {
                    // The old entry keeps its backup name until the change is complete.
                    if identity(directory, &self.backup).is_some() {
                        report(rustix::fs::renameat(directory, &self.backup, directory, &self.name));
                    }
                } else {
                    restore(directory, &self.backup, &self.name);
                }
            }
            Action::RemoveEmpty => {
                if identity(directory, &self.name).is_none() {
                    report(make_directory(directory, &self.name, self.mode));
                }
            }
            Action::Remove => restore(directory, &self.backup, &self.name),
            Action::Move => {
                let (Some(to), Some((_, new))) = (to, &self.to) else { return };
                if self.new.is_some() && identity(to, new) == self.new {
                    report(rename_no_replace(to, new, directory, &self.name));
                }
                restore(to, &self.backup, new);
            }
            Action::MakeDirectory => {
                let _ = rustix::fs::unlinkat(directory, &self.name, AtFlags::REMOVEDIR);
            }
        }
    }

    /// Removes the new file, unless something else has its name by now. Inode numbers are reused, so the identity alone
    /// proves nothing: the content has to be what this change wrote.
    fn remove_new(&self, directory: &OwnedFd) {
        if self.new.is_none() || identity(directory, &self.name) != self.new {
            return;
        }
        let flags = READ_FILE | OFlags::NOFOLLOW;
        let Ok(file) = rustix::fs::openat(directory, &self.name, flags, Mode::empty()) else { return };
        // What this change wrote had this size; a file that is being written to by now is not it, and may have no end.
        let Ok(stat) = rustix::fs::fstat(&file) else { return };
        let content = File::from(file).take(u64::try_from(stat.st_size).unwrap_or(0));
        let mut hasher = blake3::Hasher::new();
        if hasher.update_reader(content).is_ok() && Some(etag_from_hash(&hasher.finalize())) == self.tag {
            report(rustix::fs::unlinkat(directory, &self.name, AtFlags::empty()));
        }
    }

    /// Whether the entry says only what one of our changes says. A later server acts on records, so a forged one must
    /// not make it touch anything else.
    pub(super) fn is_valid(&self, guard: &Guard) -> bool {
        let plain = |name: &OsString| {
            let bytes = name.as_bytes();
            !bytes.is_empty() && bytes != b"." && bytes != b".." && !bytes.contains(&b'/') && !guard.protects(name)
        };
        let temporary = |name: &OsString, end: &str| {
            plain(name) && name.to_str().is_some_and(|name| name.starts_with(".mainstay-") && name.ends_with(end))
        };
        plain(&self.name)
            && self.to.as_ref().is_none_or(|(_, name)| plain(name))
            && temporary(&self.backup, ".old")
            && temporary(&self.temporary, ".new")
    }
}

/// Gives an old entry its name back.
fn restore(directory: &OwnedFd, backup: &OsStr, name: &OsStr) {
    if identity(directory, backup).is_none() {
        return;
    }
    // If something new has the name by now, it is not replaced: the old entry stays under its backup name.
    if identity(directory, name) == identity(directory, backup) {
        report(rustix::fs::unlinkat(directory, backup, AtFlags::empty()));
    } else {
        report(rename_no_replace(directory, backup, directory, name));
    }
}

fn identity(directory: &OwnedFd, name: &OsStr) -> Option<FileId> {
    FileId::of_entry(directory, name).ok()
}

fn report(result: rustix::io::Result<()>) {
    if let Err(error) = result {
        tracing::warn!(%error, "an unfinished change could not be undone completely");
    }
}
