//! Finding the protected names in the roots and in what the operator lets commands reach besides them, so that they can
//! be hidden from a command. A directory that has not changed since it was last read is not read again.

#[cfg(test)]
mod tests;
mod walk;

use std::collections::{HashMap, HashSet};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Error, Result};
use rustix::fs::{Mode, OFlags};

use super::linux::{Identity, Mask};
use super::reach::{Origin, Reach};
use super::settings::ExecSettings;
use crate::{Guard, PROTECTED, Workspace};
use walk::{DIRECTORY, Known, LOOKS, Walk, identity};

pub(crate) struct Scan {
    known: HashMap<Identity, Arc<Known>>,
    /// What was found the last time.
    hits: HashSet<Identity>,
    /// What commands reach because of a setting, and what is not looked through inside of it.
    added: Option<(Vec<Added>, HashSet<Identity>)>,
    exempt: Guard,
    most: usize,
}

/// A directory that is held from the beginning: what commands see under its name is this one, whatever becomes of it.
struct Added {
    path: PathBuf,
    handle: OwnedFd,
}

impl Added {
    fn open(path: &Path) -> Result<Self> {
        let handle = rustix::fs::open(path, DIRECTORY.union(OFlags::PATH), Mode::empty())
            .map_err(|errno| Error::internal(format!("{} cannot be opened: {errno}", path.display())))?;
        Ok(Self { path: path.to_owned(), handle })
    }
}

impl Scan {
    pub(crate) fn new(settings: &ExecSettings) -> Self {
        // A guard of these names alone.
        let named = |name: &&str| settings.allow_protected.iter().any(|allowed| allowed.eq_ignore_ascii_case(name));
        let others: Vec<String> = PROTECTED.iter().filter(|name| !named(name)).map(|name| (*name).to_owned()).collect();
        let exempt = Guard::new(&settings.allow_protected, &others);
        Self { known: HashMap::new(), hits: HashSet::new(), added: None, exempt, most: settings.hidden_names }
    }

    /// Every protected name in the roots and in what a setting adds.
    ///
    /// A name that was there before and is not found now may have been moved about while the scan passed by: another
    /// command can do that on purpose. So it is looked for again before it is believed to be gone.
    pub(crate) fn masks(&mut self, workspace: &Workspace, reach: &Reach) -> Result<Vec<Mask>> {
        if self.added.is_none() {
            self.added = Some(added(workspace, reach)?);
        }
        let mut masks = self.pass(workspace)?;
        for _ in 0..LOOKS {
            let found: HashSet<Identity> = masks.iter().map(|mask| mask.identity).collect();
            if self.hits.is_subset(&found) {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
            masks = self.pass(workspace)?;
        }
        self.hits = masks.iter().map(|mask| mask.identity).collect();
        Ok(masks)
    }

    fn pass(&mut self, workspace: &Workspace) -> Result<Vec<Mask>> {
        let mut known = HashMap::with_capacity(self.known.len());
        let mut masks = Vec::new();
        let passed_by = HashSet::new();
        let (added, looked_after) = self.added.as_ref().map_or((&[][..], &passed_by), |(added, set)| (added, set));
        let mut walk = Walk {
            old: &self.known,
            new: &mut known,
            workspace,
            passed_by: &passed_by,
            exempt: &self.exempt,
            masks: &mut masks,
            most: self.most,
        };
        for root in workspace.roots() {
            walk.begin(root.handle(), root.path())?;
        }
        walk.passed_by = looked_after;
        for added in added {
            walk.begin(added.handle.as_fd(), &added.path)?;
        }
        self.known = known;
        // A root may lie inside another.
        masks.sort_by(|a: &Mask, b| a.path.cmp(&b.path));
        masks.dedup_by(|a, b| a.path == b.path);
        Ok(masks)
    }
}

/// The directories that a setting adds. The roots inside of them are looked through anyway; programs and toolchains are
/// full of names that look like secrets and are none.
fn added(workspace: &Workspace, reach: &Reach) -> Result<(Vec<Added>, HashSet<Identity>)> {
    let of = |origin| reach.grants.iter().filter(move |grant| grant.origin == origin && grant.directory);
    let added = of(Origin::Setting).map(|grant| Added::open(&grant.path)).collect::<Result<Vec<_>>>()?;
    let mut passed_by = HashSet::new();
    if !added.is_empty() {
        let machine = of(Origin::Machine).filter_map(|grant| rustix::fs::stat(&grant.path).ok());
        let roots = workspace.roots().iter().filter_map(|root| rustix::fs::fstat(root.handle()).ok());
        passed_by.extend(machine.chain(roots).map(|stat| identity(&stat)));
    }
    Ok((added, passed_by))
}
