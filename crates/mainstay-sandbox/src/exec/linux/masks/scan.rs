//! What is searched for protected names, and when a result can be trusted.
//!
//! A scan runs before every command, so a directory that has not changed since it was last read is not read again.

use std::collections::{HashMap, HashSet};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Error, Result};
use rustix::fs::{Mode, OFlags};

use super::walk::{ATTEMPTS, KnownDir, Walk, changing_too_fast};
use crate::exec::ExecSettings;
use crate::exec::linux::mounts::Mask;
use crate::exec::visibility::{Origin, Visibility};
use crate::guard::Guard;
use crate::identity::FileId;
use crate::workspace::{DIRECTORY, Workspace};

/// Long enough for one change to be distinguished from the next within a few passes, see `is_recent`.
const BETWEEN_PASSES: Duration = Duration::from_millis(10);

/// Finds protected names again and again, and remembers the directories that did not change.
pub(crate) struct ProtectedScan {
    workspace: Workspace,
    /// Directories that commands see because of a setting. They are held open from the beginning: commands see this one
    /// under its name, whatever becomes of it.
    added: Vec<(PathBuf, OwnedFd)>,
    /// Directories inside of those that are not searched.
    skipped: HashSet<FileId>,
    /// The server's own directories among programs and toolchains, which are not searched; no command can move them.
    closed: Vec<(PathBuf, FileId)>,
    known: HashMap<FileId, Arc<KnownDir>>,
    /// What was found the last time, with a handle that shows whether it still exists anywhere.
    hits: HashMap<FileId, Option<OwnedFd>>,
    /// Names that are not hidden, by a setting.
    exempt: Guard,
    max_masks: usize,
}

impl ProtectedScan {
    /// Prepares a scan of the roots and of what a setting adds. Roots inside of the latter are searched anyway. Programs
    /// and toolchains are not: they are full of names that look like secrets and are none.
    pub(crate) fn new(workspace: &Workspace, visibility: &Visibility, settings: &ExecSettings) -> Result<Self> {
        let of = |origin| visibility.grants.iter().filter(move |grant| grant.origin == origin && grant.directory);
        let machine = of(Origin::Machine).filter_map(|grant| FileId::of_path(&grant.path).ok());
        let roots = workspace.roots().iter().map(|root| root.identity);
        let among = |path: &Path| visibility.around(path).is_some_and(|grant| grant.origin == Origin::Machine);
        let closed = workspace.closed.iter().filter(|closed| among(&closed.path));
        Ok(Self {
            workspace: workspace.clone(),
            added: of(Origin::Setting).map(|grant| open_added(&grant.path)).collect::<Result<_>>()?,
            skipped: machine.chain(roots).collect(),
            closed: closed.map(|closed| (closed.path.clone(), closed.identity)).collect(),
            known: HashMap::new(),
            hits: HashMap::new(),
            exempt: Guard::only(&settings.allow_protected),
            max_masks: settings.hidden_names,
        })
    }

    /// Every protected name in the roots and in the paths that a setting adds.
    ///
    /// A name that was found before and is missing now may have been moved while the scan was running: another command
    /// can do that on purpose. It counts as gone if it exists nowhere any more, or if two passes saw the same
    /// directories, none of which changed in between: then everything was where they saw it.
    pub(crate) fn masks(&mut self) -> Result<Vec<Mask>> {
        let mut seen = self.pass()?;
        let mut looks = 0;
        while self.misses_any(&seen.masks) {
            looks += 1;
            if looks > ATTEMPTS {
                return Err(changing_too_fast());
            }
            std::thread::sleep(BETWEEN_PASSES);
            let was_calm = seen.calm;
            seen = self.pass()?;
            if was_calm && seen.calm && same(&seen.before, &self.known) {
                break;
            }
        }
        self.hits = self.open_hits(&seen.masks);
        Ok(seen.masks)
    }

    /// Whether something that was found before is missing now, although it still exists.
    fn misses_any(&self, masks: &[Mask]) -> bool {
        let found: HashSet<FileId> = masks.iter().map(|mask| mask.identity).collect();
        let exists = |handle: &Option<OwnedFd>| {
            let links = handle.as_ref().and_then(|handle| rustix::fs::fstat(handle).ok()).map(|stat| stat.st_nlink);
            links != Some(0)
        };
        self.hits.iter().any(|(identity, handle)| !found.contains(identity) && exists(handle))
    }

    /// Opens what was found. The handle shows later whether the file still exists, under whatever name; where it cannot
    /// be opened, it may exist.
    fn open_hits(&mut self, masks: &[Mask]) -> HashMap<FileId, Option<OwnedFd>> {
        let hold = |mask: &Mask| {
            let flags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
            let handle = rustix::fs::open(mask.path.as_c_str(), flags, Mode::empty()).ok()?;
            (FileId::of(&handle) == Ok(mask.identity)).then_some(handle)
        };
        let mut before = std::mem::take(&mut self.hits);
        let known = |mask: &Mask| (mask.identity, before.remove(&mask.identity).flatten().or_else(|| hold(mask)));
        masks.iter().map(known).collect()
    }

    /// Reads everything once, with the help of what the previous pass knew.
    fn pass(&mut self) -> Result<Pass> {
        let nothing = HashSet::new();
        let mut walk = Walk {
            old: &self.known,
            new: HashMap::with_capacity(self.known.len()),
            workspace: &self.workspace,
            skipped: &nothing,
            exempt: &self.exempt,
            masks: Vec::new(),
            calm: true,
            max_masks: self.max_masks,
        };
        for root in self.workspace.roots() {
            walk.begin(root.handle.as_fd(), root.path())?;
        }
        walk.skipped = &self.skipped;
        for (path, handle) in &self.added {
            walk.begin(handle.as_fd(), path)?;
        }
        for (path, identity) in &self.closed {
            walk.hide(path.clone(), *identity, true)?;
        }
        let Walk { new, mut masks, calm, .. } = walk;
        let before = std::mem::replace(&mut self.known, new);
        // A root may be inside another.
        masks.sort_by(|a, b| a.path.cmp(&b.path));
        masks.dedup_by(|a, b| a.path == b.path);
        Ok(Pass { masks, before, calm })
    }
}

/// The result of reading everything once.
struct Pass {
    masks: Vec<Mask>,
    /// The directories as the previous pass saw them.
    before: HashMap<FileId, Arc<KnownDir>>,
    /// Whether no directory had changed so recently that another change might not show.
    calm: bool,
}

/// Whether two passes saw the same directories, all of them unchanged.
fn same(before: &HashMap<FileId, Arc<KnownDir>>, now: &HashMap<FileId, Arc<KnownDir>>) -> bool {
    let unchanged = |(identity, known): (&FileId, &Arc<KnownDir>)| {
        before.get(identity).is_some_and(|before| before.metadata == known.metadata)
    };
    before.len() == now.len() && now.iter().all(unchanged)
}

fn open_added(path: &Path) -> Result<(PathBuf, OwnedFd)> {
    let handle = rustix::fs::open(path, DIRECTORY.union(OFlags::PATH), Mode::empty())
        .map_err(|errno| Error::internal(format!("{} cannot be opened: {errno}", path.display())))?;
    Ok((path.to_owned(), handle))
}
