//! Applies a change: all of its steps, or none.
//!
//! New content is written and synced before anything is touched. Then the directories are locked, the caller's
//! expectations are compared with what is there, and only then do names change. A change of one file is one rename. A
//! change of several is recorded in the journal first, so that a later process can undo it if this one dies half-way.
//! A call that is cancelled or runs into its deadline stops the change in any of its loops, and nothing is changed.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::fd::OwnedFd;

use mainstay_core::{Error, Result};
use rustix::fs::AtFlags;

use super::lock::DirLocks;
use super::prepared_step::PreparedStep;
use super::step::{Step, StepResult};
use crate::identity::FileId;
use crate::workspace::errors::{self, PathContext as _};
use crate::workspace::fs_ops::sync_directory;
use crate::workspace::journal::{BEGUN, DIRECTORIES, Record, UndoEntry};
use crate::workspace::{Workspace, WriteTarget};

impl Workspace {
    /// Applies all steps, or none of them. The results are in the order of the steps.
    pub fn commit(&self, steps: Vec<Step>) -> Result<Vec<StepResult>> {
        self.commit_while(steps, &|| true)
    }

    /// The same, as long as `wanted` returns true: it is asked in every loop until the last name has changed. If it
    /// returns false, the change fails with [`Kind::Cancelled`](mainstay_core::Kind::Cancelled) and nothing is changed.
    pub fn commit_while(&self, steps: Vec<Step>, wanted: &dyn Fn() -> bool) -> Result<Vec<StepResult>> {
        let mut made = Vec::new();
        let record = self.record_missing(&steps)?;
        let result = self.prepare_and_apply(steps, wanted, &mut made);
        if result.is_err() {
            for (directory, name) in made.iter().rev() {
                let _ = rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR);
            }
        }
        if let Some(record) = record {
            record.close();
        }
        result
    }

    /// Records the directories that the steps create besides what they are about: they are created before new content is
    /// written, and if this process dies then, they are empty.
    fn record_missing(&self, steps: &[Step]) -> Result<Option<Record>> {
        let created = steps.iter().filter_map(Step::created);
        let missing: Vec<UndoEntry> = created.flat_map(WriteTarget::undo_missing).collect();
        let Some(journal) = self.journal.as_deref().filter(|_| !missing.is_empty()) else { return Ok(None) };
        journal.write(&missing.iter().collect::<Vec<_>>(), DIRECTORIES).map(Some)
    }

    /// Directories that were created for the change are added to `made`, also if it fails.
    fn prepare_and_apply(
        &self,
        steps: Vec<Step>,
        wanted: &dyn Fn() -> bool,
        made: &mut Vec<(OwnedFd, OsString)>,
    ) -> Result<Vec<StepResult>> {
        let several = steps.len() > 1;
        let mut prepared = Vec::with_capacity(steps.len());
        for step in steps {
            prepared.push(PreparedStep::new(step, wanted, made)?);
        }
        let display = prepared.first().map_or(String::new(), |step| step.source.display().to_owned());
        let directories = prepared.iter().flat_map(PreparedStep::directories);
        let locks =
            DirLocks::take(directories, self.journal.as_deref().map(|journal| &*journal.directory), wanted, &display)?;
        check_distinct(&prepared)?;
        for step in &mut prepared {
            step.check(wanted)?;
        }
        // The last moment at which a change of one file can be stopped; several are undone if they are stopped later.
        errors::check_wanted(wanted)?;
        let journaled = several || prepared.iter().any(PreparedStep::removes_tree);
        let (results, record) = if journaled {
            self.apply_journaled(&mut prepared, wanted)?
        } else {
            (apply(&mut prepared, &|| true)?, None)
        };
        drop(locks);
        if !journaled {
            sync_all(&prepared)?;
        }
        for step in &prepared {
            step.settle(true);
        }
        if let Some(record) = record {
            record.close();
        }
        Ok(results)
    }

    /// Applies the steps with a record in the journal. What was done before a step failed is undone.
    fn apply_journaled(
        &self,
        prepared: &mut [PreparedStep],
        wanted: &dyn Fn() -> bool,
    ) -> Result<(Vec<StepResult>, Option<Record>)> {
        for step in &mut *prepared {
            step.undo = Some(step.undo_entry());
        }
        let entries: Vec<&UndoEntry> = prepared.iter().filter_map(|step| step.undo.as_ref()).collect();
        let mut record = self.journal.as_deref().map(|journal| journal.write(&entries, BEGUN)).transpose()?;
        let result = apply(prepared, wanted).and_then(|results| {
            sync_all(prepared)?;
            // From here on the change is complete, whatever happens.
            record.as_mut().map_or(Ok(()), Record::mark_completed)?;
            Ok(results)
        });
        match result {
            Ok(results) => Ok((results, record)),
            Err(error) => {
                for step in prepared.iter().rev() {
                    step.settle(false);
                }
                if let Some(record) = record {
                    record.close();
                }
                Err(error)
            }
        }
    }
}

fn apply(prepared: &mut [PreparedStep], wanted: &dyn Fn() -> bool) -> Result<Vec<StepResult>> {
    prepared.iter_mut().map(|step| errors::check_wanted(wanted).and_then(|()| step.apply())).collect()
}

/// Flushes every directory in which a name has changed, each once.
fn sync_all(prepared: &[PreparedStep]) -> Result<()> {
    let mut synced = HashSet::new();
    for step in prepared {
        for directory in step.directories() {
            let display = step.source.display();
            if synced.insert(FileId::of(directory).for_path(display)?) {
                sync_directory(directory, display)?;
            }
        }
    }
    Ok(())
}

/// Rejects two steps on the same name: their order would decide the result, and nobody has asked for one.
fn check_distinct(prepared: &[PreparedStep]) -> Result<()> {
    let mut seen = HashSet::new();
    for step in prepared {
        for target in std::iter::once(&step.source).chain(step.to.as_ref()) {
            let identity = FileId::of(&target.directory).for_path(target.display())?;
            if !seen.insert((identity, target.name.clone())) {
                let text = format!("{} is changed twice; put it into one change.", target.display());
                return Err(Error::field("changes", text));
            }
        }
    }
    Ok(())
}
