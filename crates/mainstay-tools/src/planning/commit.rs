//! The end of a plan: it is checked, described, and committed unless it is a dry run.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use mainstay_core::Result;
use mainstay_sandbox::{Content, Staging, Step, WriteTarget};

use crate::diff::render::Diff;
use crate::planning::destination::resolve_links;
use crate::planning::errors::inside_changed_tree;
use crate::planning::plan::{Item, NewState, Plan, is_within};
use crate::planning::report::{ChangedEntry, Report};
use crate::planning::subtree;

/// The longest diff of a dry run, and the longest that is returned with a change that was made.
const DRY_RUN_DIFF_BYTES: usize = 256 * 1024;
const SMALL_DIFF_BYTES: usize = 16 * 1024;

/// Whether the reply to a change that was made contains its diff. A dry run always does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiffInReply {
    IfSmall,
    Never,
}

impl Plan {
    /// Commits the plan, or only reports what it would do.
    pub(crate) fn finish(self, dry_run: bool, diff: DiffInReply) -> Result<Report> {
        self.check_disjoint()?;
        self.limits.check_copied(self.copied_bytes())?;
        let directories = self.new_parent_directories();
        let diff = match (dry_run, diff) {
            (true, _) => Some(self.diff(DRY_RUN_DIFF_BYTES)?.finish()),
            (false, DiffInReply::IfSmall) => {
                Some(self.diff(SMALL_DIFF_BYTES)?).filter(Diff::is_complete).map(Diff::finish)
            }
            (false, DiffInReply::Never) => None,
        };
        let entries = self.describe(dry_run)?;
        let changes = if dry_run { entries.into_iter().flatten().collect() } else { self.commit(entries)? };
        Ok(Report { dry_run, changes, directories, diff })
    }

    /// Fails if something is changed inside a directory that is removed or moved. Compares resolved paths: the same
    /// directory can be written in several ways if links lead to it.
    fn check_disjoint(&self) -> Result<()> {
        let changed = || self.items.iter().filter(|item| !matches!(item.state, NewState::Untouched));
        // Resolving opens directories; most calls change one path and need none of it.
        if changed().count() < 2 || !changed().any(Item::changes_tree) {
            return Ok(());
        }
        let mut resolved = Vec::new();
        for item in changed() {
            resolved.push((resolve_links(&self.workspace, &item.path)?, item));
        }
        for (tree, item) in resolved.iter().filter(|(_, item)| item.changes_tree()) {
            let mut others = resolved.iter().filter(|(_, other)| other.path != item.path);
            if let Some((_, other)) = others.find(|(path, _)| path.starts_with(tree)) {
                return Err(inside_changed_tree("path", &other.path, &item.path));
            }
        }
        Ok(())
    }

    /// How many bytes the plan copies, as far as is known before it does.
    fn copied_bytes(&self) -> u64 {
        let copied =
            |item: &Item| if let NewState::File(Content::Copy(file)) = &item.state { file.metadata().size } else { 0 };
        self.items.iter().map(copied).sum::<u64>() + self.tree_bytes()
    }

    fn tree_bytes(&self) -> u64 {
        let copied = |item: &Item| if let NewState::CopiedTree(_, contents) = &item.state { contents.bytes } else { 0 };
        self.items.iter().map(copied).sum()
    }

    /// The directories that are created only because something is put into them.
    fn new_parent_directories(&self) -> Vec<String> {
        let created = || self.items.iter().filter(|item| item.is_created());
        let missing: BTreeSet<String> = created().flat_map(|item| item.target.missing_directories()).collect();
        missing.into_iter().filter(|path| !created().any(|item| item.path == *path)).collect()
    }

    /// Makes the changes in one transaction of the sandbox, and completes their descriptions with what was done.
    fn commit(self, mut entries: Vec<Option<ChangedEntry>>) -> Result<Vec<ChangedEntry>> {
        // Files of copied directories may have grown since they were counted.
        let mut copied = self.copied_bytes() - self.tree_bytes();
        let Self { workspace, cancel, items, memory, limits, descriptors, .. } = self;
        let wanted = || !cancel.is_cancelled();
        // The sandbox creates missing parent directories itself; a step of their own would fail.
        let redundant: Vec<bool> = items.iter().map(|item| is_implied_directory(item, &items)).collect();
        let mut origins = HashMap::new();
        let (mut steps, mut indexes, mut stagings) = (Vec::new(), Vec::new(), Vec::new());
        let (moved_away, rest): (Vec<_>, Vec<_>) =
            items.into_iter().enumerate().partition(|(_, item)| matches!(item.state, NewState::MovedAway));
        // A move is one step, made from its target; the origin only contributes where it starts.
        for (_, item) in moved_away {
            origins.insert(item.path, item.target);
        }
        for (index, item) in rest {
            crate::progress::check_cancelled(&cancel)?;
            if let NewState::CopiedTree(from, _) = &item.state {
                let mut count = |bytes: u64| {
                    copied = copied.saturating_add(bytes);
                    limits.check_copied(copied)
                };
                // Kept alive until the commit: dropping a staging directory removes it.
                stagings.push(subtree::copy(from, &item.target, &cancel, &mut count)?);
            }
            if !redundant[index]
                && let Some(step) = step(item, &mut origins, stagings.last())?
            {
                steps.push(step);
                indexes.push(index);
            }
        }
        crate::progress::check_cancelled(&cancel)?;
        let done = if steps.is_empty() { Vec::new() } else { workspace.commit_while(steps, &wanted)? };
        for (index, done) in indexes.into_iter().zip(done) {
            if let Some(entry) = entries.get_mut(index).and_then(Option::as_mut) {
                entry.complete(done);
            }
        }
        // The content is written and its files are closed: only now may other plans have their memory and descriptors.
        drop((memory, descriptors));
        Ok(entries.into_iter().flatten().collect())
    }
}

/// The sandbox's step for an item; `None` if another item's step takes care of it.
fn step(item: Item, origins: &mut HashMap<String, WriteTarget>, staging: Option<&Staging>) -> Result<Option<Step>> {
    let Item { target, before, state, expect, mode, recursive, from, .. } = item;
    Ok(match state {
        NewState::Untouched | NewState::MovedAway => None,
        NewState::Removed => before.map(|metadata| Step::Remove { target, expect, kind: metadata.kind, recursive }),
        NewState::NewDirectory => Some(Step::MakeDirectory { target, mode: None }),
        NewState::MovedHere(_) => {
            from.and_then(|from| origins.remove(&from)).map(|from| Step::Move { from, to: target, expect })
        }
        NewState::CopiedTree(..) => {
            let from = staging.map(|staging| staging.path(Path::new("")).entry_target()).transpose()?;
            from.map(|from| Step::Move { from, to: target, expect })
        }
        NewState::File(content) => Some(Step::Put { target, content, expect, mode }),
    })
}

/// Whether a new directory is created anyway, because something is put into it.
fn is_implied_directory(item: &Item, items: &[Item]) -> bool {
    let inside = |other: &Item| other.is_created() && other.path != item.path && is_within(&other.path, &item.path);
    matches!(item.state, NewState::NewDirectory) && items.iter().any(inside)
}
