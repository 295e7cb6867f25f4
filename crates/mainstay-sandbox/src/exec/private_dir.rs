//! The temporary directory of one command, where it cannot have a `/tmp` of its own.
//!
//! A lock on the directory says that it is in use. The kernel releases the lock when the server ends, however it ends;
//! the command cannot.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode};
use rustix::io::Errno;

use crate::workspace::DIRECTORY;

/// A directory for one command alone; removed on drop, with everything in it.
pub(crate) struct PrivateDir {
    path: PathBuf,
    _lock: OwnedFd,
}

/// Followed by the server's process number and an id.
const PREFIX: &str = "mainstay-";

/// How often to try again if another server removes the new directory.
const ATTEMPTS: usize = 8;

impl PrivateDir {
    /// Creates and locks a directory in the system's temporary directory, with an empty `home` in it.
    pub(super) fn create() -> io::Result<Self> {
        for _ in 0..ATTEMPTS {
            let name = format!("{PREFIX}{}-{}", std::process::id(), mainstay_core::new_id());
            let path = std::env::temp_dir().join(name);
            let mut builder = std::fs::DirBuilder::new();
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(&path)?;
            // Until it is locked, another server may take it for a leftover, and remove it.
            if let Some(lock) = lock(&path)? {
                let made = Self { path, _lock: lock };
                builder.create(made.path.join("home"))?;
                return Ok(made);
            }
        }
        Err(io::Error::other("a temporary directory was removed each time it had been created"))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the directories of servers that were killed: those with such a name that belong to this user alone and
    /// are not locked.
    pub(super) fn remove_leftovers() {
        for entry in std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_name().to_str().is_some_and(is_name)
                && let Ok(Some(_lock)) = lock(&path)
            {
                let _ = std::fs::remove_dir_all(path);
            }
        }
    }
}

/// Whether a name has the form of ours: a process number and an id.
fn is_name(name: &str) -> bool {
    let parts = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    parts.is_some_and(|(process, id)| {
        process.parse::<u32>().is_ok_and(|number| number.to_string() == process)
            && id.len() == 32
            && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Locks such a directory; `None` if it is locked, does not exist, or is not one of ours.
fn lock(path: &Path) -> io::Result<Option<OwnedFd>> {
    let directory = match rustix::fs::open(path, DIRECTORY, Mode::empty()) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => return Ok(None),
        other => other?,
    };
    // It belongs to this user and nobody else has access: others could plant what we would remove.
    let stat = rustix::fs::fstat(&directory)?;
    if stat.st_uid != rustix::process::geteuid().as_raw() || stat.st_mode & 0o7777 != 0o700 {
        return Ok(None);
    }
    match rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => return Ok(None),
        other => other?,
    }
    // The previous holder of the lock may have removed the directory.
    let linked = rustix::fs::fstat(&directory)?.st_nlink > 0;
    Ok(linked.then_some(directory))
}

impl Drop for PrivateDir {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.path) {
            tracing::warn!(%error, "a command's temporary directory could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn make(name: &str, mode: u32) -> PathBuf {
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(path.join("home")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn only_directories_that_are_not_in_use_are_removed() {
        let mine = PrivateDir::create().unwrap();
        // The number is that of a running process: only the lock counts.
        let left_behind = make(&format!("mainstay-{}-{}", std::process::id(), mainstay_core::new_id()), 0o700);
        PrivateDir::remove_leftovers();
        assert!(mine.path().join("home").is_dir());
        assert!(!left_behind.exists());
    }

    #[test]
    fn what_others_have_named_alike_is_left_alone() {
        let id = mainstay_core::new_id();
        let foreign = [
            make(&format!("mainstay-{}-backup-{id}", i32::MAX), 0o700),
            make(&format!("mainstay-{}-{}", i32::MAX, &id[..8]), 0o700),
            make(&format!("mainstay-0{}-{id}", 1), 0o700),
            make(&format!("mainstay-{}-{id}", i32::MAX), 0o755),
        ];
        let target = tempfile::tempdir().unwrap();
        std::fs::set_permissions(target.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        let link = std::env::temp_dir().join(format!("mainstay-1-{id}"));
        symlink(target.path(), &link).unwrap();
        PrivateDir::remove_leftovers();
        let left: Vec<bool> = foreign.iter().map(|path| path.join("home").is_dir()).collect();
        let linked = link.symlink_metadata().is_ok() && target.path().is_dir();
        for path in &foreign {
            std::fs::remove_dir_all(path).unwrap();
        }
        std::fs::remove_file(&link).unwrap();
        assert_eq!((left, linked), (vec![true; 4], true));
    }
}
