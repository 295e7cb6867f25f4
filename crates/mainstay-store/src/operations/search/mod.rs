//! Documents that agents put into named namespaces, to be searched later.
//!
//! The store keeps texts and what an index has prepared of them; it neither splits words nor computes vectors. Every
//! change of a document has a version of its own, from one counter for all namespaces, so a replica that keeps a
//! namespace in memory reads only what changed since the version it has ([`SearchDocuments::changes`]).
//!
//! On PostgreSQL with the extension pgvector, chunks of the documents are also rows with their words and vectors, and
//! [`SearchDocuments::candidates`] searches a namespace without any replica having all of it in memory.

mod candidates;
mod changes;
mod chunks;
mod delete;
mod ids;
mod namespaces;
mod put;
mod types;

pub use changes::SearchChanges;
pub use chunks::MAX_DIMENSIONS;
pub use put::MAX_NAME_BYTES;
pub use types::{
    DeleteOutcome, NewSearchDocument, PutOutcome, SearchCandidates, SearchChange, SearchChunk, SearchLimit,
    SearchLimits, SearchNamespace, StoredSearchDocument, WordFrequency,
};

use super::Database;

/// The namespaces of all replicas and their documents.
#[derive(Clone, Copy)]
pub struct SearchDocuments<'s>(pub(crate) &'s Database);
