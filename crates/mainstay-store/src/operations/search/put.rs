//! Storing documents: all of a put or nothing.

use std::collections::{HashMap, HashSet};

use super::ids::{to_json, with_ids};
use super::namespaces::{self, to_column};
use super::{NewSearchDocument, PutOutcome, SearchDocuments, SearchLimit, SearchLimits, SearchNamespace, chunks};
use crate::sql::{Conn, Engine, from_columns, params};
use crate::writer::transaction;
use crate::{Result, StoreError, WriteMode};

/// The longest name of a namespace and the longest id. Together they are a key of PostgreSQL, whose index cannot have
/// entries beyond 2,704 bytes.
pub const MAX_NAME_BYTES: usize = 1024;

const UPSERT: &str = "INSERT INTO search_document (namespace, id, version, path, text, tags, etag, prepared, versions, \
     chunks, bytes, updated_ms, pending_chunks) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) \
     ON CONFLICT (namespace, id) DO UPDATE SET version = excluded.version, path = excluded.path, text = excluded.text, \
     tags = excluded.tags, etag = excluded.etag, prepared = excluded.prepared, versions = excluded.versions, \
     chunks = excluded.chunks, bytes = excluded.bytes, updated_ms = excluded.updated_ms, \
     pending_chunks = excluded.pending_chunks";

/// A put, ready to be written.
struct Put {
    namespace: String,
    documents: Vec<EncodedDocument>,
    limits: SearchLimits,
    now_ms: i64,
}

/// A document with those of its columns that are encoded. Encoded before the transaction, which others wait for.
struct EncodedDocument {
    document: NewSearchDocument,
    tags: String,
    bytes: u64,
    /// `None` on SQLite.
    chunks: Option<String>,
}

/// What is stored of a document that is put again.
struct Known {
    id: String,
    etag: String,
    path: String,
    tags: String,
    versions: Option<Vec<u8>>,
    chunks: i64,
    bytes: i64,
    is_tombstone: bool,
}

from_columns!(Known { id, etag, path, tags, versions, chunks, bytes, is_tombstone });

impl Known {
    /// Whether the document is stored already, exactly so.
    fn is_same(&self, new: &EncodedDocument) -> bool {
        !self.is_tombstone
            && self.etag == new.document.etag
            && self.path == new.document.path
            && self.tags == new.tags
            && self.versions.as_ref() == Some(&new.document.versions)
    }
}

impl SearchDocuments<'_> {
    /// Stores documents in a namespace, which is created if there is none; of several with one id the last counts.
    ///
    /// Fails with [`StoreError::InvalidVector`] before anything is written.
    pub async fn put(
        self,
        namespace: &str,
        documents: Vec<NewSearchDocument>,
        limits: SearchLimits,
        now_ms: i64,
        mode: WriteMode,
    ) -> Result<PutOutcome> {
        let names = std::iter::once(namespace).chain(documents.iter().map(|document| document.id.as_str()));
        if let Some(name) = names.into_iter().find(|name| name.len() > MAX_NAME_BYTES) {
            return Ok(PutOutcome::NameTooLong { name: name.to_owned() });
        }
        chunks::set_up(self.0).await?;
        let engine = self.0.readers.engine();
        let encoded = last_of_each_id(documents).into_iter().map(|document| encode(document, engine));
        let put = Put { namespace: namespace.to_owned(), documents: encoded.collect::<Result<_>>()?, limits, now_ms };
        transaction!(self.0.writer, mode, put, |db, put| { write(db, put).await })
    }
}

/// Keeps the order of those that are left.
fn last_of_each_id(mut documents: Vec<NewSearchDocument>) -> Vec<NewSearchDocument> {
    let mut seen = HashSet::new();
    documents.reverse();
    documents.retain(|document| seen.insert(document.id.clone()));
    documents.reverse();
    documents
}

fn encode(document: NewSearchDocument, engine: Engine) -> Result<EncodedDocument> {
    let tags = serde_json::to_string(&document.tags).map_err(StoreError::failed)?;
    let NewSearchDocument { id, path, text, etag, prepared, versions, .. } = &document;
    let texts = [id, path, text, etag, &tags].map(String::len).into_iter().sum::<usize>();
    let bytes = (texts + prepared.len() + versions.len()) as u64;
    let chunks = chunks::encode(&document.chunks, engine)?;
    Ok(EncodedDocument { document, tags, bytes, chunks })
}

async fn write(db: &mut Conn<'_>, put: &Put) -> Result<PutOutcome> {
    let before = namespaces::find(db, &put.namespace).await?;
    let known = find_known(db, put).await?;
    let is_changed = |new: &&EncodedDocument| !known.get(&new.document.id).is_some_and(|known| known.is_same(new));
    let changed: Vec<&EncodedDocument> = put.documents.iter().filter(is_changed).collect();
    let mut after = before.clone().unwrap_or_else(|| namespaces::new(&put.namespace, put.now_ms));
    let mut added = 0;
    for new in &changed {
        added += u64::from(count_change(&mut after, new, known.get(&new.document.id)));
    }
    if let Some(refused) = check_limits(db, put.limits, before.as_ref(), &after).await? {
        return Ok(refused);
    }
    if before.is_none() || !changed.is_empty() {
        let mut version = namespaces::newest_version(db).await?;
        if before.is_none() {
            // Beyond everything that a replica has seen of an earlier namespace with this name.
            version += 1;
            after.pruned = version;
        }
        let has_chunks = chunks::has_table(db).await?;
        for new in &changed {
            version += 1;
            write_document(db, put, new, version, has_chunks).await?;
        }
        (after.version, after.updated_ms) = (version, put.now_ms);
        namespaces::save(db, &after).await?;
    }
    let replaced = changed.len() as u64 - added;
    let unchanged = (put.documents.len() - changed.len()) as u64;
    Ok(PutOutcome::Stored { version: after.version, added, replaced, unchanged })
}

/// What is stored under the ids of a put, tombstones included.
async fn find_known(db: &mut Conn<'_>, put: &Put) -> Result<HashMap<String, Known>> {
    let ids: Vec<&str> = put.documents.iter().map(|new| new.document.id.as_str()).collect();
    let sql = with_ids!(
        db.engine(),
        "SELECT id, etag, path, tags, versions, chunks, bytes, \
         CAST(CASE WHEN text IS NULL THEN 1 ELSE 0 END AS BIGINT) FROM search_document WHERE namespace = $1 AND"
    );
    let known: Vec<Known> = db.all(sql, &params![put.namespace, to_json(&ids)?]).await?;
    Ok(known.into_iter().map(|known| (known.id.clone(), known)).collect())
}

/// Adds a document to the sums of its namespace, in place of what is stored under its id; says whether it is new.
fn count_change(sums: &mut SearchNamespace, new: &EncodedDocument, known: Option<&Known>) -> bool {
    let is_added = known.is_none_or(|known| known.is_tombstone);
    if let Some(known) = known {
        sums.tombstones -= u64::from(known.is_tombstone);
        sums.bytes = sums.bytes.saturating_sub(known.bytes.unsigned_abs());
        sums.chunks = sums.chunks.saturating_sub(known.chunks.unsigned_abs());
    }
    sums.documents += u64::from(is_added);
    sums.bytes += new.bytes;
    sums.chunks += new.document.chunks.len() as u64;
    is_added
}

/// The limit that the put would exceed. What exceeds a limit already, because the limit was lowered, may shrink.
async fn check_limits(
    db: &mut Conn<'_>,
    limits: SearchLimits,
    before: Option<&SearchNamespace>,
    after: &SearchNamespace,
) -> Result<Option<PutOutcome>> {
    let (documents, bytes) = before.map_or((0, 0), |before| (before.documents, before.bytes));
    let namespaces = namespaces::count(db).await?;
    let sums = [
        (SearchLimit::Namespaces, limits.namespaces, namespaces, namespaces + u64::from(before.is_none())),
        (SearchLimit::Documents, limits.documents, documents, after.documents),
        (SearchLimit::Bytes, limits.bytes, bytes, after.bytes),
    ];
    let exceeded = sums.into_iter().find(|(_, most, before, after)| after > most && after > before);
    Ok(exceeded.map(|(limit, most, _, needed)| PutOutcome::OverLimit { limit, most, needed }))
}

async fn write_document(
    db: &mut Conn<'_>,
    put: &Put,
    new: &EncodedDocument,
    version: i64,
    has_chunks: bool,
) -> Result<()> {
    let NewSearchDocument { id, path, text, etag, prepared, versions, chunks, .. } = &new.document;
    let count = to_column(chunks.len() as u64);
    let pending = if has_chunks { None } else { new.chunks.clone() };
    let values = params![
        put.namespace,
        id,
        version,
        path,
        text,
        new.tags,
        etag,
        prepared,
        versions,
        count,
        to_column(new.bytes),
        put.now_ms,
        pending
    ];
    db.execute(UPSERT, &values).await?;
    let Some(encoded) = new.chunks.as_ref().filter(|_| has_chunks) else { return Ok(()) };
    chunks::delete(db, &put.namespace, id).await?;
    chunks::insert(db, &put.namespace, id, encoded).await
}
