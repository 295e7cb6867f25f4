//! A directory that is put together under a name of our own and takes its place in one step: whoever looks finds the
//! whole of the old one or the whole of the new one. It needs no workspace and no journal: `staging.rs` is for those.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use mainstay_core::{Error, Kind, Result};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::change::rename_new;
use super::fault::{self, About as _};
use super::removal::{list, remove_all};
use super::staged::{keep_owner, sync_directory, temporary_name};
use super::{DIRECTORY, Dir, EntryKind, Facts, Identity, Workspace};

/// Whether a directory may be lost; the error says what would be.
pub type Check<'a> = &'a dyn Fn(&Dir) -> Result<()>;

const ENDING: &str = ".building";

/// Between this and its own name stands what has been set aside, on systems that cannot exchange two names at once.
const ASIDE: &str = ".aside-";

/// Gone when it is dropped, unless it was finished. What a process that died has left is removed by the next build
/// beside it: it holds a lock on its directory for as long as it lives.
#[derive(Debug)]
pub struct Building {
    /// Where it will be, and what it is called until then.
    parent: OwnedFd,
    above: PathBuf,
    name: OsString,
    temporary: OsString,
    directory: OwnedFd,
    /// Directories that were made for it, the deepest first.
    made: Vec<PathBuf>,
    /// What a new directory may be used for when nobody says otherwise.
    usual_mode: AtomicU32,
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
        let made = above.ancestors().take_while(|path| !path.exists()).map(Path::to_owned).collect();
        // A directory nobody has made yet may be one of the server's own.
        let mut private = std::fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
        private.recursive(true).create(above).about(&above.display().to_string())?;
        let above = std::fs::canonicalize(above).about(&shown)?;
        let parent = rustix::fs::open(&above, DIRECTORY, Mode::empty()).about(&shown)?;
        sweep(&parent);
        let (temporary, directory) = make_locked(&parent, &shown)?;
        let usual_mode = AtomicU32::new(0o755);
        Ok(Self { parent, above, name: name.to_owned(), temporary, directory, made, usual_mode, shown })
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
        let folder = rustix::fs::openat(&self.directory, name, DIRECTORY, Mode::empty()).about(&self.shown)?;
        let mode = Facts::from(&rustix::fs::fstat(&folder).about(&self.shown)?).mode;
        self.usual_mode.store(mode & 0o777, Ordering::Relaxed);
        Ok(Folder(folder))
    }

    /// A file in the new directory itself.
    pub fn put(&self, name: &str, content: &[u8]) -> Result<()> {
        put(&self.directory, name, content)
    }

    /// Everything is on disk, then it has its place. A directory that is there already is replaced only if `replaceable`
    /// finds nothing in it that would be a loss.
    pub fn finish(mut self, replaceable: Option<Check<'_>>) -> Result<()> {
        sync_everything(&self.directory).about(&self.shown)?;
        match (self.standing()?, replaceable) {
            (None, _) => {
                self.open_up(None)?;
                rename_new(&self.parent, &self.temporary, &self.parent, &self.name).about(&self.shown)?;
            }
            (Some(_), None) => return Err(fault::exists(&self.shown)),
            (Some(facts), Some(check)) => self.replace(&facts, check)?,
        }
        self.made.clear();
        // What is left under the temporary name, if anything, is the old one; dropping this removes it.
        sync_directory(&self.parent, &self.shown)
    }

    fn replace(&self, facts: &Facts, check: Check<'_>) -> Result<()> {
        if facts.kind != EntryKind::Directory {
            return Err(Error::new(Kind::Conflict, format!("{} is not a directory.", self.shown)));
        }
        let workspace = Workspace::reading(&self.above)?;
        let handle = rustix::fs::openat(&self.parent, &self.name, DIRECTORY, Mode::empty()).about(&self.shown)?;
        let old = Dir::new(&workspace, &workspace.roots()[0], &handle, vec![self.name.clone()])?;
        check(&old)?;
        self.open_up(Some(facts))?;
        exchange(&self.parent, &self.temporary, &self.name).map_err(|errno| match errno {
            Errno::XDEV => Error::unavailable(format!(
                "{} lies in a layer of the file system that cannot be renamed; remove it, then build it.",
                self.shown
            )),
            other => fault::of(other, &self.shown),
        })?;
        let out = rustix::fs::statat(&self.parent, &self.temporary, AtFlags::SYMLINK_NOFOLLOW);
        if out.map(|stat| Identity::from(&stat)) != Identity::of(handle.as_fd()) {
            // Another one has come into its place since it was looked at.
            exchange(&self.parent, &self.temporary, &self.name).about(&self.shown)?;
            return Err(super::walk::restless(&self.shown));
        }
        Ok(())
    }

    /// Until now it was nobody else's business. It gets what the old one had, or what is usual.
    fn open_up(&self, old: Option<&Facts>) -> Result<()> {
        let mode = old.map_or_else(|| self.usual_mode.load(Ordering::Relaxed), |facts| facts.mode & 0o777);
        let file = File::from(self.directory.try_clone().about(&self.shown)?);
        if let Some(old) = old {
            keep_owner(&file, old);
        }
        let wanted = std::os::unix::fs::PermissionsExt::from_mode(mode);
        file.set_permissions(wanted).about(&self.shown)
    }
}

impl Drop for Building {
    fn drop(&mut self) {
        if rustix::fs::statat(&self.parent, &self.temporary, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            remove_all(&self.parent, &self.temporary);
        }
        for directory in &self.made {
            let _ = std::fs::remove_dir(directory);
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
        rustix::fs::mkdirat(parent, &name, Mode::from_raw_mode(0o700)).about(shown)?;
        let Ok(directory) = rustix::fs::openat(parent, &name, DIRECTORY, Mode::empty()) else { continue };
        // Then somebody is sweeping it away. A file system that knows no locks knows no sweeping either.
        if rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            continue;
        }
        let still = rustix::fs::statat(parent, &name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| Identity::from(&stat));
        if still == Identity::of(directory.as_fd()) {
            return Ok((name, directory));
        }
    }
}

/// Removes what builds that died have left in this directory, and puts back what they had set aside.
fn sweep(parent: &OwnedFd) {
    let Ok(entries) = list(parent) else { return };
    for (name, _) in entries.iter().filter(|(name, _)| name.as_bytes().starts_with(b".mainstay-")) {
        let bytes = name.as_bytes();
        if let Some(at) = bytes.windows(ASIDE.len()).position(|part| part == ASIDE.as_bytes()) {
            let own = OsStr::from_bytes(&bytes[at + ASIDE.len()..]);
            if rename_new(parent, name, parent, own) == Err(Errno::EXIST) {
                remove_all(parent, name);
            }
        } else if bytes.ends_with(ENDING.as_bytes()) {
            let Ok(directory) = rustix::fs::openat(parent, name, DIRECTORY, Mode::empty()) else { continue };
            if rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive).is_ok() {
                remove_all(parent, name);
            }
        }
    }
}

/// One call for all of the files: to wait for each by itself takes a hundred times as long.
#[cfg(all(target_os = "linux", not(mainstay_elsewhere)))]
fn sync_everything(directory: &OwnedFd) -> rustix::io::Result<()> {
    match rustix::fs::syncfs(directory) {
        Err(Errno::NOSYS) => {
            rustix::fs::sync();
            Ok(())
        }
        other => other,
    }
}

#[cfg(any(not(target_os = "linux"), mainstay_elsewhere))]
#[expect(clippy::unnecessary_wraps, reason = "the other systems' way can fail")]
fn sync_everything(_directory: &OwnedFd) -> rustix::io::Result<()> {
    rustix::fs::sync();
    Ok(())
}

/// Two names change places, at once where the system can do that. Elsewhere whoever finds the old one set aside knows by
/// its name where it belongs.
fn exchange(parent: &OwnedFd, new: &OsStr, old: &OsStr) -> rustix::io::Result<()> {
    match exchange_at_once(parent, new, old) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => exchange_by_steps(parent, new, old),
        other => other,
    }
}

fn exchange_by_steps(parent: &OwnedFd, new: &OsStr, old: &OsStr) -> rustix::io::Result<()> {
    let mut aside = temporary_name(ASIDE);
    aside.push(old);
    rustix::fs::renameat(parent, old, parent, &aside)?;
    if let Err(errno) = rustix::fs::renameat(parent, new, parent, old) {
        let _ = rustix::fs::renameat(parent, &aside, parent, old);
        return Err(errno);
    }
    rustix::fs::renameat(parent, &aside, parent, new)
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

    /// Nothing but `a` and `in` may be lost.
    fn known(directory: &Dir) -> Result<()> {
        match directory.entries()?.into_iter().find(|entry| entry.name != "a" && entry.name != "in") {
            Some(stranger) => Err(Error::new(Kind::Conflict, format!("{} is there", stranger.name.display()))),
            None => Ok(()),
        }
    }

    fn entries(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn build(target: &Path, content: &[u8], replaceable: Option<Check<'_>>) -> Result<()> {
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
        build(&target, b"2", Some(&known)).unwrap();
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
            let refused = build(&top.path().join(name), b"1", Some(&known)).unwrap_err();
            assert!(refused.public.contains(word), "{refused}");
        }
        assert_eq!(std::fs::read(top.path().join("dir/thesis.txt")).unwrap(), b"mine");
        assert_eq!(entries(top.path()), ["dir", "file"]);
        std::fs::create_dir(top.path().join("empty")).unwrap();
        build(&top.path().join("empty"), b"1", Some(&known)).unwrap();
    }

    #[test]
    fn a_link_stays_and_what_it_leads_to_is_replaced() {
        let top = tempfile::tempdir().unwrap();
        build(&top.path().join("real"), b"1", None).unwrap();
        std::os::unix::fs::symlink("real", top.path().join("link")).unwrap();
        build(&top.path().join("link"), b"2", Some(&known)).unwrap();
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
    fn what_was_set_aside_by_a_build_that_died_is_put_back_or_removed() {
        let top = tempfile::tempdir().unwrap();
        let aside = |name: &str| top.path().join(format!(".mainstay-dead{ASIDE}{name}"));
        for name in ["lost", "replaced"] {
            std::fs::create_dir(aside(name)).unwrap();
            std::fs::write(aside(name).join("a"), "old").unwrap();
        }
        build(&top.path().join("replaced"), b"new", None).unwrap_err();
        assert_eq!(std::fs::read(top.path().join("lost/a")).unwrap(), b"old");
        assert_eq!(std::fs::read(top.path().join("replaced/a")).unwrap(), b"old");
        std::fs::create_dir(aside("replaced")).unwrap();
        build(&top.path().join("other"), b"new", None).unwrap();
        assert_eq!(entries(top.path()), ["lost", "other", "replaced"]);
    }

    #[test]
    fn without_an_exchange_at_once_the_two_change_places_by_steps() {
        let top = tempfile::tempdir().unwrap();
        let parent = rustix::fs::open(top.path(), DIRECTORY, Mode::empty()).unwrap();
        std::fs::create_dir(top.path().join("old")).unwrap();
        let (new, old) = (OsStr::new("new"), OsStr::new("old"));
        assert_eq!(exchange_by_steps(&parent, new, old), Err(Errno::NOENT));
        assert_eq!(entries(top.path()), ["old"], "nothing is lost when it fails half-way");
        std::fs::create_dir(top.path().join("new")).unwrap();
        std::fs::write(top.path().join("new/a"), "").unwrap();
        exchange_by_steps(&parent, new, old).unwrap();
        assert_eq!(
            (entries(&top.path().join("old")), entries(&top.path().join("new")).len()),
            (vec!["a".to_owned()], 0)
        );
    }

    #[test]
    fn the_new_one_is_as_open_as_the_old_one_and_what_fails_leaves_no_directories() {
        use std::os::unix::fs::PermissionsExt as _;
        let top = tempfile::tempdir().unwrap();
        let target = top.path().join("new");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        build(&target, b"1", None).unwrap();
        assert_eq!(mode(&target), mode(&target.join("in")), "what is usual here");
        std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o700)).unwrap();
        build(&target, b"2", Some(&known)).unwrap();
        assert_eq!((mode(&target), std::fs::read(target.join("a")).unwrap()), (0o700, b"2".to_vec()));
        drop(Building::begin(&top.path().join("deep/er/new")).unwrap());
        assert_eq!(entries(top.path()), ["new"]);
        build(&top.path().join("deep/er/new"), b"1", None).unwrap();
        assert_eq!(mode(&top.path().join("deep/er")), 0o700);
    }

    #[test]
    fn many_builds_of_one_name_at_once_end_with_one_of_them_whole() {
        let top = tempfile::tempdir().unwrap();
        let target = top.path().join("new");
        std::thread::scope(|scope| {
            for nth in 0..8_u8 {
                let target = &target;
                scope.spawn(move || build(target, &[nth], Some(&known)).map_err(|error| error.kind));
            }
        });
        assert_eq!(std::fs::read(target.join("a")).unwrap(), std::fs::read(target.join("in/y")).unwrap());
        assert_eq!(entries(top.path()), ["new"]);
    }
}
