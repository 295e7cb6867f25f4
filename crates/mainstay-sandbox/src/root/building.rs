//! A directory that is put together under a name of our own and takes its place in one step: whoever looks finds the
//! whole of the old one or the whole of the new one.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use mainstay_core::{Error, Kind, Result};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::change::rename_new;
use super::fault::{self, About as _};
use super::removal::{list, remove_all};
use super::staged::{sync_directory, temporary_name};
use super::{DIRECTORY, EntryKind, Facts, Identity};

const ENDING: &str = ".building";

/// Gone when it is dropped, unless it was finished. What a process that died has left is removed by the next build
/// beside it: it holds a lock on its directory for as long as it lives.
#[derive(Debug)]
pub struct Building {
    /// Where it will be, and what it is called until then.
    parent: OwnedFd,
    name: OsString,
    temporary: OsString,
    directory: OwnedFd,
    shown: String,
}

impl Building {
    /// Begins beside `target`, where a directory may lie already. Missing directories above it are made, for their owner
    /// alone.
    pub fn begin(target: &Path) -> Result<Self> {
        let shown = target.display().to_string();
        // A link is not replaced but what it leads to.
        let real = std::fs::canonicalize(target).or_else(|_| std::path::absolute(target)).about(&shown)?;
        let (Some(above), Some(name)) = (real.parent(), real.file_name()) else {
            return Err(Error::field("path", format!("{shown} is no name for a new directory.")));
        };
        // A directory nobody has made yet may be one of the server's own.
        let mut private = std::fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
        private.recursive(true).create(above).about(&above.display().to_string())?;
        let above = std::fs::canonicalize(above).about(&shown)?;
        let parent = rustix::fs::open(&above, DIRECTORY, Mode::empty()).about(&shown)?;
        sweep(&parent);
        let (temporary, directory) = make_locked(&parent, &shown)?;
        Ok(Self { parent, name: name.to_owned(), temporary, directory, shown })
    }

    /// What has its place now.
    pub fn standing(&self) -> Result<Option<Facts>> {
        match rustix::fs::statat(&self.parent, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Facts::from(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(fault::of(errno, &self.shown)),
        }
    }

    /// A directory in the new one; files can be put into it from several threads.
    pub fn folder(&self, name: &str) -> Result<Folder> {
        rustix::fs::mkdirat(&self.directory, name, Mode::from_raw_mode(0o777)).about(&self.shown)?;
        rustix::fs::openat(&self.directory, name, DIRECTORY, Mode::empty()).map(Folder).about(&self.shown)
    }

    /// A file in the new directory itself.
    pub fn put(&self, name: &str, content: &[u8]) -> Result<()> {
        put(&self.directory, name, content)
    }

    /// Everything is on disk, then it has its place. What is there already is replaced only if it is a directory with
    /// nothing in it but these names.
    pub fn finish(self, replaceable: Option<&[&str]>) -> Result<()> {
        sync_everything(&self.directory).about(&self.shown)?;
        let replaced = match (self.standing()?, replaceable) {
            (None, _) => false,
            (Some(_), None) => return Err(fault::exists(&self.shown)),
            (Some(facts), Some(names)) => {
                self.check_replaceable(&facts, names)?;
                true
            }
        };
        if replaced {
            exchange(&self.parent, &self.temporary, &self.name).about(&self.shown)?;
        } else {
            rename_new(&self.parent, &self.temporary, &self.parent, &self.name).about(&self.shown)?;
        }
        // What is left under the temporary name, if anything, is the old one; dropping this removes it.
        sync_directory(&self.parent, &self.shown)
    }

    fn check_replaceable(&self, facts: &Facts, names: &[&str]) -> Result<()> {
        let kept = |what: &dyn std::fmt::Display| {
            let told = format!("{} is not replaced: {what}. Choose another place.", self.shown);
            Error::new(Kind::Conflict, told)
        };
        if facts.kind != EntryKind::Directory {
            return Err(kept(&"it is not a directory"));
        }
        let old = rustix::fs::openat(&self.parent, &self.name, DIRECTORY, Mode::empty()).about(&self.shown)?;
        let strange = |name: &OsStr| !names.iter().any(|known| OsStr::new(known) == name);
        match list(&old).about(&self.shown)?.into_iter().find(|(name, _)| strange(name)) {
            Some((name, _)) => Err(kept(&format!("it holds {}, which is no part of what it would be", name.display()))),
            None => Ok(()),
        }
    }
}

impl Drop for Building {
    fn drop(&mut self) {
        if rustix::fs::statat(&self.parent, &self.temporary, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            remove_all(&self.parent, &self.temporary);
        }
    }
}

/// A directory inside one that is being built.
#[derive(Debug)]
pub struct Folder(OwnedFd);

impl Folder {
    /// Puts a new file into it. Nothing is made to last before the whole is finished.
    pub fn put(&self, name: &str, content: &[u8]) -> Result<()> {
        put(&self.0, name, content)
    }

    /// Gives a file another name, which nothing has.
    pub fn rename(&self, old: &str, new: &str) -> Result<()> {
        rename_new(&self.0, OsStr::new(old), &self.0, OsStr::new(new)).about(new)
    }
}

fn put(directory: &OwnedFd, name: &str, content: &[u8]) -> Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory, name, flags, Mode::from_raw_mode(0o666)).about(name)?;
    File::from(file).write_all(content).about(name)
}

/// A new directory that nobody takes for left behind.
fn make_locked(parent: &OwnedFd, shown: &str) -> Result<(OsString, OwnedFd)> {
    loop {
        let name = temporary_name(ENDING);
        rustix::fs::mkdirat(parent, &name, Mode::from_raw_mode(0o777)).about(shown)?;
        let Ok(directory) = rustix::fs::openat(parent, &name, DIRECTORY, Mode::empty()) else { continue };
        // A file system that knows no locks knows no sweeping either.
        let _ = rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive);
        // Between the making and the locking somebody may have swept it away.
        let still = rustix::fs::statat(parent, &name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| Identity::from(&stat));
        if still == Identity::of(directory.as_fd()) {
            return Ok((name, directory));
        }
    }
}

/// Removes what builds that died have left in this directory.
fn sweep(parent: &OwnedFd) {
    let Ok(entries) = list(parent) else { return };
    for (name, _) in entries {
        let ours = name.as_bytes().starts_with(b".mainstay-") && name.as_bytes().ends_with(ENDING.as_bytes());
        if !ours {
            continue;
        }
        let Ok(directory) = rustix::fs::openat(parent, &name, DIRECTORY, Mode::empty()) else { continue };
        if rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive).is_ok() {
            remove_all(parent, &name);
        }
    }
}

/// One call for all of the files: to wait for each by itself takes a hundred times as long.
#[cfg(all(target_os = "linux", not(mainstay_elsewhere)))]
fn sync_everything(directory: &OwnedFd) -> rustix::io::Result<()> {
    rustix::fs::syncfs(directory)
}

#[cfg(any(not(target_os = "linux"), mainstay_elsewhere))]
#[expect(clippy::unnecessary_wraps, reason = "the other systems' way can fail")]
fn sync_everything(_directory: &OwnedFd) -> rustix::io::Result<()> {
    rustix::fs::sync();
    Ok(())
}

/// Two names change places, at once where the system can do that.
fn exchange(parent: &OwnedFd, new: &OsStr, old: &OsStr) -> rustix::io::Result<()> {
    match exchange_at_once(parent, new, old) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            let aside = temporary_name(ENDING);
            rustix::fs::renameat(parent, old, parent, &aside)?;
            rustix::fs::renameat(parent, new, parent, old)?;
            rustix::fs::renameat(parent, &aside, parent, new)
        }
        other => other,
    }
}

#[cfg(any(target_vendor = "apple", all(target_os = "linux", not(mainstay_elsewhere))))]
fn exchange_at_once(parent: &OwnedFd, new: &OsStr, old: &OsStr) -> rustix::io::Result<()> {
    rustix::fs::renameat_with(parent, new, parent, old, rustix::fs::RenameFlags::EXCHANGE)
}

#[cfg(not(any(target_vendor = "apple", all(target_os = "linux", not(mainstay_elsewhere)))))]
fn exchange_at_once(_parent: &OwnedFd, _new: &OsStr, _old: &OsStr) -> rustix::io::Result<()> {
    Err(Errno::NOSYS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[&str] = &["a", "in"];

    fn entries(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn build(target: &Path, content: &[u8], replaceable: Option<&[&str]>) -> Result<()> {
        let building = Building::begin(target)?;
        building.put("a", content)?;
        let folder = building.folder("in")?;
        folder.put("x", content)?;
        folder.rename("x", "y")?;
        building.finish(replaceable)
    }

    #[test]
    fn it_has_its_place_when_it_is_finished_and_leaves_nothing_else() {
        let top = tempfile::tempdir().unwrap();
        let target = top.path().join("deep/er/new");
        build(&target, b"1", None).unwrap();
        assert_eq!(std::fs::read(target.join("in/y")).unwrap(), b"1");
        assert_eq!(build(&target, b"2", None).unwrap_err().kind, Kind::Conflict);
        assert_eq!(std::fs::read(target.join("a")).unwrap(), b"1");
        build(&target, b"2", Some(NAMES)).unwrap();
        assert_eq!(std::fs::read(target.join("a")).unwrap(), b"2");
        assert_eq!(entries(&top.path().join("deep/er")), ["new"]);
    }

    #[test]
    fn what_is_dropped_unfinished_is_gone() {
        let top = tempfile::tempdir().unwrap();
        let building = Building::begin(&top.path().join("new")).unwrap();
        building.put("a", b"1").unwrap();
        assert_eq!(entries(top.path()).len(), 1);
        drop(building);
        assert!(entries(top.path()).is_empty());
    }

    #[test]
    fn only_a_directory_of_the_known_names_is_replaced() {
        let top = tempfile::tempdir().unwrap();
        std::fs::write(top.path().join("file"), "mine").unwrap();
        std::fs::create_dir(top.path().join("dir")).unwrap();
        std::fs::write(top.path().join("dir/thesis.txt"), "mine").unwrap();
        for (name, word) in [("file", "not a directory"), ("dir", "thesis.txt")] {
            let refused = build(&top.path().join(name), b"1", Some(NAMES)).unwrap_err();
            assert!(refused.public.contains(word), "{refused}");
        }
        assert_eq!(std::fs::read(top.path().join("dir/thesis.txt")).unwrap(), b"mine");
        assert_eq!(entries(top.path()), ["dir", "file"]);
        std::fs::create_dir(top.path().join("empty")).unwrap();
        build(&top.path().join("empty"), b"1", Some(NAMES)).unwrap();
    }

    #[test]
    fn a_link_stays_and_what_it_leads_to_is_replaced() {
        let top = tempfile::tempdir().unwrap();
        build(&top.path().join("real"), b"1", None).unwrap();
        std::os::unix::fs::symlink("real", top.path().join("link")).unwrap();
        build(&top.path().join("link"), b"2", Some(NAMES)).unwrap();
        std::os::unix::fs::symlink(".", top.path().join("above")).unwrap();
        build(&top.path().join("above/second"), b"3", None).unwrap();
        assert_eq!(std::fs::read(top.path().join("second/a")).unwrap(), b"3");
        assert!(top.path().join("link").is_symlink());
        assert_eq!(std::fs::read(top.path().join("real/a")).unwrap(), b"2");
    }

    #[test]
    fn the_next_build_sweeps_away_what_a_dead_one_left_and_no_other() {
        let top = tempfile::tempdir().unwrap();
        let alive = Building::begin(&top.path().join("other")).unwrap();
        let dead = top.path().join(format!(".mainstay-dead{ENDING}"));
        std::fs::create_dir_all(dead.join("in")).unwrap();
        std::fs::create_dir(top.path().join(".mainstay-not-ours")).unwrap();
        build(&top.path().join("new"), b"1", None).unwrap();
        assert!(!dead.exists() && top.path().join(".mainstay-not-ours").exists());
        alive.put("a", b"1").unwrap();
        alive.finish(None).unwrap();
        assert!(top.path().join("other/a").exists());
    }

    #[test]
    fn many_builds_of_one_name_at_once_end_with_one_of_them_whole() {
        let top = tempfile::tempdir().unwrap();
        let target = top.path().join("new");
        std::thread::scope(|scope| {
            for nth in 0..8_u8 {
                let target = &target;
                scope.spawn(move || build(target, &[nth], Some(NAMES)).map_err(|error| error.kind));
            }
        });
        assert_eq!(std::fs::read(target.join("a")).unwrap(), std::fs::read(target.join("in/y")).unwrap());
        assert_eq!(entries(top.path()), ["new"]);
    }
}
