//! What a step leaves behind for whoever has to undo it: enough to find everything again after a crash.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;

use rustix::fs::AtFlags;
use serde::{Deserialize, Serialize};

use super::change::rename_new;
use super::{Identity, removal};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Act {
    Put,
    Remove,
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
}

impl Trace {
    /// Puts back what was there. It only ever touches what this change made, so it may be done twice, and done when
    /// the step was never taken.
    pub(super) fn undo(&self, directory: &OwnedFd, to: Option<&OwnedFd>) {
        let _ = rustix::fs::unlinkat(directory, &self.temporary, AtFlags::empty());
        match self.act {
            Act::Put => {
                self.take_away(directory, &self.name);
                put_back(directory, &self.backup, &self.name);
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

    /// Removes the new file, unless somebody has put something else there since.
    fn take_away(&self, directory: &OwnedFd, name: &OsStr) {
        if self.new.is_some() && identity(directory, name) == self.new {
            report(rustix::fs::unlinkat(directory, name, AtFlags::empty()));
        }
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
    Some(Identity { device: stat.st_dev, inode: stat.st_ino })
}

fn report(result: rustix::io::Result<()>) {
    if let Err(error) = result {
        tracing::warn!(%error, "a change that was not finished could not be undone entirely");
    }
}
