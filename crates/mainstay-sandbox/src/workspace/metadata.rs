//! What the file system reports about a file or directory, and etags: short hashes of file content that callers send
//! back to detect concurrent changes.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{FileType, Stat};

use crate::identity::FileId;

/// The type of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    Directory,
    File,
    Symlink,
    /// A pipe, a socket or a device.
    Other,
}

impl From<FileType> for EntryKind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::Directory => Self::Directory,
            FileType::RegularFile => Self::File,
            FileType::Symlink => Self::Symlink,
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Self::Other,
        }
    }
}

/// Metadata of a file at one moment. Equal metadata that is [settled](Self::settled) means unchanged content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata {
    pub kind: EntryKind,
    pub size: u64,
    /// Seconds and nanoseconds since 1970.
    pub modified: (i64, u32),
    pub(crate) changed: (i64, u32),
    /// The permission bits, with set-user-ID, set-group-ID and the sticky bit.
    pub mode: u32,
    pub links: u64,
    /// User and group.
    pub owner: (u32, u32),
    pub(crate) identity: FileId,
}

impl From<&Stat> for Metadata {
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
            identity: FileId::from(stat),
        }
    }
}

impl Metadata {
    /// The metadata of an open file.
    pub(crate) fn of(fd: impl AsFd) -> rustix::io::Result<Self> {
        rustix::fs::fstat(fd).map(|stat| Self::from(&stat))
    }

    /// A text that changes whenever the entry is replaced by another, or written to. Two states of a directory differ in
    /// it if an entry was added or removed.
    pub fn version(&self) -> String {
        let Self { identity, size, changed: (seconds, nanos), .. } = self;
        format!("{}:{}:{size}:{seconds}.{nanos:09}", identity.device, identity.inode)
    }

    /// When the content or the attributes last changed, in nanoseconds since 1970. Unlike the modification time, no
    /// program can set it.
    pub fn changed_ns(&self) -> i64 {
        let (seconds, nanos) = self.changed;
        seconds.saturating_mul(1_000_000_000).saturating_add(nanos.into())
    }

    /// The same as numbers, for whoever compares many.
    pub fn version_numbers(&self) -> [u64; 5] {
        let Self { identity, size, changed: (seconds, nanos), .. } = *self;
        [identity.device, identity.inode, size, seconds.cast_unsigned(), nanos.into()]
    }

    /// The file system's clock ticks slower than a program writes: a file that changed just now may change again
    /// within the same tick, with equal metadata.
    const SETTLED_SECONDS: i64 = 2;

    /// Whether every later change of the file will show in its metadata. Judged by the change time, which only the
    /// system sets; any program can set the modification time.
    pub fn settled(&self) -> bool {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec;
        now - self.changed.0 >= Self::SETTLED_SECONDS
    }
}

/// The etag of some content. Equal content has an equal etag, in whatever file it is.
pub fn etag_of(content: &[u8]) -> String {
    etag_from_hash(&blake3::hash(content))
}

/// The first 128 bits of the hash, in hexadecimal.
pub(super) fn etag_from_hash(hash: &blake3::Hash) -> String {
    hash.to_hex()[..32].to_owned()
}

/// Etags of large files, valid while the file's metadata stays the same. Shared by the roots of a workspace.
#[derive(Debug, Default)]
pub(super) struct EtagCache(Mutex<HashMap<FileId, (Metadata, String)>>);

impl EtagCache {
    /// Smaller files are hashed in less time than a lookup here saves.
    pub(super) const MIN_SIZE: u64 = 256 * 1024;
    const MAX_ENTRIES: usize = 4096;

    /// The etag of a file, if its metadata is the same as when it was computed.
    pub(super) fn get(&self, metadata: &Metadata) -> Option<String> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&metadata.identity).filter(|(seen, _)| seen == metadata).map(|(_, etag)| etag.clone())
    }

    /// Remembers an etag, unless the file could still change without its metadata showing it.
    pub(super) fn put(&self, metadata: &Metadata, etag: &str) {
        if !metadata.settled() {
            return;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= Self::MAX_ENTRIES {
            known.clear();
        }
        known.insert(metadata.identity, (*metadata, etag.to_owned()));
    }
}
