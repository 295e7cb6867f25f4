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
use crate::workspace::DIRECTORY;
use crate::{Guard, PROTECTED, Workspace};
use walk::{Known, LOOKS, Walk, identity, too_quick};

/// Long enough for a change to be told from the next one, see `is_recent`, within a few passes.
const BETWEEN_PASSES: Duration = Duration::from_millis(10);

pub(crate) struct Scan {
    known: HashMap<Identity, Arc<Known>>,
    /// What was found the last time, and whether it still exists anywhere.
    hits: HashMap<Identity, Option<OwnedFd>>,
    beyond: Option<Beyond>,
    exempt: Guard,
    most: usize,
}

/// What is hidden outside of the roots.
#[derive(Default)]
struct Beyond {
    /// What commands reach because of a setting.
    added: Vec<Added>,
    /// What is not looked through inside of it.
    passed_by: HashSet<Identity>,
    /// The server's own directories among programs and toolchains. Nobody looks there, and no command moves them.
    closed: Vec<(PathBuf, Identity)>,
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
        Self { known: HashMap::new(), hits: HashMap::new(), beyond: None, exempt, most: settings.hidden_names }
    }

    /// Every protected name in the roots and in what a setting adds.
    ///
    /// A name that was there before and is not found now may have been moved about while the scan passed by: another
    /// command can do that on purpose. It is believed to be gone if it exists nowhere any more, or if two passes saw
    /// the same directories, none of which changed in between: at that moment everything was where they saw it.
    pub(crate) fn masks(&mut self, workspace: &Workspace, reach: &Reach) -> Result<Vec<Mask>> {
        if self.beyond.is_none() {
            self.beyond = Some(Beyond::of(workspace, reach)?);
        }
        let mut seen = self.pass(workspace)?;
        let mut looks = 0;
        while self.misses_any(&seen.masks) {
            looks += 1;
            if looks > LOOKS {
                return Err(too_quick());
            }
            std::thread::sleep(BETWEEN_PASSES);
            let was_calm = seen.calm;
            seen = self.pass(workspace)?;
            if was_calm && seen.calm && same(&seen.before, &self.known) {
                break;
            }
        }
        self.hits = self.held(&seen.masks);
        Ok(seen.masks)
    }

    /// Whether something that was found before is not there now, although it still exists.
    fn misses_any(&self, masks: &[Mask]) -> bool {
        let found: HashSet<Identity> = masks.iter().map(|mask| mask.identity).collect();
        let exists = |handle: &Option<OwnedFd>| {
            let links = handle.as_ref().and_then(|handle| rustix::fs::fstat(handle).ok()).map(|stat| stat.st_nlink);
            links != Some(0)
        };
        self.hits.iter().any(|(identity, handle)| !found.contains(identity) && exists(handle))
    }

    /// A handle tells later whether a file still exists, under whatever name. Where there is none, it may exist.
    fn held(&mut self, masks: &[Mask]) -> HashMap<Identity, Option<OwnedFd>> {
        let hold = |mask: &Mask| {
            let flags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
            let handle = rustix::fs::open(mask.path.as_c_str(), flags, Mode::empty()).ok()?;
            rustix::fs::fstat(&handle).is_ok_and(|stat| identity(&stat) == mask.identity).then_some(handle)
        };
        let mut before = std::mem::take(&mut self.hits);
        let known = |mask: &Mask| (mask.identity, before.remove(&mask.identity).flatten().or_else(|| hold(mask)));
        masks.iter().map(known).collect()
    }

    fn pass(&mut self, workspace: &Workspace) -> Result<Seen> {
        let mut known = HashMap::with_capacity(self.known.len());
        let mut masks = Vec::new();
        let mut calm = true;
        let passed_by = HashSet::new();
        let beyond = self.beyond.get_or_insert_default();
        let mut walk = Walk {
            old: &self.known,
            new: &mut known,
            workspace,
            passed_by: &passed_by,
            exempt: &self.exempt,
            masks: &mut masks,
            calm: &mut calm,
            most: self.most,
        };
        for root in workspace.roots() {
            walk.begin(root.handle(), root.path())?;
        }
        walk.passed_by = &beyond.passed_by;
        for added in &beyond.added {
            walk.begin(added.handle.as_fd(), &added.path)?;
        }
        for (path, identity) in &beyond.closed {
            walk.hide(path.clone(), *identity, true)?;
        }
        let before = std::mem::replace(&mut self.known, known);
        // A root may lie inside another.
        masks.sort_by(|a: &Mask, b| a.path.cmp(&b.path));
        masks.dedup_by(|a, b| a.path == b.path);
        Ok(Seen { masks, before, calm })
    }
}

/// What one pass saw.
struct Seen {
    masks: Vec<Mask>,
    /// The directories as the pass before saw them.
    before: HashMap<Identity, Arc<Known>>,
    /// Whether no directory had changed so recently that another change might not show.
    calm: bool,
}

fn same(before: &HashMap<Identity, Arc<Known>>, now: &HashMap<Identity, Arc<Known>>) -> bool {
    let unchanged = |(identity, known): (&Identity, &Arc<Known>)| {
        before.get(identity).is_some_and(|before| before.stamp == known.stamp)
    };
    before.len() == now.len() && now.iter().all(unchanged)
}

impl Beyond {
    /// The roots inside of what a setting adds are looked through anyway; programs and toolchains are full of names that
    /// look like secrets and are none.
    fn of(workspace: &Workspace, reach: &Reach) -> Result<Self> {
        let of = |origin| reach.grants.iter().filter(move |grant| grant.origin == origin && grant.directory);
        let added = of(Origin::Setting).map(|grant| Added::open(&grant.path)).collect::<Result<Vec<_>>>()?;
        let mut passed_by = HashSet::new();
        if !added.is_empty() {
            let machine = of(Origin::Machine).filter_map(|grant| rustix::fs::stat(&grant.path).ok());
            let roots = workspace.roots().iter().filter_map(|root| rustix::fs::fstat(root.handle()).ok());
            passed_by.extend(machine.chain(roots).map(|stat| identity(&stat)));
        }
        let among = |path: &Path| reach.around(path).is_some_and(|grant| grant.origin == Origin::Machine);
        let closed = workspace.closed().iter().filter(|closed| among(&closed.path));
        let closed = closed.map(|closed| (closed.path.clone(), closed.identity)).collect();
        Ok(Self { added, passed_by, closed })
    }
}
