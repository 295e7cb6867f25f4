//! One step of a change, from the moment everything it needs is written to the moment it is done or undone.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;

use mainstay_core::{Error, Kind, Reason, Result};
use rustix::fs::AtFlags;
use rustix::io::Errno;

use super::staged_file::StagedFile;
use super::step::{Expect, Step, StepResult};
use crate::workspace::errors::{self, PathContext as _};
use crate::workspace::fs_ops::{make_directory, rename_no_replace, temporary_name};
use crate::workspace::journal::{Action, UndoEntry};
use crate::workspace::{EntryKind, Metadata, WriteTarget};

/// A step with everything it needs opened and written.
pub(super) struct PreparedStep {
    action: Action,
    /// The entry that is changed; of a move, the one that is moved.
    pub(super) source: WriteTarget,
    /// The new name of a move.
    pub(super) to: Option<WriteTarget>,
    staged: Option<StagedFile>,
    expect: Expect,
    /// The kind of entry that is to be removed.
    kind: Option<EntryKind>,
    /// Mode of a new directory.
    mode: Option<u32>,
    /// What was at the target when it was checked under the lock.
    found: Option<Metadata>,
    pub(super) undo: Option<UndoEntry>,
}

impl PreparedStep {
    /// Creates missing directories and writes new content, so that applying the step only changes names.
    pub(super) fn new(step: Step, wanted: &dyn Fn() -> bool, made: &mut Vec<(OwnedFd, OsString)>) -> Result<Self> {
        errors::check_wanted(wanted)?;
        let mut removed = None;
        let (action, mut source, mut to, content, expect, mode) = match step {
            Step::Put { target, content, expect, mode } => (Action::Put, target, None, Some(content), expect, mode),
            Step::Remove { target, expect, kind, recursive } => {
                removed = Some(kind);
                let empty = kind == EntryKind::Directory && !recursive;
                (if empty { Action::RemoveEmpty } else { Action::Remove }, target, None, None, expect, None)
            }
            Step::Move { from, to, expect } => (Action::Move, from, Some(to), None, expect, None),
            Step::MakeDirectory { target, mode } => (Action::MakeDirectory, target, None, None, Expect::Nothing, mode),
        };
        match (action, &mut to) {
            (Action::Put | Action::MakeDirectory, _) => source.make_directories(made)?,
            (Action::Move, Some(to)) => to.make_directories(made)?,
            (Action::Move | Action::Remove | Action::RemoveEmpty, _) => {}
        }
        if !source.missing.is_empty() {
            return Err(errors::not_found(source.display()));
        }
        let staged = match content {
            Some(content) => {
                let old = source.metadata()?.filter(|metadata| metadata.kind == EntryKind::File);
                Some(StagedFile::write(&source.directory, &content, mode, old.as_ref(), wanted, source.display())?)
            }
            None => None,
        };
        Ok(Self { action, source, to, staged, expect, kind: removed, mode, found: None, undo: None })
    }

    /// The directories in which the step changes names.
    pub(super) fn directories(&self) -> impl Iterator<Item = &OwnedFd> {
        std::iter::once(&self.source.directory).chain(self.to.iter().map(|to| &to.directory))
    }

    /// The name that a caller's expectation is about.
    fn target(&self) -> &WriteTarget {
        self.to.as_ref().unwrap_or(&self.source)
    }

    /// Removing a tree takes many system calls, so it needs the journal even if it is the only step.
    pub(super) fn removes_tree(&self) -> bool {
        self.action == Action::Remove && self.found.is_some_and(|metadata| metadata.kind == EntryKind::Directory)
    }

    /// Compares the caller's expectation with what is there. The directories are locked.
    pub(super) fn check(&mut self, wanted: &dyn Fn() -> bool) -> Result<()> {
        if self.action == Action::Move && self.source.metadata()?.is_none() {
            return Err(errors::not_found(self.source.display()));
        }
        let target = self.target();
        let found = target.metadata()?;
        match (&self.expect, &found) {
            (Expect::Nothing, Some(_)) => return Err(errors::exists(target.display())),
            (Expect::Etag(_), None) => return Err(errors::not_found(target.display())),
            (Expect::Etag(expected), Some(_)) => {
                let file = target.current()?.ok_or_else(|| errors::not_found(target.display()))?;
                let now = file.etag_while(wanted)?;
                if now != *expected {
                    return Err(etag_mismatch(target.display(), expected, &now));
                }
            }
            (Expect::Nothing, None) | (Expect::Anything, _) => {}
        }
        if let Some(kind) = self.kind {
            let metadata = found.as_ref().ok_or_else(|| errors::not_found(target.display()))?;
            if metadata.kind != kind {
                return Err(errors::changing(target.display()));
            }
            if kind == EntryKind::Directory {
                target.check_tree(wanted)?;
            }
        }
        self.found = found;
        Ok(())
    }

    /// Changes the names. With an undo entry, the old entry is kept under its backup name.
    pub(super) fn apply(&mut self) -> Result<StepResult> {
        let WriteTarget { directory, name, .. } = &self.source;
        match self.action {
            Action::Put => return self.put(),
            Action::Move => return self.rename(),
            Action::Remove => {
                let removed = match &self.undo {
                    Some(undo) => rustix::fs::renameat(directory, name, directory, &undo.backup),
                    None => rustix::fs::unlinkat(directory, name, AtFlags::empty()),
                };
                removed.for_path(self.source.display())?;
            }
            Action::RemoveEmpty => {
                rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR).map_err(|errno| match errno {
                    Errno::NOTEMPTY | Errno::EXIST => not_empty(self.source.display()),
                    other => errors::from_errno(other, self.source.display()),
                })?;
            }
            Action::MakeDirectory => make_directory(directory, name, self.mode).for_path(self.source.display())?,
        }
        self.result(None)
    }

    /// A new name is linked, so that nothing is replaced that was not checked; an existing one is replaced by a rename.
    fn put(&mut self) -> Result<StepResult> {
        let display = self.source.display().to_owned();
        let Some(staged) = self.staged.as_mut() else { return Err(Error::internal("nothing was staged")) };
        let WriteTarget { directory, name, .. } = &self.source;
        if self.found.is_none() {
            match staged.link(directory, name) {
                Ok(()) => return self.result(None),
                // A foreign program was faster, and the caller does not mind.
                Err(Errno::EXIST) if self.expect == Expect::Anything && self.undo.is_none() => {}
                Err(errno) => return Err(errors::from_errno(errno, &display)),
            }
        }
        let temporary = match &self.undo {
            Some(undo) => {
                back_up(directory, name, &undo.backup).for_path(&display)?;
                undo.temporary.clone()
            }
            None => temporary_name(".new"),
        };
        staged.link(directory, &temporary).for_path(&display)?;
        if let Err(errno) = rustix::fs::renameat(directory, &temporary, directory, name) {
            let _ = rustix::fs::unlinkat(directory, &temporary, AtFlags::empty());
            return Err(errors::from_errno(errno, &display));
        }
        self.result(None)
    }

    /// Never replaces anything but the entry that was checked: without one there, the rename fails if the name is
    /// taken.
    fn rename(&self) -> Result<StepResult> {
        let Some(to) = &self.to else { return Err(Error::internal("a move without a target")) };
        let from = &self.source;
        if self.found.is_some()
            && let Some(undo) = &self.undo
        {
            rustix::fs::renameat(&to.directory, &to.name, &to.directory, &undo.backup).for_path(to.display())?;
        }
        let moved = if self.found.is_none() || self.undo.is_some() {
            rename_no_replace(&from.directory, &from.name, &to.directory, &to.name)
        } else {
            rustix::fs::renameat(&from.directory, &from.name, &to.directory, &to.name)
        };
        moved.map_err(|errno| match errno {
            Errno::XDEV => Error::new(
                Kind::Unsupported,
                format!(
                    "{} and {} are on different file systems; copy it, then remove the first.",
                    from.display(),
                    to.display()
                ),
            ),
            Errno::INVAL => Error::field("to", format!("{} cannot be moved into itself.", from.display())),
            other => errors::from_errno(other, to.display()),
        })?;
        self.result(to.metadata()?)
    }

    fn result(&self, moved: Option<Metadata>) -> Result<StepResult> {
        let metadata = match &self.staged {
            Some(staged) => Some(Metadata::of(&staged.file).for_path(self.source.display())?),
            None => moved,
        };
        Ok(StepResult {
            metadata,
            etag: self.staged.as_ref().map(|staged| staged.etag.clone()),
            replaced: self.found.is_some(),
        })
    }

    /// What the journal needs to reverse the step.
    pub(super) fn undo_entry(&self) -> UndoEntry {
        UndoEntry {
            action: self.action,
            name: self.source.name.clone(),
            to: self.to.as_ref().map(|to| (to.location(), to.name.clone())),
            was: self.found.map(|metadata| metadata.identity),
            new: match self.action {
                Action::Put => self.staged.as_ref().map(|staged| staged.identity),
                Action::Move => self.source.metadata().ok().flatten().map(|metadata| metadata.identity),
                Action::Remove | Action::RemoveEmpty | Action::MakeDirectory => None,
            },
            tag: self.staged.as_ref().map(|staged| staged.etag.clone()),
            mode: self.found.map(|metadata| metadata.mode & 0o777),
            ..UndoEntry::for_temporary(self.source.location())
        }
    }

    /// Removes the old entry if the change was completed, and restores it otherwise.
    pub(super) fn settle(&self, completed: bool) {
        if let Some(undo) = &self.undo {
            undo.settle(completed, &self.source.directory, self.to.as_ref().map(|to| &to.directory));
        }
    }
}

/// Gives the old entry a second name, so that it can be restored; on file systems without hard links, renames it.
fn back_up(directory: &OwnedFd, name: &OsStr, backup: &OsStr) -> rustix::io::Result<()> {
    match rustix::fs::linkat(directory, name, directory, backup, AtFlags::empty()) {
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK) => {
            rustix::fs::renameat(directory, name, directory, backup)
        }
        other => other,
    }
}

/// The directory was empty when the caller looked.
fn not_empty(display: &str) -> Error {
    Error::new(Kind::Conflict, format!("{display} is not empty any more; look again, then remove it with recursive."))
        .with_reason(Reason::path(display))
}

/// The file is not the one that the caller has read.
fn etag_mismatch(display: &str, wanted: &str, now: &str) -> Error {
    Error::new(
        Kind::Conflict,
        format!("{display} has changed: its etag is {now}, not {wanted}. Read it again, then change that."),
    )
    .with_reason(Reason::EtagMismatch { path: display.to_owned(), etag: now.to_owned() })
}
