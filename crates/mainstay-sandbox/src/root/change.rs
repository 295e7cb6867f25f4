//! Changes: one file or several, all of it or nothing.
//!
//! New content is written and synced before anything is touched. Then the directories are locked, what the caller
//! expects is held against what is there, and only then do names change. A change of one file is one rename. A change
//! of several leaves traces in the journal first, so that whoever finds it half done can undo it.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;

use mainstay_core::{Error, Kind, Reason, Result};
use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use super::fault::{self, About as _};
use super::journal::{Journal, Record};
use super::lock::Locked;
use super::staged::{Staged, sync_directory, temporary_name};
use super::trace::{Act, Trace, Where};
use super::{DIRECTORY, EntryKind, Facts, OpenFile, Place, Workspace, removal, walk};

/// What a file is to hold.
#[derive(Debug)]
pub enum Content {
    Bytes(Vec<u8>),
    /// What another file holds.
    Copy(OpenFile),
    /// What a file holds already, and more.
    Append {
        to: OpenFile,
        more: Vec<u8>,
    },
}

impl Content {
    pub(super) fn is_copied(&self) -> bool {
        !matches!(self, Self::Bytes(_))
    }
}

/// What the caller thinks is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expect {
    Nothing,
    /// A file with the content of this tag.
    Etag(String),
    Anything,
}

#[derive(Debug)]
pub enum Step {
    /// A file is to hold this. Missing directories are made.
    Put {
        place: Place,
        content: Content,
        expect: Expect,
        mode: Option<u32>,
    },
    /// What is of this kind is to go. A directory that is not empty goes only if that is meant.
    Remove {
        place: Place,
        expect: Expect,
        kind: EntryKind,
        recursive: bool,
    },
    /// Something gets another name; `expect` is about what has that name now.
    Move {
        from: Place,
        to: Place,
        expect: Expect,
    },
    MakeDirectory {
        place: Place,
        mode: Option<u32>,
    },
}

/// What came of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    pub path: String,
    /// Of the file that is there now.
    pub facts: Option<Facts>,
    pub etag: Option<String>,
    /// Something was there before and is not any more.
    pub replaced: bool,
}

impl Workspace {
    /// Does all of it, or nothing.
    pub fn commit(&self, steps: Vec<Step>) -> Result<Vec<Done>> {
        let mut made = Vec::new();
        let result = self.prepare_and_perform(steps, &mut made);
        if result.is_err() {
            for (directory, name) in made.iter().rev() {
                let _ = rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR);
            }
        }
        result
    }

    fn prepare_and_perform(
        &self,
        steps: Vec<Step>,
        made: &mut Vec<(OwnedFd, std::ffi::OsString)>,
    ) -> Result<Vec<Done>> {
        let several = steps.len() > 1;
        let mut ready = Vec::with_capacity(steps.len());
        for step in steps {
            ready.push(Ready::prepare(step, made)?);
        }
        let shown = ready.first().map_or(String::new(), |step| step.place.shown().to_owned());
        let directories = ready.iter().flat_map(Ready::directories);
        let locked = Locked::take(directories, self.journal.as_deref().map(Journal::directory), &shown)?;
        distinct(&ready)?;
        for step in &mut ready {
            step.check()?;
        }
        let traced = several || ready.iter().any(Ready::takes_time);
        let (done, record) = if traced { self.perform_traced(&mut ready)? } else { (perform(&mut ready)?, None) };
        drop(locked);
        if !traced {
            sync_all(&ready)?;
        }
        for step in &ready {
            step.clear();
        }
        if let Some(record) = record {
            record.close();
        }
        Ok(done)
    }

    /// Either all of it, or nothing: what was done before something failed is undone.
    fn perform_traced(&self, ready: &mut [Ready]) -> Result<(Vec<Done>, Option<Record>)> {
        for step in &mut *ready {
            step.leave_trace();
        }
        let traces: Vec<&Trace> = ready.iter().filter_map(|step| step.trace.as_ref()).collect();
        let mut record = self.journal.as_deref().map(|journal| journal.begin(&traces)).transpose()?;
        let result = perform(ready).and_then(|done| {
            sync_all(ready)?;
            // From here on it is done, whatever happens.
            record.as_mut().map_or(Ok(()), Record::mark_done)?;
            Ok(done)
        });
        match result {
            Ok(done) => Ok((done, record)),
            Err(error) => {
                for step in ready.iter().rev() {
                    step.undo();
                }
                if let Some(record) = record {
                    record.close();
                }
                Err(error)
            }
        }
    }
}

fn perform(ready: &mut [Ready]) -> Result<Vec<Done>> {
    ready.iter_mut().map(Ready::perform).collect()
}

/// Makes every name that has changed last.
fn sync_all(ready: &[Ready]) -> Result<()> {
    let mut synced = std::collections::HashSet::new();
    for step in ready {
        for directory in step.directories() {
            let shown = step.place.shown();
            if synced.insert(super::Identity::of(std::os::fd::AsFd::as_fd(directory)).about(shown)?) {
                sync_directory(directory, shown)?;
            }
        }
    }
    Ok(())
}

/// Two steps that mean the same name have no order anybody asked for.
fn distinct(ready: &[Ready]) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    for step in ready {
        let targets = std::iter::once(&step.place).chain(step.to.as_ref());
        for place in targets {
            let identity = super::Identity::of(std::os::fd::AsFd::as_fd(&place.directory)).about(place.shown())?;
            if !seen.insert((identity, place.name.clone())) {
                return Err(Error::field(
                    "changes",
                    format!("{} is changed twice; put it into one change.", place.shown()),
                ));
            }
        }
    }
    Ok(())
}

/// A step with everything at hand that it needs.
struct Ready {
    act: Act,
    place: Place,
    /// Where a move leads.
    to: Option<Place>,
    staged: Option<Staged>,
    expect: Expect,
    /// What is to be removed.
    meant: Option<EntryKind>,
    /// Of a directory that is made.
    mode: Option<u32>,
    /// What is there, seen under the lock.
    found: Option<Facts>,
    trace: Option<Trace>,
}

impl Ready {
    fn prepare(step: Step, made: &mut Vec<(OwnedFd, std::ffi::OsString)>) -> Result<Self> {
        let mut meant = None;
        let (act, mut place, mut to, content, expect, mode) = match step {
            Step::Put { place, content, expect, mode } => (Act::Put, place, None, Some(content), expect, mode),
            Step::Remove { place, expect, kind, recursive } => {
                meant = Some(kind);
                let act = if kind == EntryKind::Directory && !recursive { Act::RemoveEmpty } else { Act::Remove };
                (act, place, None, None, expect, None)
            }
            Step::Move { from, to, expect } => (Act::Move, from, Some(to), None, expect, None),
            Step::MakeDirectory { place, mode } => (Act::MakeDirectory, place, None, None, Expect::Nothing, mode),
        };
        let grows = match act {
            Act::Put | Act::MakeDirectory => Some(&mut place),
            Act::Move => to.as_mut(),
            Act::Remove | Act::RemoveEmpty => None,
        };
        if let Some(grows) = grows {
            grows.make_directories(made)?;
        } else if !place.missing.is_empty() {
            return Err(fault::not_found(place.shown()));
        }
        if act == Act::Move && !place.missing.is_empty() {
            return Err(fault::not_found(place.shown()));
        }
        let staged = match content {
            Some(content) => {
                let old = place.look()?.filter(|facts| facts.kind == EntryKind::File);
                Some(Staged::write(&place.directory, &content, mode, old.as_ref(), place.shown())?)
            }
            None => None,
        };
        Ok(Self { act, place, to, staged, expect, meant, mode, found: None, trace: None })
    }

    fn directories(&self) -> impl Iterator<Item = &OwnedFd> {
        std::iter::once(&self.place.directory).chain(self.to.iter().map(|to| &to.directory))
    }

    /// Where something will be, or was.
    fn target(&self) -> &Place {
        self.to.as_ref().unwrap_or(&self.place)
    }

    /// Removing a tree is not one deed for the system.
    fn takes_time(&self) -> bool {
        self.act == Act::Remove && self.found.is_some_and(|facts| facts.kind == EntryKind::Directory)
    }

    /// Holds what is expected against what is there. The directories are locked.
    fn check(&mut self) -> Result<()> {
        if self.act == Act::Move && self.place.look()?.is_none() {
            return Err(fault::not_found(self.place.shown()));
        }
        let target = self.target();
        let found = target.look()?;
        match (&self.expect, &found) {
            (Expect::Nothing, Some(_)) => return Err(fault::exists(target.shown())),
            (Expect::Etag(_), None) => return Err(fault::not_found(target.shown())),
            (Expect::Etag(wanted), Some(_)) => {
                let now = target.current()?.ok_or_else(|| fault::not_found(target.shown()))?.etag()?;
                if now != *wanted {
                    return Err(changed(target.shown(), wanted, &now));
                }
            }
            (Expect::Nothing, None) | (Expect::Anything, _) => {}
        }
        if let Some(meant) = self.meant {
            let facts = found.as_ref().ok_or_else(|| fault::not_found(target.shown()))?;
            if facts.kind != meant {
                return Err(walk::restless(target.shown()));
            }
            if facts.kind == EntryKind::Directory {
                removal::refuse_protected(target)?;
            }
        }
        self.found = found;
        Ok(())
    }

    fn perform(&mut self) -> Result<Done> {
        match self.act {
            Act::Put => self.put(),
            Act::Remove => self.remove(),
            Act::Move => self.rename(),
            Act::RemoveEmpty => {
                let Place { directory, name, .. } = &self.place;
                rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR).map_err(|errno| match errno {
                    Errno::NOTEMPTY | Errno::EXIST => not_empty(self.place.shown()),
                    other => fault::of(other, self.place.shown()),
                })?;
                self.done(None)
            }
            Act::MakeDirectory => {
                let Place { directory, name, .. } = &self.place;
                make_directory(directory, name, self.mode).about(self.place.shown())?;
                self.done(None)
            }
        }
    }

    fn put(&mut self) -> Result<Done> {
        let shown = self.place.shown().to_owned();
        let Some(staged) = self.staged.as_mut() else { return Err(Error::internal("nothing was staged")) };
        let Place { directory, name, .. } = &self.place;
        if self.found.is_none() {
            match staged.link(directory, name) {
                Ok(()) => return self.done(None),
                Err(Errno::EXIST) if self.expect == Expect::Anything && self.trace.is_none() => {}
                Err(errno) => return Err(fault::of(errno, &shown)),
            }
        }
        let temporary = match &self.trace {
            Some(trace) => {
                keep(directory, name, &trace.backup).about(&shown)?;
                trace.temporary.clone()
            }
            None => temporary_name(".new"),
        };
        staged.link(directory, &temporary).about(&shown)?;
        if let Err(errno) = rustix::fs::renameat(directory, &temporary, directory, name) {
            let _ = rustix::fs::unlinkat(directory, &temporary, AtFlags::empty());
            return Err(fault::of(errno, &shown));
        }
        self.done(None)
    }

    fn remove(&self) -> Result<Done> {
        let Place { directory, name, .. } = &self.place;
        match &self.trace {
            Some(trace) => rustix::fs::renameat(directory, name, directory, &trace.backup),
            None => rustix::fs::unlinkat(directory, name, AtFlags::empty()),
        }
        .about(self.place.shown())?;
        self.done(None)
    }

    fn rename(&self) -> Result<Done> {
        let Some(to) = &self.to else { return Err(Error::internal("a move without an end")) };
        let from = &self.place;
        if self.found.is_some()
            && let Some(trace) = &self.trace
        {
            rustix::fs::renameat(&to.directory, &to.name, &to.directory, &trace.backup).about(to.shown())?;
        }
        let moved = if self.found.is_none() || self.trace.is_some() {
            rename_new(&from.directory, &from.name, &to.directory, &to.name)
        } else {
            rustix::fs::renameat(&from.directory, &from.name, &to.directory, &to.name)
        };
        moved.map_err(|errno| match errno {
            Errno::XDEV => Error::new(
                Kind::Unsupported,
                format!(
                    "{} and {} are on different file systems; copy it, then remove the first.",
                    from.shown(),
                    to.shown()
                ),
            ),
            Errno::INVAL => Error::field("to", format!("{} cannot be moved into itself.", from.shown())),
            other => fault::of(other, to.shown()),
        })?;
        let facts = to.look()?;
        self.done(facts)
    }

    fn done(&self, moved: Option<Facts>) -> Result<Done> {
        let target = self.target();
        let facts = match &self.staged {
            Some(staged) => Some(staged.facts(target.shown())?),
            None => moved,
        };
        Ok(Done {
            path: target.shown().to_owned(),
            facts,
            etag: self.staged.as_ref().map(|staged| staged.etag.clone()),
            replaced: self.found.is_some(),
        })
    }

    fn leave_trace(&mut self) {
        self.trace = Some(Trace {
            act: self.act,
            at: Where::of(&self.place),
            name: self.place.name.clone(),
            to: self.to.as_ref().map(|to| (Where::of(to), to.name.clone())),
            backup: temporary_name(".old"),
            temporary: temporary_name(".new"),
            was: self.found.map(|facts| facts.identity),
            new: match self.act {
                Act::Put => self.staged.as_ref().map(|staged| staged.identity),
                Act::Move => self.place.look().ok().flatten().map(|facts| facts.identity),
                Act::Remove | Act::RemoveEmpty | Act::MakeDirectory => None,
            },
            tag: self.staged.as_ref().map(|staged| staged.etag.clone()),
            mode: self.found.map(|facts| facts.mode & 0o777),
        });
    }

    fn undo(&self) {
        if let Some(trace) = &self.trace {
            trace.undo(&self.place.directory, self.to.as_ref().map(|to| &to.directory));
        }
    }

    fn clear(&self) {
        if let Some(trace) = &self.trace {
            trace.clear(&self.place.directory, self.to.as_ref().map(|to| &to.directory));
        }
    }
}

/// Gives what is there a second name, so that it can be put back; where no file can have two, its only one.
fn keep(directory: &OwnedFd, name: &OsStr, backup: &OsStr) -> rustix::io::Result<()> {
    match rustix::fs::linkat(directory, name, directory, backup, AtFlags::empty()) {
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK) => {
            rustix::fs::renameat(directory, name, directory, backup)
        }
        other => other,
    }
}

/// A mode that is wanted holds whatever the process's own habits are.
pub(super) fn make_directory(directory: &OwnedFd, name: &OsStr, mode: Option<u32>) -> rustix::io::Result<()> {
    rustix::fs::mkdirat(directory, name, Mode::from_raw_mode(0o777))?;
    if let Some(mode) = mode {
        let made = rustix::fs::openat(directory, name, DIRECTORY, Mode::empty())?;
        let wanted = std::os::unix::fs::PermissionsExt::from_mode(mode);
        let set = std::fs::File::from(made).set_permissions(wanted);
        set.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    }
    Ok(())
}

fn not_empty(shown: &str) -> Error {
    Error::new(Kind::Conflict, format!("{shown} is not empty any more; look again, then remove it with recursive."))
        .with_reason(Reason::path(shown))
}

/// Renames without ever replacing anything.
pub(super) fn rename_new(from: &OwnedFd, old: &OsStr, to: &OwnedFd, new: &OsStr) -> rustix::io::Result<()> {
    match rename_if_free(from, old, to, new) {
        // The file system does not know how; it was looked at a moment ago, under the lock.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            match rustix::fs::statat(to, new, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(_) => Err(Errno::EXIST),
                Err(_) => rustix::fs::renameat(from, old, to, new),
            }
        }
        other => other,
    }
}

#[cfg(any(target_vendor = "apple", all(target_os = "linux", not(mainstay_elsewhere))))]
fn rename_if_free(from: &OwnedFd, old: &OsStr, to: &OwnedFd, new: &OsStr) -> rustix::io::Result<()> {
    rustix::fs::renameat_with(from, old, to, new, rustix::fs::RenameFlags::NOREPLACE)
}

#[cfg(not(any(target_vendor = "apple", all(target_os = "linux", not(mainstay_elsewhere)))))]
fn rename_if_free(_from: &OwnedFd, _old: &OsStr, _to: &OwnedFd, _new: &OsStr) -> rustix::io::Result<()> {
    Err(Errno::NOSYS)
}

fn changed(shown: &str, wanted: &str, now: &str) -> Error {
    Error::new(
        Kind::Conflict,
        format!("{shown} is not what it was: its etag is {now}, not {wanted}. Read it again, then change that."),
    )
    .with_reason(Reason::EtagMismatch { path: shown.to_owned(), etag: now.to_owned() })
}
