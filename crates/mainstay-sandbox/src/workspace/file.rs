//! An open file: its metadata, its content and its etag.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use mainstay_core::{Error, Kind, Result};

use super::errors::{self, PathContext as _};
use super::metadata::{EtagCache, etag_from_hash, etag_of};
use super::{EntryKind, Metadata, Root};
use crate::settings::HardLinks;

/// A regular file beneath a root, open for reading. Clones share the handle.
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

    /// The path as callers see it.
    pub fn display(&self) -> &str {
        &self.display
    }

    /// The whole content, if it is at most `limit` bytes; `None` if it is more. A file that grows meanwhile is checked
    /// against the limit too.
    pub fn read_whole(&self, limit: u64) -> Result<Option<Vec<u8>>> {
        if self.metadata.size > limit {
            return Ok(None);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(self.metadata.size).unwrap_or(0) + 1);
        self.reader(0).take(limit.saturating_add(1)).read_to_end(&mut bytes).for_path(&self.display)?;
        Ok(Some(bytes).filter(|bytes| bytes.len() as u64 <= limit))
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
        let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
        self.reader(offset).take(length).read_to_end(&mut bytes).for_path(&self.display)?;
        Ok(bytes)
    }

    /// A reader from `offset` on, with a position of its own: several may read the same file at once.
    pub fn reader(&self, offset: u64) -> impl std::io::Read + '_ {
        PositionedReader { file: &self.file, position: offset }
    }

    /// The etag of the content as it is now. A large file that has not changed since it was last hashed is not read.
    pub fn etag(&self) -> Result<String> {
        self.etag_while(&|| true)
    }

    /// The same, as long as `wanted` returns true: it is asked before each block, so that hashing can be cancelled.
    pub fn etag_while(&self, wanted: &dyn Fn() -> bool) -> Result<String> {
        if self.metadata.size < EtagCache::MIN_SIZE {
            let bytes = self.read_range(0, u64::MAX)?;
            return Ok(etag_of(&bytes));
        }
        let before = Metadata::of(&self.file).for_path(&self.display)?;
        if let Some(known) = self.root.etags.get(&before) {
            return Ok(known);
        }
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; 256 * 1024];
        let mut from = self.reader(0);
        loop {
            if !wanted() {
                return Err(Error::new(Kind::Cancelled, "The call was cancelled."));
            }
            let read = from.read(&mut buffer).for_path(&self.display)?;
            if read == 0 {
                break;
            }
            hasher.update(&buffer[..read]);
        }
        let etag = etag_from_hash(&hasher.finalize());
        let after = Metadata::of(&self.file).for_path(&self.display)?;
        if before == after {
            self.root.etags.put(&after, &etag);
        }
        Ok(etag)
    }
}

/// Reads with `pread`, which leaves the handle's own position alone.
struct PositionedReader<'a> {
    file: &'a File,
    position: u64,
}

impl std::io::Read for PositionedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read_at(buffer, self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}
