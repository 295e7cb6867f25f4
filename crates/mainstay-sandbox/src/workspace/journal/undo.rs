//! How to reverse one step of a change: enough to find everything again after a crash.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use rustix::fs::{AtFlags, Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::guard::Guard;
use crate::identity::FileId;
use crate::workspace::etag;
use crate::workspace::fs_ops::{READ_FILE, make_directory, rename_no_replace, temporary_name};
use crate::workspace::remove_tree::remove_all;

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Action {
    Put,
    Remove,
    RemoveEmpty,
    Move,
    MakeDirectory,
}

/// A directory: the path of its root, and the names below it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct DirLocation {
    pub(crate) root: PathBuf,
    pub(crate) names: Vec<OsString>,
}

/// One step of a change, as the journal stores it. The field names are the record's format.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct UndoEntry {
    #[serde(rename = "act")]
    pub(crate) action: Action,
    pub(crate) at: DirLocation,
    pub(crate) name: OsString,
    pub(crate) to: Option<(DirLocation, OsString)>,
    /// The name that the old entry has until the change is complete.
    pub(crate) backup: OsString,
    /// The name that new content has for a moment.
    pub(crate) temporary: OsString,
    /// The old entry.
    pub(crate) was: Option<FileId>,
    /// The new entry.
    pub(crate) new: Option<FileId>,
    /// Etag of the new content.
    pub(crate) tag: Option<String>,
    /// Mode of the old entry.
    pub(crate) mode: Option<u32>,
}

impl UndoEntry {
    /// For something that exists only under a temporary name and is to be removed.
    pub(crate) fn for_temporary(at: DirLocation) -> Self {
        let backup = temporary_name(".old");
        Self {
            action: Action::Remove,
            at,
            name: backup.clone(),
            to: None,
            backup,
            temporary: temporary_name(".new"),
            was: None,
            new: None,
            tag: None,
            mode: None,
        }
    }

    /// Restores what was there. Touches only what this change made, so it is safe to call twice, and to call for a step
    /// that never happened.
    pub(crate) fn undo(&self, directory: &OwnedFd, to: Option<&OwnedFd>) {
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

    /// Removes the old entry, which was kept in case the change had to be undone.
    pub(crate) fn remove_backup(&self, directory: &OwnedFd, to: Option<&OwnedFd>) {
        let directory = to.unwrap_or(directory);
        if identity(directory, &self.backup).is_some() {
            remove_all(directory, &self.backup);
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
        let mut hasher = blake3::Hasher::new();
        if hasher.update_reader(std::fs::File::from(file)).is_ok()
            && Some(etag::from_hash(&hasher.finalize())) == self.tag
        {
            report(rustix::fs::unlinkat(directory, &self.name, AtFlags::empty()));
        }
    }

    /// Whether the entry says only what one of our changes says. A later server acts on records, so a forged one must
    /// not make it touch anything else.
    pub(crate) fn is_valid(&self, guard: &Guard) -> bool {
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
    let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileId::from(&stat))
}

fn report(result: rustix::io::Result<()>) {
    if let Err(error) = result {
        tracing::warn!(%error, "an unfinished change could not be undone completely");
    }
}
