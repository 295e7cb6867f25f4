//! The namespaces themselves, and the counter of versions.

use super::{SearchDocuments, SearchNamespace, chunks};
use crate::sql::{Conn, params};
use crate::writer::transaction;
use crate::{Result, StoreError, WriteMode};

/// The columns of a namespace, in the order in which they are read.
macro_rules! select_namespace {
    ($rest:literal) => {
        concat!(
            "SELECT name, version, pruned, documents, chunks, bytes, tombstones, created_ms, updated_ms \
             FROM search_namespace ",
            $rest
        )
    };
}

const ALL: &str = select_namespace!("ORDER BY name");
const FIND: &str = select_namespace!("WHERE name = $1");
const COUNT: &str = "SELECT COUNT(*) FROM search_namespace";
const SAVE: &str = "INSERT INTO search_namespace \
     (name, version, pruned, documents, chunks, bytes, tombstones, created_ms, updated_ms) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (name) DO UPDATE SET version = excluded.version, \
     pruned = excluded.pruned, documents = excluded.documents, chunks = excluded.chunks, bytes = excluded.bytes, \
     tombstones = excluded.tombstones, updated_ms = excluded.updated_ms";
const DELETE: &str = "DELETE FROM search_namespace WHERE name = $1";
const DELETE_DOCUMENTS: &str = "DELETE FROM search_document WHERE namespace = $1";
const HEAD: &str = "SELECT version FROM search_head WHERE id = 1";
const SET_HEAD: &str = "UPDATE search_head SET version = $1 WHERE id = 1";

impl SearchDocuments<'_> {
    /// All namespaces by name; [`SearchLimits::namespaces`](super::SearchLimits::namespaces) bounds their number.
    pub async fn namespaces(self) -> Result<Vec<SearchNamespace>> {
        self.0.readers.all(ALL, &[]).await
    }

    /// One row by its key, so it can be read before each search.
    pub async fn namespace(self, name: &str) -> Result<Option<SearchNamespace>> {
        self.0.readers.one(FIND, &params![name]).await
    }

    /// Deletes a namespace with its documents; false if there is none.
    ///
    /// Nothing is left of it. A replica notices that the row is gone or, if the namespace has been made again, that
    /// [`SearchNamespace::pruned`] is beyond every version it has seen.
    pub async fn delete_namespace(self, name: &str, mode: WriteMode) -> Result<bool> {
        transaction!(self.0.writer, mode, name.to_owned(), |db, name| {
            if db.execute(DELETE, &params![name]).await? == 0 {
                return Ok(false);
            }
            db.execute(DELETE_DOCUMENTS, &params![name]).await?;
            chunks::delete_all(db, name).await?;
            Ok(true)
        })
    }
}

/// The namespace with this name.
pub(super) async fn find(db: &mut Conn<'_>, name: &str) -> Result<Option<SearchNamespace>> {
    db.one(FIND, &params![name]).await
}

/// How many namespaces there are.
pub(super) async fn count(db: &mut Conn<'_>) -> Result<u64> {
    let counted: Option<i64> = db.one(COUNT, &[]).await?;
    Ok(counted.unwrap_or_default().unsigned_abs())
}

/// An empty namespace that is not stored yet.
pub(super) fn new(name: &str, now_ms: i64) -> SearchNamespace {
    SearchNamespace {
        name: name.to_owned(),
        version: 0,
        pruned: 0,
        documents: 0,
        chunks: 0,
        bytes: 0,
        tombstones: 0,
        created_ms: now_ms,
        updated_ms: now_ms,
    }
}

/// Stores a namespace that has changed, and the counter: its version is the newest of all.
pub(super) async fn save(db: &mut Conn<'_>, namespace: &SearchNamespace) -> Result<()> {
    let SearchNamespace { name, version, pruned, created_ms, updated_ms, .. } = namespace;
    let [documents, chunks, bytes, tombstones] =
        [namespace.documents, namespace.chunks, namespace.bytes, namespace.tombstones].map(to_column);
    db.execute(SET_HEAD, &params![version]).await?;
    let values = params![name, version, pruned, documents, chunks, bytes, tombstones, created_ms, updated_ms];
    db.execute(SAVE, &values).await.map(drop)
}

/// The newest version of all namespaces.
pub(super) async fn newest_version(db: &mut Conn<'_>) -> Result<i64> {
    let head = db.one(HEAD, &[]).await?;
    head.ok_or_else(|| StoreError::failed("the newest version of search documents is missing from the database"))
}

/// Counts are sums of what fits into the database, so no real one is beyond BIGINT.
pub(super) fn to_column(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
