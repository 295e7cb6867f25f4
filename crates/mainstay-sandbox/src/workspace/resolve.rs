//! Opens names beneath a root.
//!
//! The fast way is a single `openat2` that refuses symbolic links altogether: the kernel then opens exactly the given
//! names beneath the root. A path with a link or `..` in it, or a kernel without that call, takes the slow way: one
//! name at a time, links read and followed here. Either way every name has been checked by the guard, and no name is
//! looked up twice, so nothing can be exchanged between the check and the opening.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use mainstay_core::Result;
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::errors::{self, PathContext as _};
use super::fs_ops::READ_FILE;
use super::roots::{Root, Rule};
use crate::identity::FileId;

/// The most directories above a file: each is held open while a path is resolved.
pub(super) const MAX_DEPTH: usize = 256;

/// As many symbolic links as the kernel follows (`MAXSYMLINKS`).
const MAX_LINKS: usize = 40;

/// How often a path that is being exchanged meanwhile is tried again.
const ATTEMPTS: usize = 32;

/// What to do if the last name is a symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    Follow,
    KeepLast,
}

/// How far a path could be resolved.
#[derive(Debug)]
pub(super) struct Resolved {
    /// The last directory that exists.
    pub(super) directory: OwnedFd,
    /// The names that lead to it from the root, without symbolic links.
    pub(super) names: Vec<OsString>,
    /// Whether it is in a part of the root that must not be changed.
    pub(super) read_only: bool,
    /// The remaining names: none if the path is that directory, one if it is an entry of it (which may or may not
    /// exist), several if directories are missing.
    pub(super) rest: Vec<OsString>,
}

/// Opens whatever a path leads to for reading; the caller checks that it is a regular file.
pub(super) fn open_file(root: &Root, names: &[OsString], display: &str) -> Result<OwnedFd> {
    if let Some(opened) = open_fast(root, names, display) {
        return opened;
    }
    for _ in 0..ATTEMPTS {
        let resolved = resolve(root, names, Links::Follow, display)?;
        let name = match resolved.rest.as_slice() {
            [] => return Err(errors::not_a_file(display)),
            [name] => name,
            _ => return Err(errors::not_found(display)),
        };
        match rustix::fs::openat(&resolved.directory, name, READ_FILE | OFlags::NOFOLLOW, Mode::empty()) {
            // What was a file a moment ago is a link now.
            Err(Errno::LOOP | Errno::MLINK) => {}
            opened => return opened.for_path(display),
        }
    }
    Err(errors::changing(display))
}

/// `openat2` beneath the root, without following any link; with `cached`, only if it needs no disk access.
#[cfg(all(target_os = "linux", not(mainstay_unsupported)))]
fn open_beneath(root: &Root, path: &Path, cached: bool) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::ResolveFlags;

    let mut beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    beneath.set(ResolveFlags::CACHED, cached);
    rustix::fs::openat2(&root.handle, path, READ_FILE, Mode::empty(), beneath)
}

#[cfg(any(not(target_os = "linux"), mainstay_unsupported))]
fn open_beneath(_root: &Root, _path: &Path, _cached: bool) -> rustix::io::Result<OwnedFd> {
    Err(Errno::NOSYS)
}

/// Whether `openat2` may decide alone: rules inside the root and `..` need the slow way.
fn is_plain(root: &Root, names: &[OsString]) -> bool {
    !names.is_empty() && root.inner.is_empty() && names.iter().all(|name| name != "..")
}

/// The fast way; `None` if the path needs the slow one.
fn open_fast(root: &Root, names: &[OsString], display: &str) -> Option<Result<OwnedFd>> {
    if !is_plain(root, names) {
        return None;
    }
    if let Err(refusal) = names.iter().try_for_each(|name| check_guard(root, name, display)) {
        return Some(Err(refusal));
    }
    let path: PathBuf = names.iter().collect();
    match open_beneath(root, &path, false) {
        Ok(fd) => Some(Ok(fd)),
        // The last three: either the call is missing here (an old kernel, or a container's filter), or this one file is
        // special.
        Err(Errno::LOOP | Errno::AGAIN | Errno::XDEV | Errno::NOSYS | Errno::PERM | Errno::INVAL) => None,
        Err(errno) => Some(Err(errors::from_errno(errno, display))),
    }
}

/// Opens a file if its path is plain and every name of it is in the kernel's cache: never waits for a disk.
pub(super) fn open_cached(root: &Root, names: &[OsString]) -> Option<OwnedFd> {
    if !is_plain(root, names) || names.iter().any(|name| root.guard.protects(name)) {
        return None;
    }
    let path: PathBuf = names.iter().collect();
    open_beneath(root, &path, true).ok()
}

/// The guard is asked about every name, before it is looked up.
fn check_guard(root: &Root, name: &OsStr, display: &str) -> Result<()> {
    if root.guard.protects(name) { Err(errors::protected(display)) } else { Ok(()) }
}

/// The slow way: one name at a time, as far as the path exists.
pub(super) fn resolve(root: &Root, names: &[OsString], links: Links, display: &str) -> Result<Resolved> {
    let mut position = Position { root, stack: Vec::new() };
    let mut ahead: VecDeque<OsString> = names.iter().cloned().collect();
    let mut followed = 0;
    while let Some(name) = ahead.pop_front() {
        if name == ".." {
            // The root has no parent here.
            position.stack.pop().ok_or_else(errors::outside)?;
            continue;
        }
        check_guard(root, &name, display)?;
        if ahead.is_empty() && links == Links::KeepLast {
            return position.stop(vec![name], display);
        }
        match look_up(position.fd(), &name, display)? {
            Found::Nothing => {
                // What is missing can only be created: its names must be plain, and none of them protected.
                for name in &ahead {
                    if name == ".." {
                        return Err(errors::not_found(display));
                    }
                    check_guard(root, name, display)?;
                }
                return position.stop(std::iter::once(name).chain(ahead).collect(), display);
            }
            Found::Directory(fd, identity) => position.enter(fd, name, identity, display)?,
            Found::Link(target) => {
                followed += 1;
                if followed > MAX_LINKS {
                    return Err(errors::from_errno(Errno::LOOP, display));
                }
                for part in target.into_iter().rev() {
                    ahead.push_front(part);
                }
            }
            Found::File if ahead.is_empty() => return position.stop(vec![name], display),
            Found::File => return Err(errors::not_found(display)),
        }
    }
    position.stop(Vec::new(), display)
}

/// The directories entered so far, without the root itself.
struct Position<'a> {
    root: &'a Root,
    stack: Vec<Level>,
}

/// A directory on the way, held open.
struct Level {
    fd: OwnedFd,
    name: OsString,
    read_only: bool,
}

impl Position<'_> {
    fn fd(&self) -> BorrowedFd<'_> {
        self.stack.last().map_or(self.root.handle.as_fd(), |level| level.fd.as_fd())
    }

    fn read_only(&self) -> bool {
        self.stack.last().map_or(self.root.read_only, |level| level.read_only)
    }

    /// Enters a directory. A rule of the root is found by the directory's identity, so that a link or another name for
    /// a closed directory does not open it.
    fn enter(&mut self, fd: OwnedFd, name: OsString, identity: FileId, display: &str) -> Result<()> {
        let read_only = match self.root.rule(identity) {
            Some(Rule::Closed) => return Err(errors::closed(display)),
            Some(Rule::ReadOnly) => true,
            Some(Rule::Writable) => false,
            None => self.read_only(),
        };
        if self.stack.len() >= MAX_DEPTH {
            return Err(errors::too_deep(MAX_DEPTH));
        }
        self.stack.push(Level { fd, name, read_only });
        Ok(())
    }

    /// Ends here, with these names left over.
    fn stop(mut self, rest: Vec<OsString>, display: &str) -> Result<Resolved> {
        let read_only = self.read_only();
        let names = self.stack.iter_mut().map(|level| std::mem::take(&mut level.name)).collect();
        let directory = match self.stack.pop() {
            Some(level) => level.fd,
            None => self.root.handle.try_clone().for_path(display)?,
        };
        Ok(Resolved { directory, names, read_only, rest })
    }
}

/// What has a name in a directory.
enum Found {
    Nothing,
    Directory(OwnedFd, FileId),
    /// The names in its target.
    Link(Vec<OsString>),
    File,
}

/// Looks a name up. What changes its type between two system calls is looked up again.
fn look_up(directory: BorrowedFd<'_>, name: &OsStr, display: &str) -> Result<Found> {
    for _ in 0..ATTEMPTS {
        let kind = match open_entry(directory, name) {
            Ok((handle, stat)) => {
                let kind = FileType::from_raw_mode(stat.st_mode);
                if let (FileType::Directory, Some(fd)) = (kind, handle) {
                    return Ok(Found::Directory(fd, FileId::from(&stat)));
                }
                kind
            }
            Err(Errno::LOOP) => FileType::Symlink,
            Err(Errno::NOENT) => return Ok(Found::Nothing),
            Err(errno) => return Err(errors::from_errno(errno, display)),
        };
        if kind != FileType::Symlink {
            return Ok(Found::File);
        }
        match rustix::fs::readlinkat(directory, name, Vec::new()) {
            Ok(target) => return link_names(target.into_bytes()).map(Found::Link),
            // It is not a link any more.
            Err(Errno::INVAL | Errno::NOENT) => {}
            Err(errno) => return Err(errors::from_errno(errno, display)),
        }
    }
    Err(errors::changing(display))
}

/// Opens an entry of any type with a handle that needs no permission to read (`O_PATH`).
#[cfg(all(target_os = "linux", not(mainstay_unsupported)))]
fn open_entry(directory: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<(Option<OwnedFd>, Stat)> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = rustix::fs::openat(directory, name, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&handle)?;
    Ok((Some(handle), stat))
}

/// Opens an entry if it is a directory. There is no `O_PATH` here, and opening anything else may be refused or have
/// side effects, as with a pipe or a device.
#[cfg(any(not(target_os = "linux"), mainstay_unsupported))]
fn open_entry(directory: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<(Option<OwnedFd>, Stat)> {
    let seen = rustix::fs::statat(directory, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(seen.st_mode) != FileType::Directory {
        return Ok((None, seen));
    }
    match rustix::fs::openat(directory, name, super::fs_ops::DIRECTORY, Mode::empty()) {
        Ok(handle) => {
            let stat = rustix::fs::fstat(&handle)?;
            Ok((Some(handle), stat))
        }
        // It has been exchanged since; the caller looks again.
        Err(Errno::NOTDIR | Errno::MLINK) => Err(Errno::LOOP),
        Err(errno) => Err(errno),
    }
}

/// The names in a path or a link's target, without `.` and the leading slash.
pub(super) fn names_of(path: &Path) -> Vec<OsString> {
    let name = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(name).collect()
}

/// The names in a link's target. An absolute target leads outside, wherever it points.
fn link_names(target: Vec<u8>) -> Result<Vec<OsString>> {
    let target = PathBuf::from(OsString::from_vec(target));
    if target.is_absolute() { Err(errors::outside()) } else { Ok(names_of(&target)) }
}
