//! Etags: short hashes of file content that callers send back to detect concurrent changes.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::metadata::Metadata;
use crate::identity::FileId;

/// The etag of some content. Equal content has an equal etag, in whatever file it is.
pub fn etag_of(content: &[u8]) -> String {
    from_hash(&blake3::hash(content))
}

/// The first 128 bits of the hash, in hexadecimal.
pub(super) fn from_hash(hash: &blake3::Hash) -> String {
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
