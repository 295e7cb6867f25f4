//! What a step leaves behind for whoever has to undo it: enough to find everything again after a crash.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use rustix::fs::AtFlags;
use serde::{Deserialize, Serialize};

use super::change::{make_directory, rename_new};
use super::staged::temporary_name;
use super::{Identity, Place, removal};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Act {
    Put,
    Remove,
    RemoveEmpty,
    Move,
    MakeDirectory,
}

/// A directory: the root it is in, and the names that led to it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Where {
    pub(super) root: PathBuf,
    pub(super) names: Vec<OsString>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Trace {
    pub(super) act: Act,
    pub(super) at: Where,
    pub(super) name: OsString,
    pub(super) to: Option<(Where, OsString)>,
    /// The name that what was there has until the end.
    pub(super) backup: OsString,
    /// The name that new content has for a moment.
    pub(super) temporary: OsString,
    pub(super) was: Option<Identity>,
    pub(super) new: Option<Identity>,
    /// Of the new content.
    pub(super) tag: Option<String>,
    /// Of what was there.
    pub(super) mode: Option<u32>,
}

impl Where {
    pub(super) fn of(place: &Place) -> Self {
        Self { root: place.root.path.clone(), names: place.names.clone() }
    }
}

impl Trace {
    /// Of something that nobody misses: it has the backup's name and no other.
    pub(super) fn of_leftover(at: Where) -> Self {
        let backup = temporary_name(".old");
        Self {
            act: Act::Remove,
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

    /// Puts back what was there. It only ever touches what this change made, so it may be done twice, and done when
    /// the step was never taken.
    pub(super) fn undo(&self, directory: &OwnedFd, to: Option<&OwnedFd>) {
        let _ = rustix::fs::unlinkat(directory, &self.temporary, AtFlags::empty());
        match self.act {
            Act::Put => {
                if self.was.is_none() {
                    self.take_away(directory);
                } else if self.new.is_some() && identity(directory, &self.name) == self.new {
                    // What was there has another name for as long as this is not done.
                    if identity(directory, &self.backup).is_some() {
                        report(rustix::fs::renameat(directory, &self.backup, directory, &self.name));
                    }
                } else {
                    put_back(directory, &self.backup, &self.name);
                }
            }
            Act::RemoveEmpty => {
                if identity(directory, &self.name).is_none() {
                    report(make_directory(directory, &self.name, self.mode));
                }
            }
            Act::Remove => put_back(directory, &self.backup, &self.name),
            Act::Move => {
                let (Some(to), Some((_, new))) = (to, &self.to) else { return };
                if self.new.is_some() && identity(to, new) == self.new {
                    report(rename_new(to, new, directory, &self.name));
                }
                put_back(to, &self.backup, new);
            }
            Act::MakeDirectory => {
                let _ = rustix::fs::unlinkat(directory, &self.name, AtFlags::REMOVEDIR);
            }
        }
    }

    /// Removes what was kept in case it had to be undone.
    pub(super) fn clear(&self, directory: &OwnedFd, to: Option<&OwnedFd>) {
        let directory = to.unwrap_or(directory);
        if identity(directory, &self.backup).is_some() {
            removal::remove_all(directory, &self.backup);
        }
    }

    /// Removes the new file, unless somebody has put something else there since. A number of a file that is gone is
    /// soon given to another: so its content has to be what this change wrote.
    fn take_away(&self, directory: &OwnedFd) {
        if self.new.is_none() || identity(directory, &self.name) != self.new {
            return;
        }
        let flags = super::walk::reading() | rustix::fs::OFlags::NOFOLLOW;
        let Ok(file) = rustix::fs::openat(directory, &self.name, flags, rustix::fs::Mode::empty()) else { return };
        let mut hasher = blake3::Hasher::new();
        if hasher.update_reader(std::fs::File::from(file)).is_ok()
            && Some(super::file::spell(&hasher.finalize())) == self.tag
        {
            report(rustix::fs::unlinkat(directory, &self.name, AtFlags::empty()));
        }
    }

    /// Whether a record says only what a change of ours says. Records are obeyed by a later server: one that was made up
    /// must not lead it anywhere.
    pub(super) fn is_ours(&self, guard: &crate::Guard) -> bool {
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

fn put_back(directory: &OwnedFd, backup: &OsStr, name: &OsStr) {
    if identity(directory, backup).is_none() {
        return;
    }
    // A name that has been taken since is not ours to take back: what was saved stays under the other name.
    if identity(directory, name) == identity(directory, backup) {
        report(rustix::fs::unlinkat(directory, backup, AtFlags::empty()));
    } else {
        report(rename_new(directory, backup, directory, name));
    }
}

fn identity(directory: &OwnedFd, name: &OsStr) -> Option<Identity> {
    let stat = rustix::fs::statat(directory.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(Identity::from(&stat))
}

fn report(result: rustix::io::Result<()>) {
    if let Err(error) = result {
        tracing::warn!(%error, "a change that was not finished could not be undone entirely");
    }
}
