//! The temporary directory of one command, where it cannot have a `/tmp` of its own.
//!
//! A lock on the directory itself says that somebody uses it. The kernel takes the lock away when the server ends,
//! however it ends, and the command cannot.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, Stat};
use rustix::io::Errno;

use crate::workspace::DIRECTORY;

/// A directory that is nobody else's, removed with everything in it.
pub(crate) struct PrivateDir {
    path: PathBuf,
    _lock: OwnedFd,
}

const PREFIX: &str = "mainstay-";

/// How often another name is tried.
const ATTEMPTS: usize = 8;

impl PrivateDir {
    pub(crate) fn make() -> io::Result<Self> {
        for _ in 0..ATTEMPTS {
            let name = format!("{PREFIX}{}-{}", std::process::id(), mainstay_core::new_id());
            let path = std::env::temp_dir().join(name);
            let mut builder = std::fs::DirBuilder::new();
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(&path)?;
            // Until it is locked, another server may take it for one that was left behind, and remove it.
            if let Some(lock) = take(&path)? {
                let made = Self { path, _lock: lock };
                builder.create(made.path.join("home"))?;
                return Ok(made);
            }
        }
        Err(io::Error::other("a temporary directory was removed whenever it had been made"))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes what servers left behind that were killed: what has just such a name, belongs to this user alone, and is
    /// used by nobody.
    pub(crate) fn forget_old() {
        for entry in std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_name().to_str().is_some_and(is_name)
                && let Ok(Some(_lock)) = take(&path)
            {
                let _ = std::fs::remove_dir_all(path);
            }
        }
    }
}

/// Whether a name is of the form that is given here: the number of a process, and an id.
fn is_name(name: &str) -> bool {
    let parts = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    parts.is_some_and(|(process, id)| {
        process.parse::<u32>().is_ok_and(|number| number.to_string() == process)
            && id.len() == 32
            && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// The lock on such a directory, unless it is somebody's, or not there, or no directory of this kind.
fn take(path: &Path) -> io::Result<Option<OwnedFd>> {
    let directory = match rustix::fs::open(path, DIRECTORY, Mode::empty()) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => return Ok(None),
        other => other?,
    };
    if !is_mine(&rustix::fs::fstat(&directory)?) {
        return Ok(None);
    }
    match rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => return Ok(None),
        other => other?,
    }
    // Whoever had the lock before may have removed the directory.
    let linked = rustix::fs::fstat(&directory)?.st_nlink > 0;
    Ok(linked.then_some(directory))
}

fn is_mine(stat: &Stat) -> bool {
    stat.st_uid == rustix::process::geteuid().as_raw() && stat.st_mode & 0o7777 == 0o700
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
    fn only_directories_that_nobody_uses_are_forgotten() {
        let mine = PrivateDir::make().unwrap();
        // The number is that of a process that lives: only the lock counts.
        let left_behind = make(&format!("mainstay-{}-{}", std::process::id(), mainstay_core::new_id()), 0o700);
        PrivateDir::forget_old();
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
        PrivateDir::forget_old();
        let left: Vec<bool> = foreign.iter().map(|path| path.join("home").is_dir()).collect();
        let linked = link.symlink_metadata().is_ok() && target.path().is_dir();
        for path in &foreign {
            std::fs::remove_dir_all(path).unwrap();
        }
        std::fs::remove_file(&link).unwrap();
        assert_eq!((left, linked), (vec![true; 4], true));
    }
}
