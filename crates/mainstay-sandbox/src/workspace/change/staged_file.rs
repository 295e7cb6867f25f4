//! A new file that is complete and on disk but has no name yet.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use mainstay_core::Result;
use rustix::fs::{AtFlags, Mode, OFlags};

use super::content_writer::ContentWriter;
use crate::identity::FileId;
use crate::workspace::errors::{self, PathContext as _};
use crate::workspace::fs_ops::{keep_owner, rename_no_replace, temporary_name};
use crate::workspace::{Metadata, OpenFile};

/// New content of a file.
#[derive(Debug)]
pub enum Content {
    Bytes(Vec<u8>),
    /// The content of another file, copied while the change is prepared.
    Copy(OpenFile),
    /// The present content of a file, followed by `more`.
    Append {
        to: OpenFile,
        more: Vec<u8>,
    },
}

/// Content that is written and synced before the change begins, so that a full disk changes nothing.
pub(super) struct StagedFile {
    pub(super) file: File,
    /// The temporary name, on file systems that have no nameless files. Removed on drop.
    name: Option<(OwnedFd, OsString)>,
    pub(super) identity: FileId,
    pub(super) etag: String,
}

impl StagedFile {
    /// Writes `content` into `directory`, as long as it is `wanted`. The mode is the given one, or that of the file that
    /// will be replaced.
    pub(super) fn write(
        directory: &OwnedFd,
        content: &Content,
        mode: Option<u32>,
        old: Option<&Metadata>,
        wanted: &dyn Fn() -> bool,
        display: &str,
    ) -> Result<Self> {
        let (file, name) = create_nameless(directory, display)?;
        let mut staged = Self { identity: FileId::of(&file).for_path(display)?, file, name, etag: String::new() };
        staged.fill(content, wanted, display)?;
        if let Some(mode) = mode.or(old.map(|metadata| metadata.mode & 0o777)) {
            staged.file.set_permissions(Permissions::from_mode(mode)).for_path(display)?;
        }
        if let Some(old) = old {
            keep_owner(&staged.file, old);
        }
        // Flushing a large file takes time; one that nobody waits for any more is not flushed.
        errors::check_wanted(wanted)?;
        staged.file.sync_all().for_path(display)?;
        Ok(staged)
    }

    /// Writes the content and computes its etag on the way.
    fn fill(&mut self, content: &Content, wanted: &dyn Fn() -> bool, display: &str) -> Result<()> {
        let mut writer = ContentWriter::new(&self.file, wanted, display);
        if let Content::Copy(from) = content {
            writer.check_space(from.stored_bytes()?)?;
        }
        if let Content::Copy(from) | Content::Append { to: from, .. } = content {
            writer.copy(from)?;
        }
        if let Content::Bytes(bytes) | Content::Append { more: bytes, .. } = content {
            writer.put(bytes)?;
        }
        self.etag = writer.finish();
        Ok(())
    }

    /// Gives the file a name; fails with EEXIST if something has it.
    pub(super) fn link(&mut self, directory: &OwnedFd, name: &OsStr) -> rustix::io::Result<()> {
        match &self.name {
            None => {
                let by_handle: PathBuf = format!("/proc/self/fd/{}", self.file.as_raw_fd()).into();
                rustix::fs::linkat(rustix::fs::CWD, &by_handle, directory, name, AtFlags::SYMLINK_FOLLOW)
            }
            // Not every file system supports hard links.
            Some((from, temporary)) => {
                rename_no_replace(from, temporary, directory, name)?;
                self.name = None;
                Ok(())
            }
        }
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        if let Some((directory, name)) = &self.name {
            let _ = rustix::fs::unlinkat(directory, name, AtFlags::empty());
        }
    }
}

/// Creates a file without a name, which vanishes by itself if this process dies; where the file system cannot, one
/// with a temporary name.
fn create_nameless(directory: &OwnedFd, display: &str) -> Result<(File, Option<(OwnedFd, OsString)>)> {
    let mode = Mode::from_raw_mode(0o666);
    #[cfg(all(target_os = "linux", not(mainstay_unsupported)))]
    {
        use rustix::io::Errno;

        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match rustix::fs::openat(directory, ".", flags, mode) {
            Ok(fd) => return Ok((File::from(fd), None)),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {}
            Err(errno) => return Err(errno).for_path(display),
        }
    }
    let name = temporary_name(".new");
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(directory, &name, flags, mode).for_path(display)?;
    let directory = directory.try_clone().for_path(display)?;
    Ok((File::from(fd), Some((directory, name))))
}
