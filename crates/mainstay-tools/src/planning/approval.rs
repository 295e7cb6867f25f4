//! Compares a plan with what the call is approved to change.
//!
//! Two things show only in a plan, because they depend on what is there: that a file loses all of its content, and that
//! a path leads to a file which other programs run.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};

use mainstay_core::{Approval, Context, Effect, Error, PlannedChange, Reason, Result, canonical_digest};
use mainstay_sandbox::{AutoRunPolicy, Content, Dir, EntryKind, Expect};
use serde_json::{Value, json};

use crate::planning::plan::{Item, NewState, Plan};
use crate::planning::subtree::walk_tree;

/// How many paths a notice names.
const MAX_NAMED_PATHS: usize = 5;

/// The word in the audit for a change of what other programs run.
const AUDIT_MARK: &str = "auto_run";

impl Plan {
    /// Fails unless the call is approved to make this plan's changes.
    pub(crate) fn check_approval(&mut self, context: &Context) -> Result<()> {
        let auto_run = self.limits.auto_run;
        let running = self.auto_run_paths()?;
        if let Some(first) = running.first() {
            context.mark_in_audit(AUDIT_MARK);
            if auto_run == AutoRunPolicy::Refuse {
                return Err(refused(first));
            }
        }
        let emptied = self.emptied_paths();
        let mut plan = PlannedChange {
            effect: if emptied.is_empty() && !self.removes() { Effect::Writes } else { Effect::Destroys },
            state: String::new(),
            ask: auto_run == AutoRunPolicy::Ask && !running.is_empty(),
            notice: notice(&running, &emptied),
        };
        // Nearly every call ends here: the state, which reads files, is needed only for an approval of its own.
        if matches!(context.approval, Approval::Effect(_)) && context.approval.covers(&plan) {
            return Ok(());
        }
        plan.state = self.state()?;
        if context.approval.covers(&plan) { Ok(()) } else { Err(Error::unapproved(plan)) }
    }

    fn changed(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| !matches!(item.state, NewState::Untouched))
    }

    /// The paths at which the plan changes what programs outside the sandbox run.
    fn auto_run_paths(&self) -> Result<BTreeSet<String>> {
        let mut paths = BTreeSet::new();
        for item in self.changed() {
            if item.target.is_auto_run(&[]) {
                paths.insert(item.path.clone());
            } else if let Some(tree) = self.arriving_tree(item)? {
                let top = tree.names().len();
                walk_tree(&tree, &self.cancel, 0, &mut |at, entry| {
                    let inside: Vec<&OsStr> =
                        at.names()[top..].iter().chain([&entry.name]).map(OsString::as_os_str).collect();
                    if item.target.is_auto_run(&inside) {
                        let inside: Vec<_> = inside.iter().map(|name| name.to_string_lossy()).collect();
                        paths.insert(format!("{}/{}", item.path, inside.join("/")));
                    }
                    Ok(())
                })?;
            }
        }
        Ok(paths)
    }

    /// The directory that is copied or moved to the item.
    fn arriving_tree(&self, item: &Item) -> Result<Option<Dir>> {
        let from = match (&item.state, &item.from) {
            (NewState::CopiedTree(from, _), _) => from.display(),
            (NewState::MovedHere(EntryKind::Directory), Some(from)) => from.clone(),
            _ => return Ok(None),
        };
        self.workspace.find(&from)?.open_dir().map(Some)
    }

    /// Whether anything is removed that is not at another path afterwards.
    fn removes(&self) -> bool {
        let is_removed = |item: &Item| matches!(item.state, NewState::Removed) && item.before.is_some();
        self.changed().any(|item| is_removed(item) && !self.is_moved_elsewhere(&item.path))
    }

    /// Files that are overwritten with nothing: that destroys their content as much as removing them does.
    fn emptied_paths(&self) -> BTreeSet<String> {
        let had_content =
            |item: &Item| item.before.is_some_and(|before| before.kind == EntryKind::File && before.size > 0);
        let is_emptied = |item: &&Item| match &item.state {
            NewState::File(Content::Bytes(bytes)) => bytes.is_empty(),
            NewState::File(Content::Copy(file)) => file.metadata().size == 0,
            NewState::MovedHere(_) => self.size_on_disk(item) == 0,
            NewState::File(Content::Append { .. })
            | NewState::Untouched
            | NewState::Removed
            | NewState::MovedAway
            | NewState::NewDirectory
            | NewState::CopiedTree(..) => false,
        };
        let emptied = self.changed().filter(|item| had_content(item)).filter(is_emptied);
        emptied.filter(|item| !self.is_moved_elsewhere(&item.path)).map(|item| item.path.clone()).collect()
    }

    /// A digest of everything that is there and would be changed. What the digest says about a file is checked again
    /// when the plan is committed.
    fn state(&mut self) -> Result<String> {
        let mut state = Vec::new();
        for at in 0..self.items.len() {
            if matches!(self.items[at].state, NewState::Untouched) {
                continue;
            }
            let now = self.state_of(at)?;
            state.push(json!([self.items[at].path, now]));
        }
        Ok(canonical_digest(&Value::Array(state)))
    }

    /// The etag of a file; of a directory that is removed, a digest of all entries in it.
    fn state_of(&mut self, at: usize) -> Result<Value> {
        let Some(before) = self.items[at].before else { return Ok(Value::Null) };
        if before.kind == EntryKind::File {
            let Some(file) = self.items[at].target.current()? else { return Ok(Value::Null) };
            let etag = file.etag_while(&|| !self.cancel.is_cancelled())?;
            let item = &mut self.items[at];
            if item.expect == Expect::Anything {
                item.expect = Expect::Etag(etag.clone());
            }
            return Ok(json!(etag));
        }
        let mut digest = before.version();
        if matches!(self.items[at].state, NewState::Removed)
            && let Some(tree) = self.removed_directory(&self.items[at])?
        {
            walk_tree(&tree, &self.cancel, 0, &mut |at, entry| {
                let version = at.metadata(&entry.name)?.version();
                digest = canonical_digest(&json!([digest, entry.name.to_string_lossy(), version]));
                Ok(())
            })?;
        }
        Ok(json!(digest))
    }
}

fn refused(path: &str) -> Error {
    let line = format!(
        "{path} is run or obeyed by programs outside the sandbox, and files.auto_run refuses changes of such files."
    );
    Error::denied(line).with_reason(Reason::path(path))
}

/// What a person should know before they approve.
fn notice(running: &BTreeSet<String>, emptied: &BTreeSet<String>) -> Option<String> {
    let mut sentences = Vec::new();
    if !running.is_empty() {
        sentences.push(format!("Programs outside the sandbox run or obey {}.", named(running)));
    }
    if !emptied.is_empty() {
        sentences.push(format!("All content of {} would be lost.", named(emptied)));
    }
    Some(sentences.join(" ")).filter(|notice| !notice.is_empty())
}

fn named(paths: &BTreeSet<String>) -> String {
    let more = paths.len().saturating_sub(MAX_NAMED_PATHS);
    let first: Vec<&str> = paths.iter().take(MAX_NAMED_PATHS).map(String::as_str).collect();
    if more == 0 { first.join(", ") } else { format!("{} and {more} more", first.join(", ")) }
}
