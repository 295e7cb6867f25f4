//! A cache on disk: its layout (`manifest.rs`), reading it (`reader.rs`), and verifying all of it
//! (`verify.rs`).
//!
//! Everything works on the handle of an opened directory, so a cache that is replaced meanwhile stays readable as it was.
//! `retry_if_replaced` covers the moment in which the old directory is being deleted.

mod manifest;
mod reader;
mod verify;

pub use manifest::Defect;
pub(crate) use manifest::{DOCUMENTS, Entry, INDEX, MANIFEST, Manifest, document_id, find_entry, version_of};
pub(crate) use reader::{
    Cache, CacheDir, MAX_DOCUMENT_BYTES, MAX_MANIFEST_BYTES, StoredDocument, is_absent, retry_if_replaced,
};
pub use verify::{Inspection, Verification};
