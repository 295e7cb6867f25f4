//! A cache on disk: its layout (`manifest.rs`), reading it (`reader.rs`), verifying all of it (`verify.rs`), and what can
//! be wrong with it (`defect.rs`).
//!
//! Everything works on the handle of an opened directory, so a cache that is replaced meanwhile stays readable as it was.
//! `retry_on_replace.rs` covers the moment in which the old directory is being deleted.

mod defect;
mod manifest;
mod reader;
mod retry_on_replace;
mod verify;

pub use defect::Defect;
pub(crate) use manifest::{DOCUMENTS, Entry, INDEX, MANIFEST, Manifest, document_id, find_entry, version_of};
pub(crate) use reader::{Cache, CacheDir, MAX_DOCUMENT_BYTES, MAX_MANIFEST_BYTES, StoredDocument, is_absent};
pub(crate) use retry_on_replace::retry_if_replaced;
pub use verify::{Inspection, Verification};
