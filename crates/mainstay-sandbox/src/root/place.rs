//! Where something may be written: a directory by its handle, and a name in it.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use mainstay_core::Result;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::fault::{self, About as _};
use super::walk::{self, Links, Walked};
use super::{DIRECTORY, Facts, OpenFile, Root, Spot, Workspace};

#[derive(Debug)]
pub struct Place {
    pub(super) workspace: Workspace,
    pub(super) root: Arc<Root>,
    /// The last directory that is there.
    pub(super) directory: OwnedFd,
    /// The names that lead to it from the root.
    pub(super) names: Vec<OsString>,
    /// Directories between it and the name that are not there.
    pub(super) missing: Vec<OsString>,
    pub(super) name: OsString,
    shown: String,
}

impl Place {
    pub(super) fn find(spot: &Spot, links: Links) -> Result<Self> {
        let Walked { directory, names, read_only, mut rest } =
            walk::walk(&spot.root, &spot.names, links, spot.shown())?;
        if read_only {
            return Err(fault::read_only(spot.shown()));
        }
        let (directory, names, name) = match rest.pop() {
            Some(name) => (directory, names, name),
            None => parent(spot, names)?,
        };
        let (workspace, root, shown) = (spot.workspace.clone(), spot.root.clone(), spot.shown.clone());
        let place = Self { workspace, root, directory, names, missing: rest, name, shown };
        if !place.root.inner.is_empty()
            && let Some(facts) = place.look()?
            && place.root.rule(facts.identity).is_some()
        {
            return Err(fault::a_root(&place.shown));
        }
        Ok(place)
    }

    /// The path as it is given back to callers.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Directories that have to be made first, as paths.
    pub fn missing_directories(&self) -> Vec<String> {
        (1..=self.missing.len())
            .map(|count| {
                let names: Vec<_> = self.names.iter().chain(&self.missing[..count]).cloned().collect();
                self.root.shown(&names)
            })
            .collect()
    }

    /// What has this name now; a link is not followed.
    pub fn look(&self) -> Result<Option<Facts>> {
        if !self.missing.is_empty() {
            return Ok(None);
        }
        match rustix::fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Facts::from(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(fault::of(errno, &self.shown)),
        }
    }

    /// The file that is there now, if one is.
    pub fn current(&self) -> Result<Option<OpenFile>> {
        if !self.missing.is_empty() {
            return Ok(None);
        }
        match rustix::fs::openat(&self.directory, &self.name, walk::reading() | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(fd) => OpenFile::new(fd, &self.root, self.shown.clone()).map(Some),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP | Errno::MLINK) => Err(walk::restless(&self.shown)),
            Err(errno) => Err(fault::of(errno, &self.shown)),
        }
    }

    /// Makes the missing directories; those that are new are added to `made`.
    pub(super) fn make_directories(&mut self, made: &mut Vec<(OwnedFd, OsString)>) -> Result<()> {
        for name in std::mem::take(&mut self.missing) {
            match rustix::fs::mkdirat(&self.directory, &name, Mode::from_raw_mode(0o777)) {
                Ok(()) => made.push((self.directory.try_clone().about(&self.shown)?, name.clone())),
                // Somebody else was faster: just as well.
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(fault::of(errno, &self.shown)),
            }
            let deeper = rustix::fs::openat(&self.directory, &name, DIRECTORY, Mode::empty()).about(&self.shown)?;
            // The new entry has to last as long as what will be written beneath it.
            super::staged::sync_directory(&self.directory, &self.shown)?;
            self.directory = deeper;
            self.names.push(name);
        }
        Ok(())
    }
}

/// The way to a directory, one name shorter. Neither the root itself nor something above it can be written.
fn parent(spot: &Spot, mut names: Vec<OsString>) -> Result<(OwnedFd, Vec<OsString>, OsString)> {
    let Some(name) = names.pop() else {
        return Err(fault::a_root(spot.shown()));
    };
    let walked = walk::walk(&spot.root, &names, Links::Follow, spot.shown())?;
    if walked.read_only {
        return Err(fault::read_only(spot.shown()));
    }
    if walked.rest.is_empty() { Ok((walked.directory, names, name)) } else { Err(walk::restless(spot.shown())) }
}
