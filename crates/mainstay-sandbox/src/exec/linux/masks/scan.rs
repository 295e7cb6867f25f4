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
use crate::exec::linux::mounts::Mask;
use crate::exec::settings::ExecSettings;
use crate::exec::visibility::{Origin, Visibility};
use crate::guard::{Guard, PROTECTED};
use crate::identity::FileId;
use crate::workspace::{DIRECTORY, Workspace};

/// Long enough for one change to be distinguished from the next within a few passes, see `is_recent`.
const BETWEEN_PASSES: Duration = Duration::from_millis(10);

/// Finds protected names again and again, and remembers the directories that did not change.
pub(crate) struct ProtectedScan {
    known: HashMap<FileId, Arc<KnownDir>>,
    /// What was found the last time, with a handle that shows whether it still exists anywhere.
    hits: HashMap<FileId, Option<OwnedFd>>,
    outside: Option<OutsideRoots>,
    /// Names that are not hidden, by a setting.
    exempt: Guard,
    max_masks: usize,
}

/// What is hidden outside of the roots.
#[derive(Default)]
struct OutsideRoots {
    /// Directories that commands see because of a setting.
    added: Vec<AddedDir>,
    /// Directories inside of those that are not searched.
    skipped: HashSet<FileId>,
    /// The server's own directories among programs and toolchains, which are not searched; no command can move them.
    closed: Vec<(PathBuf, FileId)>,
}

/// A directory that is held open from the beginning: commands see this one under its name, whatever becomes of it.
struct AddedDir {
    path: PathBuf,
    handle: OwnedFd,
}

impl AddedDir {
    fn open(path: &Path) -> Result<Self> {
        let handle = rustix::fs::open(path, DIRECTORY.union(OFlags::PATH), Mode::empty())
            .map_err(|errno| Error::internal(format!("{} cannot be opened: {errno}", path.display())))?;
        Ok(Self { path: path.to_owned(), handle })
    }
}

impl ProtectedScan {
    /// Prepares a scan; nothing is read yet.
    pub(crate) fn new(settings: &ExecSettings) -> Self {
        // A guard of the exempted names alone.
        let named = |name: &&str| settings.allow_protected.iter().any(|allowed| allowed.eq_ignore_ascii_case(name));
        let others: Vec<String> = PROTECTED.iter().filter(|name| !named(name)).map(|name| (*name).to_owned()).collect();
        let exempt = Guard::new(&settings.allow_protected, &others);
        let (known, hits) = (HashMap::new(), HashMap::new());
        Self { known, hits, outside: None, exempt, max_masks: settings.hidden_names }
    }

    /// Every protected name in the roots and in the paths that a setting adds.
    ///
    /// A name that was found before and is missing now may have been moved while the scan was running: another command
    /// can do that on purpose. It counts as gone if it exists nowhere any more, or if two passes saw the same
    /// directories, none of which changed in between: then everything was where they saw it.
    pub(crate) fn masks(&mut self, workspace: &Workspace, visibility: &Visibility) -> Result<Vec<Mask>> {
        if self.outside.is_none() {
            self.outside = Some(OutsideRoots::new(workspace, visibility)?);
        }
        let mut seen = self.pass(workspace)?;
        let mut looks = 0;
        while self.misses_any(&seen.masks) {
            looks += 1;
            if looks > ATTEMPTS {
                return Err(changing_too_fast());
            }
            std::thread::sleep(BETWEEN_PASSES);
            let was_calm = seen.calm;
            seen = self.pass(workspace)?;
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
            rustix::fs::fstat(&handle).is_ok_and(|stat| FileId::from(&stat) == mask.identity).then_some(handle)
        };
        let mut before = std::mem::take(&mut self.hits);
        let known = |mask: &Mask| (mask.identity, before.remove(&mask.identity).flatten().or_else(|| hold(mask)));
        masks.iter().map(known).collect()
    }

    /// Reads everything once, with the help of what the previous pass knew.
    fn pass(&mut self, workspace: &Workspace) -> Result<Pass> {
        let nothing = HashSet::new();
        let outside = self.outside.get_or_insert_default();
        let mut walk = Walk {
            old: &self.known,
            new: HashMap::with_capacity(self.known.len()),
            workspace,
            skipped: &nothing,
            exempt: &self.exempt,
            masks: Vec::new(),
            calm: true,
            max_masks: self.max_masks,
        };
        for root in workspace.roots() {
            walk.begin(root.handle(), root.path())?;
        }
        walk.skipped = &outside.skipped;
        for added in &outside.added {
            walk.begin(added.handle.as_fd(), &added.path)?;
        }
        for (path, identity) in &outside.closed {
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

impl OutsideRoots {
    /// Roots inside of what a setting adds are searched anyway. Programs and toolchains are not: they are full of names
    /// that look like secrets and are none.
    fn new(workspace: &Workspace, visibility: &Visibility) -> Result<Self> {
        let of = |origin| visibility.grants.iter().filter(move |grant| grant.origin == origin && grant.directory);
        let added = of(Origin::Setting).map(|grant| AddedDir::open(&grant.path)).collect::<Result<Vec<_>>>()?;
        let mut skipped = HashSet::new();
        if !added.is_empty() {
            let machine = of(Origin::Machine).filter_map(|grant| rustix::fs::stat(&grant.path).ok());
            let roots = workspace.roots().iter().filter_map(|root| rustix::fs::fstat(root.handle()).ok());
            skipped.extend(machine.chain(roots).map(|stat| FileId::from(&stat)));
        }
        let among = |path: &Path| visibility.around(path).is_some_and(|grant| grant.origin == Origin::Machine);
        let closed = workspace.closed().iter().filter(|closed| among(&closed.path));
        let closed = closed.map(|closed| (closed.path.clone(), closed.identity)).collect();
        Ok(Self { added, skipped, closed })
    }
}
