//! The plan of a change: what is there, what shall be there, and what the plan relies on.
//!
//! A plan is a layer over the workspace. A later change of the same path sees the result of the earlier ones, so the
//! plan ends with exactly one state for each path, however many changes the caller asked for it. Nothing on disk
//! changes until the plan is committed; what was read while planning is checked again then (`Expect`), so a file that
//! somebody else changed in between is a conflict and not a lost update.

use mainstay_core::{CancellationToken, Context, Error, Kind, Principal, PrincipalPermit, Reason, Result};
use mainstay_sandbox::{
    Content, Dir, EntryKind, Expect, Metadata, OpenFile, Workspace, WorkspacePath, WriteTarget, etag_of,
};

use crate::descriptors;
use crate::planning::errors::{MAX_WHOLE_FILE, conflict, inside_changed_tree, not_found, too_large, with_field};
use crate::planning::limits::ChangeLimits;
use crate::planning::memory_budget::{MemoryReservation, PLAN_MEMORY};
use crate::planning::subtree::TreeContents;

/// The most content one plan holds in memory.
const MAX_HELD_BYTES: usize = 256 * 1024 * 1024;

/// The changes of one call. Items are addressed by their index, which stays valid: items are never removed.
pub(crate) struct Plan {
    pub(crate) workspace: Workspace,
    pub(crate) cancel: CancellationToken,
    pub(crate) items: Vec<Item>,
    /// This plan's part of the memory that all plans of the process share.
    pub(crate) memory: MemoryReservation,
    pub(crate) limits: ChangeLimits,
    /// The file descriptors that the items take until the plan is committed.
    pub(crate) descriptors: Vec<PrincipalPermit>,
    pub(crate) principal: Principal,
}

/// One path, and what becomes of it.
pub(crate) struct Item {
    pub(crate) path: String,
    pub(crate) target: WriteTarget,
    /// What was there when the plan first looked; `None` if nothing was.
    pub(crate) before: Option<Metadata>,
    pub(crate) state: NewState,
    /// What has to be there still when the plan is committed.
    pub(crate) expect: Expect,
    /// Permission bits to set; `None` keeps those of the file that is replaced.
    pub(crate) mode: Option<u32>,
    /// Whether a directory is removed with its contents. Otherwise it is removed only if it is empty at commit time.
    pub(crate) recursive: bool,
    /// The path it had before, if it was moved here.
    pub(crate) from: Option<String>,
    /// The path is a symbolic link, and the file behind it is changed.
    through_link: bool,
}

/// What shall be at a path.
pub(crate) enum NewState {
    /// Whatever is there now.
    Untouched,
    Removed,
    /// Nothing: the entry moves to the item that is [`NewState::MovedHere`].
    MovedAway,
    File(Content),
    /// The unchanged entry that was at `from`.
    MovedHere(EntryKind),
    NewDirectory,
    /// A copy of a whole directory.
    CopiedTree(Dir, TreeContents),
}

/// What a path means if it is a symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkHandling {
    /// The file behind the link.
    Follow,
    /// The link itself.
    NoFollow,
}

impl Plan {
    pub(crate) fn new(workspace: &Workspace, limits: ChangeLimits, context: &Context) -> Self {
        Self {
            workspace: workspace.clone(),
            cancel: context.cancel.clone(),
            items: Vec::new(),
            memory: MemoryReservation::of(&PLAN_MEMORY),
            limits,
            descriptors: Vec::new(),
            principal: context.caller.principal.clone(),
        }
    }

    /// Resolves the path that the caller gave as the argument `field`.
    pub(crate) fn locate(&self, field: &str, path: &str) -> Result<WorkspacePath> {
        self.workspace.find(path).map_err(|error| with_field(error, field))
    }

    /// The index of the item for a path; a new item if the plan has not touched the path yet.
    pub(crate) fn item(&mut self, field: &str, path: &str, links: LinkHandling) -> Result<usize> {
        let location = self.locate(field, path)?;
        self.check_outside_changed_trees(field, location.display())?;
        if let Some(at) = self.items.iter().position(|item| item.path == location.display()) {
            if links == LinkHandling::NoFollow && self.items[at].through_link {
                let path = location.display();
                let reason =
                    format!("{path} is a link: one call cannot both change the file behind it and move or remove it.");
                return Err(Error::field(field, reason));
            }
            return Ok(at);
        }
        self.limits.check_paths(self.items.len())?;
        self.descriptors.push(descriptors::for_path(&self.principal)?);
        let is_link = |metadata: Metadata| metadata.kind == EntryKind::Symlink;
        let through_link = links == LinkHandling::Follow && location.metadata()?.is_some_and(is_link);
        let target = match links {
            LinkHandling::Follow => location.write_target(),
            LinkHandling::NoFollow => location.entry_target(),
        }
        .map_err(|error| with_field(error, field))?;
        let before = target.metadata()?;
        self.items.push(Item {
            path: location.display().to_owned(),
            target,
            expect: if before.is_some() { Expect::Anything } else { Expect::Nothing },
            before,
            state: NewState::Untouched,
            mode: None,
            recursive: false,
            from: None,
            through_link,
        });
        Ok(self.items.len() - 1)
    }

    /// Fails if the path is inside a directory that this plan moves, removes or copies to: the two changes would depend
    /// on the order in which they are committed.
    pub(crate) fn check_outside_changed_trees(&self, field: &str, path: &str) -> Result<()> {
        match self.items.iter().find(|item| item.changes_tree() && is_within(path, &item.path)) {
            Some(item) => Err(inside_changed_tree(field, path, &item.path)),
            None => Ok(()),
        }
    }

    /// What is at the item after the changes so far.
    pub(crate) fn kind(&self, at: usize) -> Option<EntryKind> {
        let item = &self.items[at];
        match &item.state {
            NewState::Untouched => item.before.map(|metadata| metadata.kind),
            NewState::Removed | NewState::MovedAway => None,
            NewState::File(_) => Some(EntryKind::File),
            NewState::MovedHere(kind) => Some(*kind),
            NewState::NewDirectory | NewState::CopiedTree(..) => Some(EntryKind::Directory),
        }
    }

    /// Whether a file is there; `false` if nothing is, and an error if something else is.
    pub(crate) fn is_file(&self, field: &str, at: usize) -> Result<bool> {
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

    /// The file on disk that holds the item's content, unless the plan itself holds it.
    fn handle(&self, at: usize) -> Result<Option<OpenFile>> {
        match (&self.items[at].state, self.origin(at)) {
            (NewState::Untouched, _) => self.items[at].target.current(),
            (NewState::File(Content::Copy(file)), _) => Ok(Some(file.clone())),
            (_, from) => from.map_or(Ok(None), |from| self.items[from].target.current()),
        }
    }

    /// The content after the changes so far.
    pub(crate) fn content(&self, at: usize) -> Result<Vec<u8>> {
        let item = &self.items[at];
        if let NewState::File(Content::Bytes(bytes)) = &item.state {
            self.reserve_memory(bytes.len())?;
            return Ok(bytes.clone());
        }
        if let NewState::File(Content::Append { to, more }) = &item.state {
            return Ok([self.read_whole(to)?.as_slice(), more].concat());
        }
        self.read_whole(&self.handle(at)?.ok_or_else(|| not_found(&item.path))?)
    }

    fn read_whole(&self, file: &OpenFile) -> Result<Vec<u8>> {
        self.reserve_memory(usize::try_from(file.metadata().size.min(MAX_WHOLE_FILE)).unwrap_or(usize::MAX))?;
        file.read_whole(MAX_WHOLE_FILE)?.ok_or_else(|| too_large(file.display(), file.metadata().size))
    }

    /// Reserves memory for the content the plan holds and for `bytes` more that are needed beside it for a while. Waits
    /// for other plans if the memory of the process is used up.
    pub(crate) fn reserve_memory(&self, bytes: usize) -> Result<()> {
        self.memory.reserve(self.held_bytes().saturating_add(bytes), &self.cancel)
    }

    /// The state of a copy of this item, without reading its content if it is on disk.
    pub(crate) fn copy_of(&self, at: usize) -> Result<NewState> {
        match self.handle(at)? {
            Some(file) => Ok(NewState::File(Content::Copy(file))),
            None => self.content(at).map(|bytes| NewState::File(Content::Bytes(bytes))),
        }
    }

    /// The permission bits after the changes so far.
    pub(crate) fn mode(&self, at: usize) -> Option<u32> {
        let item = &self.items[at];
        let origin = self.origin(at).and_then(|from| self.items[from].before);
        item.mode.or(origin.or(item.before).map(|metadata| metadata.mode & 0o777))
    }

    /// The etag of the content after the changes so far.
    pub(crate) fn etag(&self, at: usize) -> Result<String> {
        match self.handle(at)? {
            Some(file) => file.etag_while(&|| !self.cancel.is_cancelled()),
            None => self.content(at).map(|bytes| etag_of(&bytes)),
        }
    }

    /// Compares the caller's etag with the content after the changes so far. An untouched file must still have that
    /// etag when the plan is committed.
    pub(crate) fn check_etag(&mut self, at: usize, wanted: Option<&str>) -> Result<()> {
        let Some(wanted) = wanted else { return Ok(()) };
        let path = &self.items[at].path;
        if self.kind(at).is_none() {
            let message = format!("{path} no longer exists (expected etag {wanted}). To create it, omit the etag.");
            return Err(conflict(path, message));
        }
        let now = self.etag(at)?;
        if now != wanted {
            let message = format!("{path} has changed: its etag is {now}, not {wanted}. Read it again and retry.");
            return Err(conflict(path, message).with_reason(Reason::EtagMismatch { path: path.to_owned(), etag: now }));
        }
        if matches!(self.items[at].state, NewState::Untouched) {
            self.items[at].expect = Expect::Etag(now);
        }
        Ok(())
    }

    /// Replaces whatever is at the item by something new.
    pub(crate) fn set_state(&mut self, at: usize, state: NewState) -> Result<()> {
        self.detach(at)?;
        self.items[at].state = state;
        self.items[at].from = None;
        self.check_memory_limit()
    }

    /// Changes the content of the item, which was read when its etag was `read_etag`.
    pub(crate) fn set_content(&mut self, at: usize, bytes: Vec<u8>, read_etag: String) -> Result<()> {
        if matches!(self.items[at].state, NewState::Untouched) {
            self.items[at].expect = Expect::Etag(read_etag);
        } else if let Some(from) = self.origin(at) {
            self.items[at].mode = self.mode(at);
            self.items[from].state = NewState::Removed;
            self.items[from].expect = Expect::Etag(read_etag);
        }
        self.items[at].state = NewState::File(Content::Bytes(bytes));
        self.check_memory_limit()
    }

    /// Moves what is at one item to another, which must be free to take it.
    pub(crate) fn move_item(&mut self, from: usize, to: usize, kind: EntryKind) -> Result<()> {
        self.detach(to)?;
        let (mode, path) = (self.mode(from), self.items[from].path.clone());
        if matches!(self.items[from].state, NewState::Untouched) {
            self.items[from].state = NewState::MovedAway;
            self.items[to].state = NewState::MovedHere(kind);
            self.items[to].from = Some(path);
            return Ok(());
        }
        // What this plan itself created had no path before.
        let existed = self.items[from].before.is_some();
        self.items[to].state = std::mem::replace(&mut self.items[from].state, NewState::Removed);
        self.items[to].mode = mode.filter(|_| kind == EntryKind::File);
        self.items[to].from = self.items[from].from.take().or(Some(path).filter(|_| existed));
        Ok(())
    }

    /// The item that this one is moved from unchanged.
    fn origin(&self, at: usize) -> Option<usize> {
        let item = &self.items[at];
        let from = item.from.as_deref().filter(|_| matches!(item.state, NewState::MovedHere(_)))?;
        self.items.iter().position(|other| other.path == from)
    }

    /// Frees an item for another state. If it is the target of a move, its origin is removed instead of moved; if it is
    /// the origin of a move, the move's target becomes a copy, because this path will hold something else.
    fn detach(&mut self, at: usize) -> Result<()> {
        if let Some(from) = self.origin(at) {
            self.items[from].state = NewState::Removed;
        }
        if !matches!(self.items[at].state, NewState::MovedAway) {
            return Ok(());
        }
        let path = self.items[at].path.clone();
        let file = self.items[at].target.current()?.ok_or_else(|| not_found(&path))?;
        self.items[at].expect = Expect::Etag(file.etag_while(&|| !self.cancel.is_cancelled())?);
        self.items[at].state = NewState::Removed;
        let mode = self.items[at].before.map(|metadata| metadata.mode & 0o777);
        let is_target =
            |item: &&mut Item| matches!(item.state, NewState::MovedHere(_)) && item.from.as_ref() == Some(&path);
        if let Some(target) = self.items.iter_mut().find(is_target) {
            target.state = NewState::File(Content::Copy(file));
            target.mode = mode;
        }
        Ok(())
    }

    fn check_memory_limit(&self) -> Result<()> {
        if self.held_bytes() <= MAX_HELD_BYTES {
            return self.reserve_memory(0);
        }
        let limit = MAX_HELD_BYTES >> 20;
        Err(Error::new(Kind::TooLarge, format!("This call holds more than {limit} MiB of content; split it.")))
    }

    fn held_bytes(&self) -> usize {
        let held = |item: &Item| {
            let NewState::File(content) = &item.state else { return 0 };
            let (Content::Bytes(bytes) | Content::Append { more: bytes, .. }) = content else { return 0 };
            bytes.len()
        };
        self.items.iter().map(held).sum()
    }
}

impl Item {
    /// Whether a whole directory is removed, copied here or moved.
    pub(crate) fn changes_tree(&self) -> bool {
        let was_directory = self.before.is_some_and(|metadata| metadata.kind == EntryKind::Directory);
        matches!(self.state, NewState::CopiedTree(..) | NewState::MovedHere(EntryKind::Directory))
            || (was_directory && matches!(self.state, NewState::Removed | NewState::MovedAway))
    }

    /// Whether there will be something at the path.
    pub(crate) fn will_exist(&self) -> bool {
        !matches!(self.state, NewState::Untouched | NewState::Removed | NewState::MovedAway)
    }

    /// Whether there will be something where nothing was.
    pub(crate) fn is_created(&self) -> bool {
        self.will_exist() && self.before.is_none()
    }
}

/// Whether a path is the directory or lies in it. Both are in the spelling the sandbox shows.
pub(crate) fn is_within(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
