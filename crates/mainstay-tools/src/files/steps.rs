//! From a plan to the sandbox's steps.

use std::collections::HashMap;
use std::path::Path;

use mainstay_core::Result;
use mainstay_sandbox::{Content, Staging, Step, WriteTarget};

use super::outcome::Changed;
use super::plan::{Item, Now, Plan, alive, beneath};
use super::subtree;

impl Plan {
    /// Does what was told, and completes it with what came of it.
    pub(super) fn commit(self, mut told: Vec<Option<Changed>>) -> Result<Vec<Changed>> {
        let Self { workspace, cancel, items, share } = self;
        let needless: Vec<bool> = items.iter().map(|item| is_made_by_others(item, &items)).collect();
        let mut origins = HashMap::new();
        let (mut steps, mut at, mut stagings) = (Vec::new(), Vec::new(), Vec::new());
        let (away, rest): (Vec<_>, Vec<_>) =
            items.into_iter().enumerate().partition(|(_, item)| matches!(item.now, Now::MovedAway));
        for (_, item) in away {
            origins.insert(item.path, item.place);
        }
        for (number, item) in rest {
            alive(&cancel)?;
            if let Now::Tree(from, _) = &item.now {
                stagings.push(subtree::copy(from, &item.place, &cancel)?);
            }
            if !needless[number]
                && let Some(step) = step(item, &mut origins, stagings.last())?
            {
                steps.push(step);
                at.push(number);
            }
        }
        alive(&cancel)?;
        let done = if steps.is_empty() { Vec::new() } else { workspace.commit(steps)? };
        for (number, done) in at.into_iter().zip(done) {
            if let Some(changed) = told.get_mut(number).and_then(Option::as_mut) {
                changed.settle(done);
            }
        }
        drop(share);
        Ok(told.into_iter().flatten().collect())
    }
}

fn step(item: Item, origins: &mut HashMap<String, WriteTarget>, staged: Option<&Staging>) -> Result<Option<Step>> {
    let Item { place, before, now, expect, mode, recursive, from, .. } = item;
    let content = match now {
        Now::Untouched | Now::MovedAway => return Ok(None),
        Now::Gone => {
            return Ok(before.map(|facts| Step::Remove { target: place, expect, kind: facts.kind, recursive }));
        }
        Now::Directory => return Ok(Some(Step::MakeDirectory { target: place, mode: None })),
        Now::Whole(_) => {
            return Ok(from.and_then(|from| origins.remove(&from)).map(|from| Step::Move { from, to: place, expect }));
        }
        Now::Tree(..) => {
            let from = staged.map(|staging| staging.path(Path::new("")).entry_target()).transpose()?;
            return Ok(from.map(|from| Step::Move { from, to: place, expect }));
        }
        Now::Bytes(bytes) => Content::Bytes(bytes),
        Now::Copy(file) => Content::Copy(file),
        Now::Append { to, more } => Content::Append { to, more },
    };
    Ok(Some(Step::Put { target: place, content, expect, mode }))
}

/// A directory that comes to be because something is put into it.
fn is_made_by_others(item: &Item, items: &[Item]) -> bool {
    let inside = |other: &Item| other.appears() && other.path != item.path && beneath(&other.path, &item.path);
    matches!(item.now, Now::Directory) && items.iter().any(inside)
}
