//! A file that is written and safe on disk, and has no name yet.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use mainstay_core::{Result, new_id};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::fault::{self, About as _};
use super::{Content, Facts, Identity};

pub(super) struct Staged {
    file: File,
    /// Systems without nameless files get one with a name that is removed on the way out.
    name: Option<(OwnedFd, OsString)>,
    pub(super) identity: Identity,
    pub(super) size: u64,
    pub(super) etag: String,
}

/// What beginnings and endings of our own files look like.
pub(super) fn temporary_name(end: &str) -> OsString {
    format!(".mainstay-{}{end}", new_id()).into()
}

impl Staged {
    /// Writes `content` next to where it is going to be.
    pub(super) fn write(
        directory: &OwnedFd,
        content: &Content,
        mode: Option<u32>,
        old: Option<&Facts>,
        shown: &str,
    ) -> Result<Self> {
        let (file, name) = nameless(directory, shown)?;
        let mut staged =
            Self { identity: Identity::of(file.as_fd()).about(shown)?, file, name, size: 0, etag: String::new() };
        staged.fill(content, shown)?;
        if let Some(mode) = mode.or(old.map(|facts| facts.mode & 0o777)) {
            staged.file.set_permissions(Permissions::from_mode(mode)).about(shown)?;
        }
        if let Some(old) = old {
            keep_owner(&staged.file, old);
        }
        staged.file.sync_all().about(shown)?;
        Ok(staged)
    }

    fn fill(&mut self, content: &Content, shown: &str) -> Result<()> {
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; if content.is_copied() { 256 * 1024 } else { 0 }];
        if let Content::Copy(from) | Content::Append { to: from, .. } = content {
            let mut from = from.reader(0);
            loop {
                let read = from.read(&mut buffer).about(shown)?;
                if read == 0 {
                    break;
                }
                self.put(&buffer[..read], &mut hasher, shown)?;
            }
        }
        if let Content::Bytes(bytes) | Content::Append { more: bytes, .. } = content {
            self.put(bytes, &mut hasher, shown)?;
        }
        self.etag = super::file::spell(&hasher.finalize());
        Ok(())
    }

    fn put(&mut self, bytes: &[u8], hasher: &mut blake3::Hasher, shown: &str) -> Result<()> {
        hasher.update(bytes);
        self.file.write_all(bytes).about(shown)?;
        self.size += bytes.len() as u64;
        Ok(())
    }

    pub(super) fn facts(&self, shown: &str) -> Result<Facts> {
        Ok(Facts::from(&rustix::fs::fstat(&self.file).about(shown)?))
    }

    /// Gives the file a name that nothing has.
    pub(super) fn link(&mut self, directory: &OwnedFd, name: &OsStr) -> rustix::io::Result<()> {
        match &self.name {
            None => {
                let by_handle: PathBuf = format!("/proc/self/fd/{}", self.file.as_raw_fd()).into();
                rustix::fs::linkat(rustix::fs::CWD, &by_handle, directory, name, AtFlags::SYMLINK_FOLLOW)
            }
            // Not every file system can give a file two names.
            Some((from, temporary)) => {
                super::change::rename_new(from, temporary, directory, name)?;
                self.name = None;
                Ok(())
            }
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some((directory, name)) = &self.name {
            let _ = rustix::fs::unlinkat(directory, name, AtFlags::empty());
        }
    }
}

/// A file without a name vanishes by itself if we do.
fn nameless(directory: &OwnedFd, shown: &str) -> Result<(File, Option<(OwnedFd, OsString)>)> {
    let mode = Mode::from_raw_mode(0o666);
    #[cfg(all(target_os = "linux", not(mainstay_elsewhere)))]
    {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match rustix::fs::openat(directory, ".", flags, mode) {
            Ok(fd) => return Ok((File::from(fd), None)),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {}
            Err(errno) => return Err(fault::of(errno, shown)),
        }
    }
    let name = temporary_name(".new");
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(directory, &name, flags, mode).about(shown)?;
    let directory = directory.try_clone().about(shown)?;
    Ok((File::from(fd), Some((directory, name))))
}

/// The new file belongs to whom the old one belonged to, where the system lets us.
pub(super) fn keep_owner(file: &File, old: &Facts) {
    let Ok(now) = rustix::fs::fstat(file) else { return };
    if (now.st_uid, now.st_gid) != old.owner {
        let (user, group) = (rustix::fs::Uid::from_raw(old.owner.0), rustix::fs::Gid::from_raw(old.owner.1));
        let _ = rustix::fs::fchown(file, Some(user), Some(group));
    }
}

/// Makes the names in a directory last.
pub(super) fn sync_directory(directory: &OwnedFd, shown: &str) -> Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let readable = rustix::fs::openat(directory, ".", flags, Mode::empty()).about(shown)?;
    match rustix::fs::fsync(&readable) {
        // Some file systems have nothing to make last.
        Ok(()) | Err(Errno::INVAL | Errno::ROFS) => Ok(()),
        Err(errno) => Err(fault::of(errno, shown)),
    }
}
