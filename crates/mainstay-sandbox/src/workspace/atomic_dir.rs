//! A directory that is built under a temporary name and takes its place in one step: readers see either the whole old
//! directory or the whole new one.
//!
//! Needs no workspace and no journal, unlike [`Staging`](super::Staging): it is for directories of the server itself.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use mainstay_core::{Error, Kind, Result};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::errors::{self, PathContext as _};
use super::fs_ops::{self, list, open_directory, remove_all, rename_no_replace, temporary_name};
use super::{Dir, EntryKind, Metadata, Workspace};
use crate::identity::FileId;

/// Decides whether an existing directory may be replaced; the error says what would be lost.
pub type ReplaceCheck<'a> = &'a dyn Fn(&Dir) -> Result<()>;

/// The end of a temporary name; leftovers are recognised by it.
const SUFFIX: &str = ".building";

/// Stands between our prefix and the original name of a directory that is set aside for a moment, on systems that
/// cannot exchange two names atomically.
const OLD_SUFFIX: &str = ".aside-";

/// A directory under construction; removed on drop unless it was committed. It is locked while its process lives:
/// what a process that died has left is removed by the next build in the same parent directory.
#[derive(Debug)]
pub struct AtomicDir {
    parent: OwnedFd,
    parent_path: PathBuf,
    name: OsString,
    temporary: OsString,
    directory: OwnedFd,
    /// Directories that were created for it, the deepest first.
    made: Vec<PathBuf>,
    /// The mode of a new directory by the process's umask.
    default_mode: u32,
    display: String,
}

impl AtomicDir {
    /// Begins a directory next to `target`, which may exist. Missing parent directories are created, accessible for
    /// their owner alone.
    pub fn create(target: &Path) -> Result<Self> {
        let display = target.display().to_string();
        // If the target is a symbolic link, the directory behind it is replaced.
        let real = std::fs::canonicalize(target).or_else(|_| std::path::absolute(target)).for_path(&display)?;
        let (Some(above), Some(name)) = (real.parent(), real.file_name()) else {
            return Err(Error::field("path", format!("{display} is not a valid name for a new directory.")));
        };
        let made = above.ancestors().take_while(|path| !path.exists()).map(Path::to_owned).collect();
        let mut private = std::fs::DirBuilder::new();
        private.mode(0o700).recursive(true).create(above).for_path(&above.display().to_string())?;
        let parent_path = std::fs::canonicalize(above).for_path(&display)?;
        let parent = rustix::fs::open(&parent_path, fs_ops::DIRECTORY, Mode::empty()).for_path(&display)?;
        remove_leftovers(&parent);
        let (temporary, directory) = create_locked(&parent, &display)?;
        let name = name.to_owned();
        Ok(Self { parent, parent_path, name, temporary, directory, made, default_mode: 0o755, display })
    }

    /// Metadata of what is at the target at present.
    pub fn existing(&self) -> Result<Option<Metadata>> {
        fs_ops::metadata_at(&self.parent, &self.name, &self.display)
    }

    /// Creates a directory in the new one; files can be written into it from several threads.
    pub fn create_dir(&mut self, name: &str) -> Result<AtomicSubdir> {
        rustix::fs::mkdirat(&self.directory, name, Mode::from_raw_mode(0o777)).for_path(&self.display)?;
        let subdir = open_directory(&self.directory, name).for_path(&self.display)?;
        self.default_mode = Metadata::of(&subdir).for_path(&self.display)?.mode & 0o777;
        Ok(AtomicSubdir(subdir))
    }

    /// Writes a file in the new directory itself.
    pub fn write_file(&self, name: &str, content: &[u8]) -> Result<()> {
        write_new(&self.directory, name, content)
    }

    /// Flushes everything to disk and puts the directory into its place. An existing directory is replaced only if
    /// `replaceable` is given and accepts it.
    pub fn commit(mut self, replaceable: Option<ReplaceCheck<'_>>) -> Result<()> {
        sync_file_system(&self.directory).for_path(&self.display)?;
        match (self.existing()?, replaceable) {
            (None, _) => {
                self.set_permissions(None)?;
                rename_no_replace(&self.parent, &self.temporary, &self.parent, &self.name).for_path(&self.display)?;
            }
            (Some(_), None) => return Err(errors::exists(&self.display)),
            (Some(metadata), Some(check)) => self.replace(&metadata, check)?,
        }
        self.made.clear();
        // What has the temporary name now, if anything, is the old directory; dropping this removes it.
        fs_ops::sync_directory(&self.parent, &self.display)
    }

    /// Exchanges the new directory for the old one, if the check accepts the very directory that is exchanged.
    fn replace(&self, metadata: &Metadata, check: ReplaceCheck<'_>) -> Result<()> {
        if metadata.kind != EntryKind::Directory {
            return Err(Error::new(Kind::Conflict, format!("{} is not a directory.", self.display)));
        }
        let workspace = Workspace::open_read_only(&self.parent_path)?;
        let handle = open_directory(&self.parent, &self.name).for_path(&self.display)?;
        let old = Dir::new(&workspace, &workspace.roots()[0], &handle, vec![self.name.clone()])?;
        check(&old)?;
        self.set_permissions(Some(metadata))?;
        exchange(&self.parent, &self.temporary, &self.name).map_err(|errno| match errno {
            Errno::XDEV => Error::unavailable(format!(
                "{} is in a lower layer of an overlay file system and cannot be renamed; remove it, then build it.",
                self.display
            )),
            other => errors::from_errno(other, &self.display),
        })?;
        if FileId::of_entry(&self.parent, &self.temporary) != FileId::of(&handle) {
            // Something else has taken its place since the check: undo the exchange.
            exchange(&self.parent, &self.temporary, &self.name).for_path(&self.display)?;
            return Err(errors::changing(&self.display));
        }
        Ok(())
    }

    /// Until now only the owner had access. Applies the mode and owner of the old directory, or the default mode.
    fn set_permissions(&self, old: Option<&Metadata>) -> Result<()> {
        let mode = old.map_or(self.default_mode, |metadata| metadata.mode & 0o777);
        let file = File::from(self.directory.try_clone().for_path(&self.display)?);
        if let Some(old) = old {
            fs_ops::keep_owner(&file, old);
        }
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        file.set_permissions(permissions).for_path(&self.display)
    }
}

impl Drop for AtomicDir {
    fn drop(&mut self) {
        if FileId::of_entry(&self.parent, &self.temporary).is_ok() {
            remove_all(&self.parent, &self.temporary);
        }
        for directory in &self.made {
            let _ = std::fs::remove_dir(directory);
        }
    }
}

/// A directory inside one that is being built.
#[derive(Debug)]
pub struct AtomicSubdir(OwnedFd);

impl AtomicSubdir {
    /// Writes a new file into it. Nothing is synced before the whole directory is committed.
    pub fn write_file(&self, name: &str, content: &[u8]) -> Result<()> {
        write_new(&self.0, name, content)
    }
}

/// Creates a file; fails if the name exists.
fn write_new(directory: &OwnedFd, name: &str, content: &[u8]) -> Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory, name, flags, Mode::from_raw_mode(0o666)).for_path(name)?;
    File::from(file).write_all(content).for_path(name)
}

/// Creates a directory and locks it, so that no other process takes it for a leftover.
fn create_locked(parent: &OwnedFd, display: &str) -> Result<(OsString, OwnedFd)> {
    loop {
        let name = temporary_name(SUFFIX);
        rustix::fs::mkdirat(parent, &name, Mode::from_raw_mode(0o700)).for_path(display)?;
        let Ok(directory) = open_directory(parent, &name) else { continue };
        // Another process is about to remove it. A file system without locks has no such removal either.
        if rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            continue;
        }
        if FileId::of_entry(parent, &name) == FileId::of(&directory) {
            return Ok((name, directory));
        }
    }
}

/// Removes what builds of dead processes have left in this directory, and restores what they had set aside.
fn remove_leftovers(parent: &OwnedFd) {
    let Ok(entries) = list(parent) else { return };
    for (name, _) in entries.iter().filter(|(name, _)| name.as_bytes().starts_with(b".mainstay-")) {
        let bytes = name.as_bytes();
        if let Some(at) = bytes.windows(OLD_SUFFIX.len()).position(|part| part == OLD_SUFFIX.as_bytes()) {
            let original = OsStr::from_bytes(&bytes[at + OLD_SUFFIX.len()..]);
            if rename_no_replace(parent, name, parent, original) == Err(Errno::EXIST) {
                remove_all(parent, name);
            }
        } else if bytes.ends_with(SUFFIX.as_bytes()) {
            let Ok(directory) = open_directory(parent, name) else { continue };
            if rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive).is_ok() {
                remove_all(parent, name);
            }
        }
    }
}

/// One call for all files: syncing each by itself takes a hundred times as long.
#[cfg_attr(
    any(not(target_os = "linux"), mainstay_unsupported),
    expect(
        unused_variables,
        clippy::unnecessary_wraps,
        reason = "only Linux can sync one file system, which can fail"
    )
)]
fn sync_file_system(directory: &OwnedFd) -> rustix::io::Result<()> {
    #[cfg(all(target_os = "linux", not(mainstay_unsupported)))]
    match rustix::fs::syncfs(directory) {
        Err(Errno::NOSYS) => {}
        other => return other,
    }
    rustix::fs::sync();
    Ok(())
}

/// Exchanges two names, atomically where the system can.
fn exchange(parent: &OwnedFd, new: &OsStr, old: &OsStr) -> rustix::io::Result<()> {
    match fs_ops::rename_with(parent, new, parent, old, true) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => exchange_in_steps(parent, new, old),
        other => other,
    }
}

/// Exchanges two names in three renames. The name of what is set aside says where it belongs, for the case that this
/// process dies in between.
fn exchange_in_steps(parent: &OwnedFd, new: &OsStr, old: &OsStr) -> rustix::io::Result<()> {
    let mut aside = temporary_name(OLD_SUFFIX);
    aside.push(old);
    rustix::fs::renameat(parent, old, parent, &aside)?;
    if let Err(errno) = rustix::fs::renameat(parent, new, parent, old) {
        // Another build may have taken the name meanwhile; then what was set aside is out of date.
        if rustix::fs::renameat(parent, &aside, parent, old).is_err() {
            remove_all(parent, &aside);
        }
        return Err(errno);
    }
    rustix::fs::renameat(parent, &aside, parent, new)
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

    fn build(target: &Path, content: &[u8], replaceable: Option<ReplaceCheck<'_>>) -> Result<()> {
        let mut building = AtomicDir::create(target)?;
        building.write_file("a", content)?;
        building.create_dir("in")?.write_file("y", content)?;
        building.commit(replaceable)
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
        let building = AtomicDir::create(&top.path().join("new")).unwrap();
        building.write_file("a", b"1").unwrap();
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
        let alive = AtomicDir::create(&top.path().join("other")).unwrap();
        let dead = top.path().join(format!(".mainstay-dead{SUFFIX}"));
        std::fs::create_dir_all(dead.join("in")).unwrap();
        std::fs::create_dir(top.path().join(".mainstay-not-ours")).unwrap();
        build(&top.path().join("new"), b"1", None).unwrap();
        assert!(!dead.exists() && top.path().join(".mainstay-not-ours").exists());
        alive.write_file("a", b"1").unwrap();
        alive.commit(None).unwrap();
        assert!(top.path().join("other/a").exists());
    }

    #[test]
    fn what_was_set_aside_by_a_build_that_died_is_put_back_or_removed() {
        let top = tempfile::tempdir().unwrap();
        let aside = |name: &str| top.path().join(format!(".mainstay-dead{OLD_SUFFIX}{name}"));
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
        let parent = rustix::fs::open(top.path(), fs_ops::DIRECTORY, Mode::empty()).unwrap();
        std::fs::create_dir(top.path().join("old")).unwrap();
        let (new, old) = (OsStr::new("new"), OsStr::new("old"));
        assert_eq!(exchange_in_steps(&parent, new, old), Err(Errno::NOENT));
        assert_eq!(entries(top.path()), ["old"], "nothing is lost when it fails half-way");
        std::fs::create_dir(top.path().join("new")).unwrap();
        std::fs::write(top.path().join("new/a"), "").unwrap();
        exchange_in_steps(&parent, new, old).unwrap();
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
        drop(AtomicDir::create(&top.path().join("deep/er/new")).unwrap());
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
