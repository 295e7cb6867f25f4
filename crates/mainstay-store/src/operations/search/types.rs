//! What goes into a namespace and what comes out of it.

use crate::Result;
use crate::sql::{Columns, FromColumns, from_columns, read_json};

/// A document to be stored. It replaces the one with the same id.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewSearchDocument {
    pub id: String,
    /// Where the text is from, or a title: whatever its author wants to see in a result.
    pub path: String,
    pub text: String,
    pub tags: Vec<String>,
    /// Identifies the content: a document is unchanged if etag, path, tags and versions are those that are stored.
    pub etag: String,
    /// What the index has made of the text. The store does not look into it.
    pub prepared: Vec<u8>,
    /// With which versions of model and analysis `prepared` was made. A replica with others prepares the text anew.
    pub versions: Vec<u8>,
    /// Searched by PostgreSQL with pgvector; SQLite keeps only their number.
    pub chunks: Vec<SearchChunk>,
}

/// A part of a document that is found on its own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchChunk {
    /// The terms by which it is found, split and stemmed as those of a query will be. A word that occurs several times
    /// is found as if it occurred once.
    pub words: Vec<String>,
    /// Empty if it has none. Vectors of one namespace may differ in their number of dimensions: a query compares its
    /// own with those that have as many.
    pub vector: Vec<f32>,
}

/// A document as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSearchDocument {
    pub id: String,
    /// The version of its last change.
    pub version: i64,
    pub path: String,
    pub text: String,
    pub tags: Vec<String>,
    pub etag: String,
    pub prepared: Vec<u8>,
    pub versions: Vec<u8>,
    pub chunks: u64,
    pub updated_ms: i64,
}

/// A namespace, without its documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchNamespace {
    pub name: String,
    /// The version of its newest change. It grows, also if the namespace is deleted and made again.
    pub version: i64,
    /// A replica whose version is less than this, and not 0, may have missed deletions: it has to start again.
    pub pruned: i64,
    pub documents: u64,
    pub chunks: u64,
    /// Of texts, what is prepared of them, and everything else that was put; not of rows and indexes.
    pub bytes: u64,
    /// Deleted documents that are still listed among the changes.
    pub tombstones: u64,
    pub created_ms: i64,
    pub updated_ms: i64,
}

/// The most that may be stored. A put that exceeds one of them, and makes it worse, is refused as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchLimits {
    /// Documents in one namespace.
    pub documents: u64,
    /// Bytes in one namespace, as [`SearchNamespace::bytes`] counts them.
    pub bytes: u64,
    /// Namespaces in all.
    pub namespaces: u64,
}

/// Which of [`SearchLimits`] was exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchLimit {
    Documents,
    Bytes,
    Namespaces,
}

/// What became of documents that were put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PutOutcome {
    /// They are stored.
    Stored {
        /// The namespace's version now.
        version: i64,
        added: u64,
        replaced: u64,
        /// Those that were stored already, exactly so. They get no new version.
        unchanged: u64,
    },
    /// Nothing was stored: there would be `needed`, and `most` are allowed.
    OverLimit { limit: SearchLimit, most: u64, needed: u64 },
    /// Nothing was stored: the name of the namespace, or the id of a document, has more than
    /// [`MAX_NAME_BYTES`](super::MAX_NAME_BYTES).
    NameTooLong { name: String },
}

/// What became of documents that were to be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteOutcome {
    /// The namespace's version now; 0 if there is no such namespace.
    pub version: i64,
    pub deleted: Vec<String>,
    /// Ids that the namespace does not have.
    pub missing: Vec<String>,
}

/// The newest change of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchChange {
    pub id: String,
    pub version: i64,
    /// `None` if it was deleted.
    pub document: Option<StoredSearchDocument>,
}

/// What PostgreSQL has found: the documents to be ranked, and what ranking needs to know of all others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchCandidates {
    /// The best first, by vector and by words in turns.
    pub documents: Vec<StoredSearchDocument>,
    pub total_documents: u64,
    pub total_chunks: u64,
    /// Of each word of the query, once.
    pub frequencies: Vec<WordFrequency>,
}

/// In how many documents and chunks of the namespace a word occurs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordFrequency {
    pub word: String,
    pub documents: u64,
    pub chunks: u64,
}

from_columns!(SearchNamespace {
    name,
    version,
    pruned,
    documents: read_count,
    chunks: read_count,
    bytes: read_count,
    tombstones: read_count,
    created_ms,
    updated_ms
});

impl FromColumns for SearchChange {
    /// The columns have the order of the fields of [`StoredSearchDocument`].
    fn read(columns: &mut Columns<'_>) -> Result<Self> {
        let (id, version, path) = <(String, i64, String)>::read(columns)?;
        let text = Option::<String>::read(columns)?;
        let tags = read_json(columns)?;
        let etag = String::read(columns)?;
        let prepared = Option::<Vec<u8>>::read(columns)?.unwrap_or_default();
        let versions = Option::<Vec<u8>>::read(columns)?.unwrap_or_default();
        let chunks = read_count(columns)?;
        let updated_ms = i64::read(columns)?;
        let document = text.map(|text| StoredSearchDocument {
            id: id.clone(),
            version,
            path,
            text,
            tags,
            etag,
            prepared,
            versions,
            chunks,
            updated_ms,
        });
        Ok(Self { id, version, document })
    }
}

/// A column that is never negative.
pub(super) fn read_count(columns: &mut Columns<'_>) -> Result<u64> {
    i64::read(columns).map(i64::unsigned_abs)
}
