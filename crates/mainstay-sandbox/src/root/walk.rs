//! From names to handles.
//!
//! The short way is one `openat2` that refuses links altogether: the kernel then opens exactly the names that were
//! given, beneath the root. A path with a link or `..` in it, or a kernel without that call, takes the long way: one
//! name at a time, links read and walked by ourselves. Either way every name has been held against the guard, and no
//! name is ever looked up twice, so nothing can be exchanged between a look and an opening.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, PathBuf};

use mainstay_core::{Error, Result};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::fault::{self, About as _};
use super::{DEEPEST, Identity, Root, Rule};

/// As many as the kernel follows.
const MOST_LINKS: usize = 40;

/// How often a path that is being exchanged under our hands is walked anew.
const ATTEMPTS: usize = 32;

/// What to do when the last name is a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    Follow,
    KeepLast,
}

/// How far a path could be walked.
#[derive(Debug)]
pub(crate) struct Walked {
    /// The last directory that is there.
    pub(crate) directory: OwnedFd,
    /// The names that lead to it from the root; links have been resolved.
    pub(crate) names: Vec<OsString>,
    /// Whether it lies in something that must not be changed.
    pub(crate) read_only: bool,
    /// What is left: nothing if the path is that directory, one name if it is an entry of it (which may or may not be
    /// there), several if directories are missing.
    pub(crate) rest: Vec<OsString>,
}

/// Opens a regular file, or whatever else has this name: the caller looks at what it got.
pub(crate) fn open_file(root: &Root, names: &[OsString], shown: &str) -> Result<OwnedFd> {
    if let Some(opened) = short_way(root, names, shown) {
        return opened;
    }
    for _ in 0..ATTEMPTS {
        let walked = walk(root, names, Links::Follow, shown)?;
        let name = match walked.rest.as_slice() {
            [] => return Err(fault::not_a_file(shown)),
            [name] => name,
            _ => return Err(fault::not_found(shown)),
        };
        match rustix::fs::openat(&walked.directory, name, reading() | OFlags::NOFOLLOW, Mode::empty()) {
            // What was a file a moment ago is a link now.
            Err(Errno::LOOP | Errno::MLINK) => {}
            opened => return opened.about(shown),
        }
    }
    Err(restless(shown))
}

/// Never waits for a pipe's other end, and never takes a terminal.
pub(crate) fn reading() -> OFlags {
    OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY
}

#[cfg(all(target_os = "linux", not(mainstay_elsewhere)))]
fn short_way(root: &Root, names: &[OsString], shown: &str) -> Option<Result<OwnedFd>> {
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::ResolveFlags;

    static NO_OPENAT2: AtomicBool = AtomicBool::new(false);
    let winding = names.is_empty() || names.iter().any(|name| name == "..");
    if winding || !root.inner.is_empty() || NO_OPENAT2.load(Ordering::Relaxed) {
        return None;
    }
    if let Err(refusal) = names.iter().try_for_each(|name| allowed(root, name, shown)) {
        return Some(Err(refusal));
    }
    let path: PathBuf = names.iter().collect();
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    match rustix::fs::openat2(&root.handle, &path, reading(), Mode::empty(), beneath) {
        Ok(fd) => Some(Ok(fd)),
        Err(Errno::LOOP | Errno::AGAIN | Errno::XDEV) => None,
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {
            // Either there is no such call here, or this one file is odd: the long way finds out.
            if rustix::fs::openat2(&root.handle, ".", reading(), Mode::empty(), beneath).is_err() {
                NO_OPENAT2.store(true, Ordering::Relaxed);
            }
            None
        }
        Err(errno) => Some(Err(fault::of(errno, shown))),
    }
}

#[cfg(any(not(target_os = "linux"), mainstay_elsewhere))]
fn short_way(_root: &Root, _names: &[OsString], _shown: &str) -> Option<Result<OwnedFd>> {
    None
}

/// Opens a file if its path is plain and the kernel has every name of it at hand: then nothing is waited for.
#[cfg(all(target_os = "linux", not(mainstay_elsewhere)))]
pub(crate) fn open_at_hand(root: &Root, names: &[OsString]) -> Option<OwnedFd> {
    use rustix::fs::ResolveFlags;

    let plain = |name: &OsString| name != ".." && !root.guard.protects(name);
    if names.is_empty() || !root.inner.is_empty() || !names.iter().all(plain) {
        return None;
    }
    let path: PathBuf = names.iter().collect();
    let beneath =
        ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS | ResolveFlags::CACHED;
    rustix::fs::openat2(&root.handle, &path, reading(), Mode::empty(), beneath).ok()
}

#[cfg(any(not(target_os = "linux"), mainstay_elsewhere))]
pub(crate) fn open_at_hand(_root: &Root, _names: &[OsString]) -> Option<OwnedFd> {
    None
}

fn allowed(root: &Root, name: &OsStr, shown: &str) -> Result<()> {
    if root.guard.protects(name) { Err(fault::protected(shown)) } else { Ok(()) }
}

/// Walks name by name.
pub(crate) fn walk(root: &Root, names: &[OsString], links: Links, shown: &str) -> Result<Walked> {
    let mut here = Here { root, stack: Vec::new() };
    let mut ahead: VecDeque<OsString> = names.iter().cloned().collect();
    let mut followed = 0;
    while let Some(name) = ahead.pop_front() {
        if name == ".." {
            // The root has no parent here.
            here.stack.pop().ok_or_else(fault::outside)?;
            continue;
        }
        allowed(root, &name, shown)?;
        if ahead.is_empty() && links == Links::KeepLast {
            return here.stop(vec![name], shown);
        }
        match look(here.fd(), &name, shown)? {
            Found::Nothing => return missing(here, name, ahead, shown),
            Found::Directory(fd, identity) => here.enter(fd, name, identity, shown)?,
            Found::Link(target) => {
                followed += 1;
                if followed > MOST_LINKS {
                    return Err(fault::of(Errno::LOOP, shown));
                }
                for part in target.into_iter().rev() {
                    ahead.push_front(part);
                }
            }
            Found::File if ahead.is_empty() => return here.stop(vec![name], shown),
            Found::File => return Err(fault::not_found(shown)),
        }
    }
    here.stop(Vec::new(), shown)
}

/// The directories walked so far. The root itself is not among them.
struct Here<'a> {
    root: &'a Root,
    stack: Vec<Level>,
}

struct Level {
    fd: OwnedFd,
    name: OsString,
    read_only: bool,
}

impl Here<'_> {
    fn fd(&self) -> BorrowedFd<'_> {
        self.stack.last().map_or(self.root.handle.as_fd(), |level| level.fd.as_fd())
    }

    fn read_only(&self) -> bool {
        self.stack.last().map_or(self.root.read_only, |level| level.read_only)
    }

    fn enter(&mut self, fd: OwnedFd, name: OsString, identity: Identity, shown: &str) -> Result<()> {
        let read_only = match self.root.rule(identity) {
            Some(Rule::Closed) => return Err(fault::closed(shown)),
            Some(Rule::ReadOnly) => true,
            Some(Rule::Writable) => false,
            None => self.read_only(),
        };
        if self.stack.len() >= DEEPEST {
            return Err(fault::too_deep());
        }
        self.stack.push(Level { fd, name, read_only });
        Ok(())
    }

    fn stop(mut self, rest: Vec<OsString>, shown: &str) -> Result<Walked> {
        let read_only = self.read_only();
        let names = self.stack.iter_mut().map(|level| std::mem::take(&mut level.name)).collect();
        let directory = match self.stack.pop() {
            Some(level) => level.fd,
            None => self.root.handle.try_clone().about(shown)?,
        };
        Ok(Walked { directory, names, read_only, rest })
    }
}

/// What is not there can only be made: its names must be plain, and none of them protected.
fn missing(here: Here<'_>, name: OsString, ahead: VecDeque<OsString>, shown: &str) -> Result<Walked> {
    for name in &ahead {
        if name == ".." {
            return Err(fault::not_found(shown));
        }
        allowed(here.root, name, shown)?;
    }
    let rest = std::iter::once(name).chain(ahead).collect();
    here.stop(rest, shown)
}

/// What has this name in a directory.
enum Found {
    Nothing,
    Directory(OwnedFd, Identity),
    Link(Vec<OsString>),
    File,
}

fn look(directory: BorrowedFd<'_>, name: &OsStr, shown: &str) -> Result<Found> {
    for _ in 0..ATTEMPTS {
        let kind = match touch(directory, name) {
            Ok((handle, stat)) => {
                let kind = FileType::from_raw_mode(stat.st_mode);
                if let (FileType::Directory, Some(fd)) = (kind, handle) {
                    return Ok(Found::Directory(fd, Identity::from(&stat)));
                }
                kind
            }
            Err(Errno::LOOP) => FileType::Symlink,
            Err(Errno::NOENT) => return Ok(Found::Nothing),
            Err(errno) => return Err(fault::of(errno, shown)),
        };
        if kind != FileType::Symlink {
            return Ok(Found::File);
        }
        match rustix::fs::readlinkat(directory, name, Vec::new()) {
            Ok(target) => return link_names(target.into_bytes()).map(Found::Link),
            // It is not a link any more.
            Err(Errno::INVAL | Errno::NOENT) => {}
            Err(errno) => return Err(fault::of(errno, shown)),
        }
    }
    Err(restless(shown))
}

/// Takes hold of what has this name, with a handle that needs no permission to read.
#[cfg(all(target_os = "linux", not(mainstay_elsewhere)))]
fn touch(directory: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<(Option<OwnedFd>, Stat)> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = rustix::fs::openat(directory, name, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&handle)?;
    Ok((Some(handle), stat))
}

/// Takes hold of what has this name, if it is a directory. There are no handles that only point here, and to open
/// anything else could be refused, or be noticed by what it is.
#[cfg(any(not(target_os = "linux"), mainstay_elsewhere))]
fn touch(directory: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<(Option<OwnedFd>, Stat)> {
    let seen = rustix::fs::statat(directory, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(seen.st_mode) != FileType::Directory {
        return Ok((None, seen));
    }
    match rustix::fs::openat(directory, name, super::DIRECTORY, Mode::empty()) {
        Ok(handle) => {
            let stat = rustix::fs::fstat(&handle)?;
            Ok((Some(handle), stat))
        }
        // It has been exchanged since; the caller finds out for what.
        Err(Errno::NOTDIR | Errno::MLINK) => Err(Errno::LOOP),
        Err(errno) => Err(errno),
    }
}

/// The names in a link. One that starts at the top of the file system leads outside, wherever it points.
fn link_names(target: Vec<u8>) -> Result<Vec<OsString>> {
    let target = PathBuf::from(OsString::from_vec(target));
    if target.is_absolute() {
        return Err(fault::outside());
    }
    Ok(target
        .components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
        })
        .collect())
}

pub(crate) fn restless(shown: &str) -> Error {
    Error::new(mainstay_core::Kind::Conflict, format!("{shown} is being exchanged all the time; try again later."))
}
