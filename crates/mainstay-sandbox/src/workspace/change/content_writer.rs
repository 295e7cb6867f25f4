//! Writes the content of a new file: hashes it on the way, keeps the holes of a sparse file, and stops when the call is
//! not wanted any more or the disk is about to be full.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;

use mainstay_core::{Error, Result};

use crate::workspace::OpenFile;
use crate::workspace::errors::{self, PathContext as _};
use crate::workspace::metadata::etag_from_hash;

/// Copied at a time. Between two blocks the call can be stopped.
const BLOCK_BYTES: usize = 256 * 1024;

/// What a copy leaves free on a disk: the store, the audit and other programs need some of it.
const RESERVED_BYTES: u64 = 64 * 1024 * 1024;

/// How much is copied before the free space is looked at again: others write to the same disk, too.
const SPACE_CHECK_BYTES: u64 = 16 * 1024 * 1024;

/// A file that is being filled from its beginning.
pub(super) struct ContentWriter<'a> {
    file: &'a File,
    hasher: blake3::Hasher,
    position: u64,
    wanted: &'a dyn Fn() -> bool,
    display: &'a str,
}

impl<'a> ContentWriter<'a> {
    pub(super) fn new(file: &'a File, wanted: &'a dyn Fn() -> bool, display: &'a str) -> Self {
        Self { file, hasher: blake3::Hasher::new(), position: 0, wanted, display }
    }

    /// Writes bytes at the end.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        for block in bytes.chunks(BLOCK_BYTES) {
            errors::check_wanted(self.wanted)?;
            self.hasher.update(block);
            self.file.write_all_at(block, self.position).for_path(self.display)?;
            self.position += block.len() as u64;
        }
        Ok(())
    }

    /// Writes the content of another file, with a hole wherever that has one.
    pub(super) fn copy(&mut self, from: &OpenFile) -> Result<()> {
        let (mut buffer, start) = (vec![0; BLOCK_BYTES], self.position);
        let (mut at, mut next_check) = (0, start + SPACE_CHECK_BYTES);
        while let Some(data) = from.next_data(at).for_path(self.display)? {
            self.skip(data.start - at)?;
            let mut content = from.reader(data.start).take(data.end - data.start);
            loop {
                let read = content.read(&mut buffer).for_path(self.display)?;
                if read == 0 {
                    break;
                }
                self.put(&buffer[..read])?;
                if self.position >= next_check {
                    self.check_space(0)?;
                    next_check = self.position + SPACE_CHECK_BYTES;
                }
            }
            at = self.position - start;
            if at < data.end {
                return Err(errors::truncated(from.display()));
            }
        }
        self.skip(from.metadata().size.saturating_sub(at))?;
        // A hole at the end has no data that could be missing: only the size tells that the file was cut off.
        let now = from.current_metadata()?;
        if now.size < from.metadata().size { Err(errors::truncated(from.display())) } else { Ok(()) }
    }

    /// Leaves a hole, which reads as zeros and is hashed as such.
    fn skip(&mut self, bytes: u64) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let zeros = vec![0; BLOCK_BYTES];
        let mut left = bytes;
        while left > 0 {
            errors::check_wanted(self.wanted)?;
            let block = usize::try_from(left).unwrap_or(usize::MAX).min(zeros.len());
            self.hasher.update(&zeros[..block]);
            left -= block as u64;
        }
        self.position += bytes;
        self.file.set_len(self.position).for_path(self.display)
    }

    /// Fails if the disk has no room for this many bytes and for what a copy leaves free.
    pub(super) fn check_space(&self, bytes: u64) -> Result<()> {
        let disk = rustix::fs::fstatvfs(self.file).for_path(self.display)?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        // Some file systems do not report their size; a full disk is noticed while writing then.
        if disk.f_blocks == 0 || bytes.saturating_add(RESERVED_BYTES) <= free {
            return Ok(());
        }
        Err(Error::unavailable(format!(
            "The copy to {} needs {bytes} bytes, and {free} are free on its disk, of which {RESERVED_BYTES} are kept \
             free. Nothing was changed.",
            self.display
        )))
    }

    /// The etag of what was written.
    pub(super) fn finish(self) -> String {
        etag_from_hash(&self.hasher.finalize())
    }
}
