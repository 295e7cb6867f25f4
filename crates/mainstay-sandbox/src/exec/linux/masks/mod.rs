//! Finds the protected names in the roots, and in the paths that a setting adds, so that they can be hidden from a
//! command.
//!
//! The names have to be known before every command. [`WatchedTree`] keeps them up to date by notices from the kernel, so
//! that a command costs the same in a workspace of any size. Where notices cannot be relied on, [`Walker`] looks at every
//! directory instead. Both read directories with [`names`]; symbolic links are not followed. What either misses because
//! another command moves directories meanwhile, [`KnownNames`] adds. Where there are too many, [`MaskLimit`] hides whole
//! directories.

mod known_names;
mod mask_limit;
mod names;
mod nodes;
#[cfg(test)]
mod tests;
mod walk;
mod watched_tree;

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mainstay_core::{Error, Result};

use self::known_names::KnownNames;
use self::mask_limit::{MaskLimit, TooMany};
use self::names::Search;
use self::walk::Walker;
use self::watched_tree::{Found, WatchedTree};
use crate::exec::ExecSettings;
use crate::exec::linux::mounts::{Mask, MaskKind};
use crate::exec::visibility::{Origin, Visibility};
use crate::inotify::Lost;
use crate::workspace::Workspace;

/// How many commands walk through the workspace before watching it is tried again.
const WALKS_BETWEEN_TRIES: usize = 100;

/// Finds protected names again and again.
pub(super) struct ProtectedScan {
    search: Arc<Search>,
    /// Whether there are names to search for. A program of the server's own choice has none hidden from it.
    searches: bool,
    tree: Option<WatchedTree>,
    walker: Walker,
    /// How many walks are left until watching is tried again.
    walks: usize,
    /// The server's own directories in what is not searched, such as programs and toolchains; no command can move them.
    closed: Vec<Mask>,
    /// What was hidden from the last command.
    known: KnownNames,
    distrusted: bool,
    mask_limit: MaskLimit,
    /// The directories that were hidden from the last command for the names in them.
    covered: Vec<PathBuf>,
}

impl ProtectedScan {
    /// Prepares a scan of the roots and of what a setting adds.
    pub(super) fn new(workspace: &Workspace, visibility: &Visibility, settings: &ExecSettings) -> Result<Self> {
        let searches = !workspace.roots()[0].guard.is_empty();
        let among =
            |path: &Path| visibility.around(path).is_some_and(|grant| !searches || grant.origin == Origin::Machine);
        let closed = workspace.closed.iter().filter(|closed| among(&closed.path)).map(|closed| -> Result<Mask> {
            let path = CString::new(closed.path.as_os_str().as_bytes()).map_err(Error::internal)?;
            Ok(Mask { path, identity: closed.identity, directory: true, keeps_place: false, kind: MaskKind::Name })
        });
        let search = Arc::new(Search::new(workspace, visibility, settings)?);
        Ok(Self {
            tree: None,
            walker: Walker::new(search.clone()),
            known: KnownNames::new(search.clone(), settings.hidden_names / 2),
            search,
            searches,
            walks: 0,
            closed: closed.collect::<Result<_>>()?,
            distrusted: false,
            mask_limit: MaskLimit {
                max_mounts: settings.hidden_names,
                kept: visibility.grants.iter().map(|grant| grant.path.clone()).collect(),
            },
            covered: Vec::new(),
        })
    }

    /// Every protected name in the roots and in the paths that a setting adds, or a directory around it. Each is a mount,
    /// and a command with many thousands of mounts takes long to start, so there is a limit. Those inside of others come
    /// first, because they have no path any more when the others are hidden.
    pub(super) fn masks(&mut self) -> Result<Vec<Mask>> {
        let mut masks = Vec::new();
        if self.searches {
            masks = match self.watched_masks() {
                Some(masks) => masks,
                None => self.walker.masks(&self.known)?,
            };
            masks.extend(self.known.missing(&masks).located);
            let covered = self.mask_limit.cover(masks, |mask| self.known.is_settled(mask));
            masks = covered.map_err(|many| self.refusal(&many))?;
            self.log_covered(&masks);
            self.known.replace(&masks);
        }
        masks.extend(self.closed.iter().cloned());
        masks.sort_by(|a, b| (&b.path, b.identity).cmp(&(&a.path, a.identity)));
        masks.dedup_by(|a, b| a.path == b.path && a.identity == b.identity);
        Ok(masks)
    }

    fn refusal(&self, TooMany { directory, names }: &TooMany) -> Error {
        Error::unavailable(format!(
            "There are more protected names to hide from a command than exec.hidden_names ({}) has room for, {names} of \
             them below {}; remove some, raise exec.hidden_names, or exempt some with exec.allow_protected.",
            self.mask_limit.max_mounts,
            directory.display()
        ))
    }

    /// Says once which directories are hidden as a whole, for whoever misses them.
    fn log_covered(&mut self, masks: &[Mask]) {
        let crowded = masks.iter().filter(|mask| mask.kind == MaskKind::Crowded);
        let covered: Vec<PathBuf> = crowded.map(|mask| mask.path().to_owned()).collect();
        if covered == self.covered {
            return;
        }
        let (count, some) = (covered.len(), &covered[..covered.len().min(10)]);
        if count > 0 {
            tracing::warn!(count, directories = ?some, "directories with too many protected names are hidden from commands");
        }
        self.covered = covered;
    }

    /// Whether something has changed since the last scan.
    pub(super) fn has_notices(&self) -> bool {
        self.tree.as_ref().is_some_and(WatchedTree::has_notices)
    }

    /// Takes in what has changed. The kernel keeps a limited number of notices: where they are not read in time,
    /// everything has to be searched again.
    pub(super) fn follow(&mut self) {
        let followed = self.tree.as_mut().map(WatchedTree::follow);
        self.distrusted |= followed.is_some_and(|followed| followed.is_err());
        self.known.drop_removed();
    }

    /// The names were not where the last scan has found them, again and again: the next one reads everything.
    pub(super) fn distrust(&mut self) {
        self.distrusted = true;
    }

    /// The names in the watched tree; `None` if everything has to be looked at.
    fn watched_masks(&mut self) -> Option<Vec<Mask>> {
        if let Some(mut tree) = self.tree.take() {
            let distrusted = std::mem::take(&mut self.distrusted);
            let masks = if distrusted { Err(Lost::Notices) } else { tree.masks() };
            if let Ok(masks) = masks.and_then(|found| self.trusted(found)) {
                self.tree = Some(tree);
                return Some(masks);
            }
        }
        if self.walks > 0 {
            self.walks -= 1;
            return None;
        }
        let built = WatchedTree::build(&self.search);
        let read = built.and_then(|mut tree| tree.masks().map(|found| (tree, found)));
        match read.and_then(|(tree, found)| Ok((tree, self.trusted(found)?))) {
            Ok((tree, masks)) => {
                self.tree = Some(tree);
                self.walker.clear();
                Some(masks)
            }
            Err(lost) => {
                self.walks = WALKS_BETWEEN_TRIES;
                let reason = match lost {
                    Lost::Notices => "it changes too fast".to_owned(),
                    Lost::Unwatchable(reason) => reason,
                };
                tracing::warn!(reason, "the workspace cannot be watched: every command looks at all of it first");
                None
            }
        }
    }

    /// What the tree has found, unless something known is missing while directories keep moving, and its handle does not
    /// tell where it is.
    fn trusted(&self, found: Found) -> Result<Vec<Mask>, Lost> {
        if !found.settled && self.known.missing(&found.masks).unlocated {
            return Err(Lost::Notices);
        }
        Ok(found.masks)
    }
}
