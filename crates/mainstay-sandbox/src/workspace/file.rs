//! An open file: its metadata, its content and its etag.

use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use mainstay_core::{Error, Result};
use rustix::io::Errno;

use super::errors::{self, PathContext as _};
use super::metadata::{EtagCache, etag_from_hash, etag_of};
use super::{EntryKind, Metadata, Root};
use crate::settings::HardLinks;

/// A regular file beneath a root, open for reading. Clones share the handle.
///
/// Nothing is read beyond the size that the file had when it was opened: limits are checked against that size, and a
/// file that grows while it is read would otherwise be read without a bound.
#[derive(Debug, Clone)]
pub struct OpenFile {
    file: Arc<File>,
    metadata: Metadata,
    root: Arc<Root>,
    display: String,
}

impl OpenFile {
    /// Takes an opened handle if it is a regular file that the root's rules allow to read.
    pub(super) fn new(fd: OwnedFd, root: &Arc<Root>, display: String) -> Result<Self> {
        let metadata = Metadata::of(&fd).for_path(&display)?;
        if metadata.kind != EntryKind::File {
            return Err(errors::not_a_file(&display));
        }
        if metadata.links > 1 && root.hard_links == HardLinks::Refuse {
            return Err(Error::denied(format!(
                "{display} has {} hard links, some of which may be outside the workspace; files.hard_links refuses \
                 such files.",
                metadata.links
            )));
        }
        Ok(Self { file: Arc::new(File::from(fd)), metadata, root: root.clone(), display })
    }

    /// The metadata at the time the file was opened.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The metadata by now.
    pub(super) fn current_metadata(&self) -> Result<Metadata> {
        Metadata::of(&self.file).for_path(&self.display)
    }

    /// The path as callers see it.
    pub fn display(&self) -> &str {
        &self.display
    }

    /// The whole content, if it is at most `limit` bytes; `None` if it is more.
    pub fn read_whole(&self, limit: u64) -> Result<Option<Vec<u8>>> {
        if self.metadata.size > limit {
            return Ok(None);
        }
        self.read_range(0, limit).map(Some)
    }

    /// The whole content, if it is at most `limit` bytes and all of it is in the page cache: never waits for a disk.
    #[cfg(all(target_os = "linux", not(mainstay_unsupported)))]
    pub fn read_cached(&self, limit: u64) -> Option<Vec<u8>> {
        let size = usize::try_from(self.metadata.size).ok().filter(|_| self.metadata.size <= limit)?;
        // One byte more than expected: a file that has grown is not taken for complete.
        let mut bytes = vec![0; size + 1];
        let no_wait = rustix::io::ReadWriteFlags::NOWAIT;
        let read = rustix::io::preadv2(&self.file, &mut [std::io::IoSliceMut::new(&mut bytes)], 0, no_wait).ok()?;
        bytes.truncate(read);
        (read == size).then_some(bytes)
    }

    #[cfg(any(not(target_os = "linux"), mainstay_unsupported))]
    pub fn read_cached(&self, _limit: u64) -> Option<Vec<u8>> {
        None
    }

    /// The bytes from `offset` on, at most `length` of them.
    pub fn read_range(&self, offset: u64, length: u64) -> Result<Vec<u8>> {
        let expected = self.metadata.size.saturating_sub(offset).min(length);
        // One byte of room more, or the vector would double when the end is looked for.
        let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0).saturating_add(1));
        self.reader(offset).take(expected).read_to_end(&mut bytes).for_path(&self.display)?;
        Ok(bytes)
    }

    /// A reader from `offset` on, with a position of its own: several may read the same file at once. It ends where the
    /// file ended when it was opened.
    pub fn reader(&self, offset: u64) -> impl std::io::Read + '_ {
        PositionedReader { file: &self.file, position: offset, end: self.metadata.size }
    }

    /// What it takes on disk, at most its size; less if it has holes.
    pub(super) fn stored_bytes(&self) -> Result<u64> {
        let stat = rustix::fs::fstat(&self.file).for_path(&self.display)?;
        // The unit is 512 bytes, whatever the block size of the file system.
        let stored = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512);
        Ok(stored.min(self.metadata.size))
    }

    /// The next part at or after `at` that is stored on disk; `None` if only a hole follows. On a file system that does
    /// not tell, all of the file.
    pub(super) fn next_data(&self, at: u64) -> rustix::io::Result<Option<Range<u64>>> {
        let end = self.metadata.size;
        if at >= end {
            return Ok(None);
        }
        let data = match find_data(&self.file, at) {
            // Everything from there on is a hole.
            Err(Errno::NXIO) => return Ok(None),
            Err(Errno::INVAL | Errno::NOTSUP | Errno::NOSYS) => at..end,
            found => found?,
        };
        Ok(Some(data.start.max(at)..data.end.min(end)).filter(|data| !data.is_empty()))
    }

    /// The etag of the content, up to the size it had when it was opened. A large file that has not changed since it was
    /// last hashed is not read.
    pub fn etag(&self) -> Result<String> {
        self.etag_while(&|| true)
    }

    /// The same, as long as `wanted` returns true: it is asked before each block, so that hashing can be cancelled.
    pub fn etag_while(&self, wanted: &dyn Fn() -> bool) -> Result<String> {
        if self.metadata.size < EtagCache::MIN_SIZE {
            let bytes = self.read_range(0, u64::MAX)?;
            return Ok(etag_of(&bytes));
        }
        let before = self.current_metadata()?;
        // Of a file that has grown since it was opened only the beginning is hashed.
        let is_whole = before.size == self.metadata.size;
        if let Some(known) = self.root.etags.get(&before).filter(|_| is_whole) {
            return Ok(known);
        }
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; 256 * 1024];
        let mut from = self.reader(0);
        loop {
            errors::check_wanted(wanted)?;
            let read = from.read(&mut buffer).for_path(&self.display)?;
            if read == 0 {
                break;
            }
            hasher.update(&buffer[..read]);
        }
        let etag = etag_from_hash(&hasher.finalize());
        let after = self.current_metadata()?;
        if before == after && is_whole {
            self.root.etags.put(&after, &etag);
        }
        Ok(etag)
    }
}

/// The first range with data at or after `at`. A seek moves the handle's own position, which nothing here reads from.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn find_data(file: &File, at: u64) -> rustix::io::Result<Range<u64>> {
    use rustix::fs::SeekFrom;

    let start = rustix::fs::seek(file, SeekFrom::Data(at))?;
    let end = rustix::fs::seek(file, SeekFrom::Hole(start))?;
    // What became a hole between the two calls is read as what it is by now: zeros.
    Ok(start..if end > start { end } else { u64::MAX })
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn find_data(_file: &File, _at: u64) -> rustix::io::Result<Range<u64>> {
    Err(Errno::NOSYS)
}

/// Reads with `pread`, which leaves the handle's own position alone.
struct PositionedReader<'a> {
    file: &'a File,
    position: u64,
    /// Where reading stops, even if the file goes on.
    end: u64,
}

impl std::io::Read for PositionedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let room = buffer.len().min(left);
        // At the end nothing is asked of the system.
        let Some(buffer) = buffer.get_mut(..room).filter(|buffer| !buffer.is_empty()) else { return Ok(0) };
        let read = self.file.read_at(buffer, self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}
