//! The planner. Every change is planned first: what is there, what shall be there, and what the plan relies on. A plan
//! is then shown or committed, and it is the same plan.
//!
//! A plan is a layer over the workspace. A later change of the same file sees the result of the earlier ones, so that
//! in the end there is one step for each name, whatever was asked for it.

use mainstay_core::{CancellationToken, Error, Kind, Reason, Result};
use mainstay_sandbox::{EntryKind, Expect, Metadata, OpenFile, Workspace, WorkspacePath, WriteTarget, etag_of};

use super::memory::{MEMORY, Share};
use super::subtree::Survey;

/// The largest file that is read whole in order to change it.
pub(super) const WHOLE: u64 = 64 * 1024 * 1024;

/// The most content one plan holds in memory.
const HELD: usize = 256 * 1024 * 1024;

pub(super) struct Plan {
    pub(super) workspace: Workspace,
    pub(super) cancel: CancellationToken,
    pub(super) items: Vec<Item>,
    /// Of the memory that all plans have together.
    pub(super) share: Share,
}

/// One name, and what becomes of it.
pub(super) struct Item {
    pub(super) path: String,
    pub(super) place: WriteTarget,
    pub(super) before: Option<Metadata>,
    pub(super) now: Now,
    pub(super) expect: Expect,
    pub(super) mode: Option<u32>,
    /// A directory goes with all that is in it. Otherwise it goes only if it is still empty then.
    pub(super) recursive: bool,
    /// Where it was before, if it was moved here.
    pub(super) from: Option<String>,
    /// The path is a link, and the file behind it is meant.
    through_link: bool,
}

/// What shall be there.
pub(super) enum Now {
    /// What is there.
    Untouched,
    Gone,
    /// Nothing: it is moved to where an item is [`Now::Whole`].
    MovedAway,
    Bytes(Vec<u8>),
    Copy(OpenFile),
    Append {
        to: OpenFile,
        more: Vec<u8>,
    },
    /// What was at `from`, as it is.
    Whole(EntryKind),
    Directory,
    /// A copy of a whole directory.
    Tree(mainstay_sandbox::Dir, Survey),
}

/// Which entry a path means if it is a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meant {
    /// The file behind it.
    Target,
    /// The link itself.
    Entry,
}

impl Plan {
    pub(super) fn new(workspace: &Workspace, cancel: &CancellationToken) -> Self {
        Self { workspace: workspace.clone(), cancel: cancel.clone(), items: Vec::new(), share: Share::of(&MEMORY) }
    }

    /// Reads the path in the argument `field`.
    pub(super) fn spot(&self, field: &str, path: &str) -> Result<WorkspacePath> {
        self.workspace.find(path).map_err(|error| in_field(error, field))
    }

    /// The item for a path; a new one if the plan has not touched it yet.
    pub(super) fn item(&mut self, field: &str, path: &str, meant: Meant) -> Result<usize> {
        let spot = self.spot(field, path)?;
        self.uncovered(field, spot.display())?;
        let is_link = || spot.metadata().map(|facts| facts.is_some_and(|facts| facts.kind == EntryKind::Symlink));
        if let Some(at) = self.items.iter().position(|item| item.path == spot.display()) {
            if meant == Meant::Entry && self.items[at].through_link {
                return Err(twice(field, spot.display()));
            }
            return Ok(at);
        }
        let through_link = meant == Meant::Target && is_link()?;
        let place = match meant {
            Meant::Target => spot.write_target(),
            Meant::Entry => spot.entry_target(),
        }
        .map_err(|error| in_field(error, field))?;
        let before = place.metadata()?;
        self.items.push(Item {
            path: spot.display().to_owned(),
            place,
            expect: if before.is_some() { Expect::Anything } else { Expect::Nothing },
            before,
            now: Now::Untouched,
            mode: None,
            recursive: false,
            from: None,
            through_link,
        });
        Ok(self.items.len() - 1)
    }

    /// Nothing is changed inside a directory that the same plan moves, removes or copies to.
    pub(super) fn uncovered(&self, field: &str, path: &str) -> Result<()> {
        match self.items.iter().find(|item| item.is_tree() && beneath(path, &item.path)) {
            Some(item) => Err(inside(field, path, &item.path)),
            None => Ok(()),
        }
    }

    /// What is there by now.
    pub(super) fn kind(&self, at: usize) -> Option<EntryKind> {
        let item = &self.items[at];
        match &item.now {
            Now::Untouched => item.before.map(|facts| facts.kind),
            Now::Gone | Now::MovedAway => None,
            Now::Bytes(_) | Now::Copy(_) | Now::Append { .. } => Some(EntryKind::File),
            Now::Whole(kind) => Some(*kind),
            Now::Directory | Now::Tree(..) => Some(EntryKind::Directory),
        }
    }

    /// Whether a file is there; anything else there is an error.
    pub(super) fn is_file(&self, field: &str, at: usize) -> Result<bool> {
        let path = &self.items[at].path;
        match self.kind(at) {
            None => Ok(false),
            Some(EntryKind::File) => Ok(true),
            Some(EntryKind::Directory) => Err(Error::field(field, format!("{path} is a directory."))),
            Some(EntryKind::Symlink | EntryKind::Other) => {
                Err(Error::field(field, format!("{path} is not a regular file.")))
            }
        }
    }

    /// The file as it is by now, where a handle on disk has it.
    fn handle(&self, at: usize) -> Result<Option<OpenFile>> {
        let item = &self.items[at];
        match &item.now {
            Now::Untouched => item.place.current(),
            Now::Whole(_) => self.origin(at).map_or(Ok(None), |from| self.items[from].place.current()),
            Now::Gone
            | Now::MovedAway
            | Now::Bytes(_)
            | Now::Copy(_)
            | Now::Append { .. }
            | Now::Directory
            | Now::Tree(..) => Ok(None),
        }
    }

    /// The content as it is by now.
    pub(super) fn content(&self, at: usize) -> Result<Vec<u8>> {
        let item = &self.items[at];
        match &item.now {
            Now::Bytes(bytes) => {
                self.make_room(bytes.len())?;
                Ok(bytes.clone())
            }
            Now::Copy(file) => self.whole(file),
            Now::Append { to, more } => Ok([self.whole(to)?.as_slice(), more].concat()),
            Now::Untouched | Now::Gone | Now::MovedAway | Now::Whole(_) | Now::Directory | Now::Tree(..) => {
                self.whole(&self.handle(at)?.ok_or_else(|| missing(&item.path))?)
            }
        }
    }

    fn whole(&self, file: &OpenFile) -> Result<Vec<u8>> {
        self.make_room(usize::try_from(file.metadata().size.min(WHOLE)).unwrap_or(usize::MAX))?;
        file.read_whole(WHOLE)?.ok_or_else(|| too_large(file.display(), file.metadata().size))
    }

    /// Makes sure of memory for what is held, and for so many bytes that are needed beside it for a while.
    pub(super) fn make_room(&self, bytes: usize) -> Result<()> {
        self.share.cover(self.held().saturating_add(bytes), &self.cancel)
    }

    /// The same, without reading it if it can be copied from disk.
    pub(super) fn copied(&self, at: usize) -> Result<Now> {
        match self.handle(at)? {
            Some(file) => Ok(Now::Copy(file)),
            None => self.content(at).map(Now::Bytes),
        }
    }

    /// The permission bits as they are by now.
    pub(super) fn mode(&self, at: usize) -> Option<u32> {
        let item = &self.items[at];
        let origin = self.origin(at).and_then(|from| self.items[from].before);
        item.mode.or(origin.or(item.before).map(|facts| facts.mode & 0o777))
    }

    fn etag(&self, at: usize) -> Result<String> {
        match (&self.items[at].now, self.handle(at)?) {
            (_, Some(file)) => file.etag(),
            (Now::Copy(file), None) => file.etag(),
            (_, None) => self.content(at).map(|bytes| etag_of(&bytes)),
        }
    }

    /// Holds the caller's tag against what is there by now.
    pub(super) fn check_etag(&mut self, at: usize, wanted: Option<&str>) -> Result<()> {
        let Some(wanted) = wanted else { return Ok(()) };
        let path = &self.items[at].path;
        if self.kind(at).is_none() {
            return Err(Error::new(
                Kind::Conflict,
                format!("{path} is gone; its etag was to be {wanted}. Leave the etag out to make the file anew."),
            )
            .with_reason(Reason::path(path)));
        }
        let now = self.etag(at)?;
        if now != wanted {
            return Err(Error::new(
                Kind::Conflict,
                format!("{path} has changed: its etag is {now}, not {wanted}. Read it again, then change that."),
            )
            .with_reason(Reason::EtagMismatch { path: path.to_owned(), etag: now.clone() }));
        }
        if matches!(self.items[at].now, Now::Untouched) {
            self.items[at].expect = Expect::Etag(now);
        }
        Ok(())
    }

    /// Puts something new where the item is.
    pub(super) fn put(&mut self, at: usize, now: Now) -> Result<()> {
        self.detach(at)?;
        self.items[at].now = now;
        self.items[at].from = None;
        self.within_memory()
    }

    /// Changes what the item holds, which was read when its tag was `seen`.
    pub(super) fn revise(&mut self, at: usize, bytes: Vec<u8>, seen: String) -> Result<()> {
        if matches!(self.items[at].now, Now::Untouched) {
            self.items[at].expect = Expect::Etag(seen);
        } else if let Some(from) = self.origin(at) {
            self.items[at].mode = self.mode(at);
            self.items[from].now = Now::Gone;
            self.items[from].expect = Expect::Etag(seen);
        }
        self.items[at].now = Now::Bytes(bytes);
        self.within_memory()
    }

    /// Moves what is at one item to another. Both are there to be moved from and to.
    pub(super) fn relocate(&mut self, from: usize, to: usize, kind: EntryKind) -> Result<()> {
        self.detach(to)?;
        let (mode, path) = (self.mode(from), self.items[from].path.clone());
        if matches!(self.items[from].now, Now::Untouched) {
            self.items[from].now = Now::MovedAway;
            self.items[to].now = Now::Whole(kind);
            self.items[to].from = Some(path);
            return Ok(());
        }
        // What this plan made has not been anywhere before.
        let was_there = self.items[from].before.is_some();
        self.items[to].now = std::mem::replace(&mut self.items[from].now, Now::Gone);
        self.items[to].mode = mode.filter(|_| kind == EntryKind::File);
        self.items[to].from = self.items[from].from.take().or(Some(path).filter(|_| was_there));
        Ok(())
    }

    /// The item that this one is moved from as it is.
    fn origin(&self, at: usize) -> Option<usize> {
        let item = &self.items[at];
        let from = item.from.as_deref().filter(|_| matches!(item.now, Now::Whole(_)))?;
        self.items.iter().position(|other| other.path == from)
    }

    /// Makes an item free for something else: what was moved from it becomes a copy of it, and what was moved to it is
    /// gone from where it was.
    fn detach(&mut self, at: usize) -> Result<()> {
        if let Some(from) = self.origin(at) {
            self.items[from].now = Now::Gone;
        }
        if !matches!(self.items[at].now, Now::MovedAway) {
            return Ok(());
        }
        let path = self.items[at].path.clone();
        let file = self.items[at].place.current()?.ok_or_else(|| missing(&path))?;
        self.items[at].expect = Expect::Etag(file.etag()?);
        self.items[at].now = Now::Gone;
        let mode = self.items[at].before.map(|facts| facts.mode & 0o777);
        let moved = |item: &&mut Item| matches!(item.now, Now::Whole(_)) && item.from.as_ref() == Some(&path);
        if let Some(target) = self.items.iter_mut().find(moved) {
            target.now = Now::Copy(file);
            target.mode = mode;
        }
        Ok(())
    }

    fn within_memory(&self) -> Result<()> {
        if self.held() <= HELD {
            return self.make_room(0);
        }
        Err(Error::new(
            Kind::TooLarge,
            format!("The files of this change have more than {} MiB together; make several changes.", HELD >> 20),
        ))
    }

    fn held(&self) -> usize {
        let held = |item: &Item| match &item.now {
            Now::Bytes(bytes) | Now::Append { more: bytes, .. } => bytes.len(),
            Now::Untouched
            | Now::Gone
            | Now::MovedAway
            | Now::Copy(_)
            | Now::Whole(_)
            | Now::Directory
            | Now::Tree(..) => 0,
        };
        self.items.iter().map(held).sum()
    }
}

impl Item {
    /// A whole directory goes, comes or moves.
    pub(super) fn is_tree(&self) -> bool {
        let was_directory = self.before.is_some_and(|facts| facts.kind == EntryKind::Directory);
        match &self.now {
            Now::Tree(..) | Now::Whole(EntryKind::Directory) => true,
            Now::Gone | Now::MovedAway => was_directory,
            Now::Untouched
            | Now::Bytes(_)
            | Now::Copy(_)
            | Now::Append { .. }
            | Now::Directory
            | Now::Whole(EntryKind::File | EntryKind::Symlink | EntryKind::Other) => false,
        }
    }

    /// Something will be where nothing was.
    pub(super) fn appears(&self) -> bool {
        let there = !matches!(self.now, Now::Untouched | Now::Gone | Now::MovedAway);
        there && self.before.is_none()
    }
}

/// Whether a path is another one, or lies in it.
pub(super) fn beneath(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

pub(super) fn too_large(path: &str, size: u64) -> Error {
    Error::new(
        Kind::TooLarge,
        format!("{path} has {size} bytes; files of more than {} MiB are not changed in place.", WHOLE >> 20),
    )
    .with_reason(Reason::FileTooLarge { path: path.to_owned(), size, limit: WHOLE })
}

pub(super) fn missing(path: &str) -> Error {
    Error::not_found(format!("There is no {path}.")).with_reason(Reason::path(path))
}

pub(super) fn inside(field: &str, path: &str, tree: &str) -> Error {
    let reason = format!("{path} lies in {tree}, and the same change moves, copies or removes that; make two changes.");
    Error::field(field, reason)
}

fn twice(field: &str, path: &str) -> Error {
    let reason = format!("{path} is a link: one change cannot change the file behind it and move or remove the link.");
    Error::field(field, reason)
}

/// The sandbox calls every path `path`; the caller may have called it otherwise.
pub(super) fn in_field(mut error: Error, field: &str) -> Error {
    error.rename_field(|_| field.to_owned());
    error
}

/// Stops a long loop when the caller has gone.
pub(super) fn alive(cancel: &CancellationToken) -> Result<()> {
    if cancel.is_cancelled() { Err(Error::new(Kind::Cancelled, "The call was cancelled.")) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::files::memory::Memory;
    use crate::files::outcome::Shown;
    use crate::files::sample::Sample;

    static SMALL: Memory = Memory::new(1000, Duration::ZERO);

    fn plan(sample: &Sample) -> Plan {
        let plan = Plan::new(&sample.desk().workspace, &CancellationToken::new());
        Plan { share: Share::of(&SMALL), ..plan }
    }

    #[test]
    fn plans_share_one_memory_and_give_it_back() {
        let sample = Sample::with(&[("x", &"x".repeat(600))]);
        let (mut first, mut second) = (plan(&sample), plan(&sample));
        let new = first.item("path", "y", Meant::Target).unwrap();
        first.put(new, Now::Bytes(vec![0; 600])).unwrap();
        let old = second.item("path", "x", Meant::Target).unwrap();
        assert_eq!(second.content(old).unwrap_err().kind, Kind::Unavailable);
        first.finish(false, Shown::Not).unwrap();
        assert_eq!(second.content(old).unwrap().len(), 600);
    }
}
