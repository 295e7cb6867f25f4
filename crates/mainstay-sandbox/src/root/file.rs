//! An open file: what it is, what is in it, and the tag that tells its content apart.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, Mutex, PoisonError};

use mainstay_core::{Error, Result};
use rustix::fs::{FileType, Stat};

use super::fault::{self, About as _};
use super::{Identity, Root};
use crate::settings::HardLinks;

/// What the file system says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    pub kind: super::EntryKind,
    pub size: u64,
    /// Seconds and nanoseconds since 1970.
    pub modified: (i64, u32),
    changed: (i64, u32),
    /// The permission bits.
    pub mode: u32,
    pub links: u64,
    pub owner: (u32, u32),
    pub(crate) identity: Identity,
}

impl From<&Stat> for Facts {
    #[cfg_attr(
        target_os = "linux",
        expect(clippy::useless_conversion, reason = "the widths of these numbers differ between systems")
    )]
    fn from(stat: &Stat) -> Self {
        let nanos = |value| u32::try_from(value).unwrap_or(0);
        Self {
            kind: FileType::from_raw_mode(stat.st_mode).into(),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: (stat.st_mtime, nanos(stat.st_mtime_nsec)),
            changed: (stat.st_ctime, nanos(stat.st_ctime_nsec)),
            mode: u32::from(stat.st_mode) & 0o7777,
            links: stat.st_nlink.into(),
            owner: (stat.st_uid, stat.st_gid),
            identity: Identity::from(stat),
        }
    }
}

impl Facts {
    /// The file system's clock ticks slower than a program writes: a file that changed just now may change again without
    /// its times showing it.
    const SETTLED_SECONDS: i64 = 2;

    /// Whether a change from now on will show in these facts. When it was changed is for the system to say; when it was
    /// modified, anybody can.
    pub fn settled(&self) -> bool {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec;
        now - self.changed.0 >= Self::SETTLED_SECONDS
    }
}

/// A regular file, open for reading.
#[derive(Debug)]
pub struct OpenFile {
    file: File,
    facts: Facts,
    root: Arc<Root>,
    shown: String,
}

impl OpenFile {
    pub(crate) fn new(fd: OwnedFd, root: &Arc<Root>, shown: String) -> Result<Self> {
        let facts = Facts::from(&rustix::fs::fstat(&fd).about(&shown)?);
        if facts.kind != super::EntryKind::File {
            return Err(fault::not_a_file(&shown));
        }
        if facts.links > 1 && root.hard_links == HardLinks::Refuse {
            return Err(Error::denied(format!(
                "{shown} has {} names, and some of them may lie outside; files.hard_links refuses such files.",
                facts.links
            )));
        }
        Ok(Self { file: File::from(fd), facts, root: root.clone(), shown })
    }

    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// The handle, for what reads files by itself.
    pub fn as_file(&self) -> &File {
        &self.file
    }

    /// Everything, if it is no more than `limit` bytes; `None` if it is more.
    pub fn read_whole(&self, limit: u64) -> Result<Option<Vec<u8>>> {
        if self.facts.size > limit {
            return Ok(None);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(self.facts.size).unwrap_or(0) + 1);
        let mut from = At { file: &self.file, position: 0 };
        from.by_ref().take(limit.saturating_add(1)).read_to_end(&mut bytes).about(&self.shown)?;
        Ok(Some(bytes).filter(|bytes| bytes.len() as u64 <= limit))
    }

    /// Everything, if it is no more than `limit` bytes and all of it is in memory: then nothing is waited for.
    #[cfg(all(target_os = "linux", not(mainstay_elsewhere)))]
    pub fn read_at_hand(&self, limit: u64) -> Option<Vec<u8>> {
        let size = usize::try_from(self.facts.size).ok().filter(|_| self.facts.size <= limit)?;
        // One more than there should be: a file that has grown is not taken for whole.
        let mut bytes = vec![0; size + 1];
        let now = rustix::io::ReadWriteFlags::NOWAIT;
        let read = rustix::io::preadv2(&self.file, &mut [std::io::IoSliceMut::new(&mut bytes)], 0, now).ok()?;
        bytes.truncate(read);
        (read == size).then_some(bytes)
    }

    #[cfg(any(not(target_os = "linux"), mainstay_elsewhere))]
    pub fn read_at_hand(&self, _limit: u64) -> Option<Vec<u8>> {
        None
    }

    /// The bytes from `offset` on, at most `length` of them.
    pub fn read_range(&self, offset: u64, length: u64) -> Result<Vec<u8>> {
        let here = self.facts.size.saturating_sub(offset).min(length);
        let mut bytes = Vec::with_capacity(usize::try_from(here).unwrap_or(0));
        At { file: &self.file, position: offset }.take(length).read_to_end(&mut bytes).about(&self.shown)?;
        Ok(bytes)
    }

    /// A reader from `offset` on that does not disturb others of the same file.
    pub fn reader(&self, offset: u64) -> impl std::io::Read + '_ {
        At { file: &self.file, position: offset }
    }

    /// The tag of the content as it is now. A large file that has not changed since it was last hashed is not read.
    pub fn etag(&self) -> Result<String> {
        self.etag_while(&|| true)
    }

    /// The same, as long as somebody still wants to know.
    pub fn etag_while(&self, wanted: &dyn Fn() -> bool) -> Result<String> {
        if self.facts.size < EtagCache::WORTH {
            let bytes = self.read_range(0, u64::MAX)?;
            return Ok(etag_of(&bytes));
        }
        let before = Facts::from(&rustix::fs::fstat(&self.file).about(&self.shown)?);
        if let Some(known) = self.root.etags.get(&before) {
            return Ok(known);
        }
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; 256 * 1024];
        let mut from = self.reader(0);
        loop {
            if !wanted() {
                return Err(Error::new(mainstay_core::Kind::Cancelled, "The call was cancelled."));
            }
            let read = from.read(&mut buffer).about(&self.shown)?;
            if read == 0 {
                break;
            }
            hasher.update(&buffer[..read]);
        }
        let etag = spell(&hasher.finalize());
        let after = Facts::from(&rustix::fs::fstat(&self.file).about(&self.shown)?);
        if before == after {
            self.root.etags.put(&after, &etag);
        }
        Ok(etag)
    }
}

/// Reads at a position of its own: an open file may be read by several at once.
struct At<'a> {
    file: &'a File,
    position: u64,
}

impl std::io::Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read_at(buffer, self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}

/// The tag of some content: equal content has an equal tag, whatever file it is in.
pub fn etag_of(content: &[u8]) -> String {
    spell(&blake3::hash(content))
}

pub(super) fn spell(hash: &blake3::Hash) -> String {
    hash.to_hex()[..32].to_owned()
}

/// Tags of large files, as long as nothing about the file has changed.
#[derive(Debug, Default)]
pub(crate) struct EtagCache(Mutex<HashMap<Identity, (Facts, String)>>);

impl EtagCache {
    /// Smaller files are hashed faster than they are looked up.
    const WORTH: u64 = 256 * 1024;
    const MOST: usize = 4096;

    fn get(&self, facts: &Facts) -> Option<String> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&facts.identity).filter(|(seen, _)| seen == facts).map(|(_, etag)| etag.clone())
    }

    fn put(&self, facts: &Facts, etag: &str) {
        if !facts.settled() {
            return;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= Self::MOST {
            known.clear();
        }
        known.insert(facts.identity, (*facts, etag.to_owned()));
    }
}
