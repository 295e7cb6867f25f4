//! Deleting documents, and forgetting deletions that are long past.

use std::collections::{HashMap, HashSet};

use super::ids::{to_json, with_ids};
use super::{DeleteOutcome, SearchDocuments, SearchNamespace, chunks, namespaces};
use crate::sql::{Conn, params};
use crate::writer::transaction;
use crate::{Result, WriteMode};

/// Tombstones kept of one namespace. A replica that has missed more deletions than this reads the namespace anew.
const MAX_TOMBSTONES: u64 = 10_000;

const MAKE_TOMBSTONE: &str = "UPDATE search_document SET version = $3, updated_ms = $4, path = '', text = NULL, \
     tags = '[]', etag = '', prepared = NULL, versions = NULL, chunks = 0, bytes = 0, pending_chunks = NULL \
     WHERE namespace = $1 AND id = $2";
const NTH_TOMBSTONE: &str = "SELECT version FROM search_document WHERE namespace = $1 AND text IS NULL \
     ORDER BY version LIMIT 1 OFFSET $2";
const DELETE_TOMBSTONES: &str = "DELETE FROM search_document WHERE namespace = $1 AND text IS NULL AND version <= $2";

impl SearchDocuments<'_> {
    /// Deletes documents of a namespace. Each deletion has a version of its own, as every change.
    pub async fn delete(
        self,
        namespace: &str,
        ids: Vec<String>,
        now_ms: i64,
        mode: WriteMode,
    ) -> Result<DeleteOutcome> {
        let mut seen = HashSet::new();
        let ids: Vec<String> = ids.into_iter().filter(|id| seen.insert(id.clone())).collect();
        transaction!(self.0.writer, mode, (namespace.to_owned(), ids, now_ms), |db, (namespace, ids, now_ms)| {
            match namespaces::find(db, namespace).await? {
                Some(namespace) => delete(db, namespace, ids, *now_ms).await,
                None => Ok(DeleteOutcome { version: 0, deleted: Vec::new(), missing: ids.clone() }),
            }
        })
    }
}

async fn delete(
    db: &mut Conn<'_>,
    mut namespace: SearchNamespace,
    ids: &[String],
    now_ms: i64,
) -> Result<DeleteOutcome> {
    let sql = with_ids!(
        db.engine(),
        "SELECT id, chunks, bytes FROM search_document WHERE namespace = $1 AND text IS NOT NULL AND"
    );
    let found: Vec<(String, i64, i64)> = db.all(sql, &params![namespace.name, to_json(ids)?]).await?;
    let sizes: HashMap<String, (i64, i64)> =
        found.into_iter().map(|(id, chunks, bytes)| (id, (chunks, bytes))).collect();
    let (deleted, missing): (Vec<String>, Vec<String>) = ids.iter().cloned().partition(|id| sizes.contains_key(id));
    if deleted.is_empty() {
        return Ok(DeleteOutcome { version: namespace.version, deleted, missing });
    }
    let mut version = namespaces::newest_version(db).await?;
    let has_chunks = chunks::has_table(db).await?;
    for id in &deleted {
        version += 1;
        db.execute(MAKE_TOMBSTONE, &params![namespace.name, id, version, now_ms]).await?;
        if has_chunks {
            chunks::delete(db, &namespace.name, id).await?;
        }
    }
    for (chunks, bytes) in sizes.into_values() {
        namespace.chunks = namespace.chunks.saturating_sub(chunks.unsigned_abs());
        namespace.bytes = namespace.bytes.saturating_sub(bytes.unsigned_abs());
    }
    let count = deleted.len() as u64;
    namespace.documents = namespace.documents.saturating_sub(count);
    namespace.tombstones += count;
    (namespace.version, namespace.updated_ms) = (version, now_ms);
    prune(db, &mut namespace).await?;
    namespaces::save(db, &namespace).await?;
    Ok(DeleteOutcome { version, deleted, missing })
}

/// Deletes the oldest tombstones beyond those that are kept.
async fn prune(db: &mut Conn<'_>, namespace: &mut SearchNamespace) -> Result<()> {
    let Some(excess) = namespace.tombstones.checked_sub(MAX_TOMBSTONES + 1) else { return Ok(()) };
    let nth = params![namespace.name, namespaces::to_column(excess)];
    let Some(last) = db.one::<i64>(NTH_TOMBSTONE, &nth).await? else { return Ok(()) };
    let forgotten = db.execute(DELETE_TOMBSTONES, &params![namespace.name, last]).await?;
    namespace.tombstones = namespace.tombstones.saturating_sub(forgotten);
    namespace.pruned = namespace.pruned.max(last);
    Ok(())
}
