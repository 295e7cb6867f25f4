//! Reading documents: what changed since a version, and those with certain ids.

use std::collections::HashMap;

use super::ids::{to_json, with_ids};
use super::{SearchChange, SearchDocuments, SearchNamespace, StoredSearchDocument, namespaces};
use crate::Result;
use crate::sql::{Conn, params};

/// A page of changes ends with the document that exceeds this, so that a replica that reads a large namespace has only
/// so much of it in memory twice.
const PAGE_BYTES: i64 = 16 << 20;

/// Begins a statement that reads documents, with their columns in the order in which they are read.
macro_rules! select_document {
    () => {
        "SELECT id, version, path, text, tags, etag, prepared, versions, chunks, updated_ms FROM search_document "
    };
}

// The inner query has a limit of its own: the sums are those of one page and not of everything that is to follow.
/// Not `LIKE`, which ignores case on SQLite and has signs of its own.
const WITH_PREFIX: &str = "SELECT id FROM search_document WHERE namespace = $1 AND text IS NOT NULL \
     AND substr(path, 1, length($2)) = $2 ORDER BY id";
const AFTER: &str = concat!(
    select_document!(),
    "WHERE namespace = $1 AND version > $2 AND version <= (SELECT MAX(version) FROM \
     (SELECT version, SUM(bytes) OVER (ORDER BY version) - bytes AS bytes_before FROM \
     (SELECT version, bytes FROM search_document WHERE namespace = $1 AND version > $2 ORDER BY version LIMIT $3) \
     AS page) AS sized WHERE bytes_before < $4) ORDER BY version"
);

/// The changes of a namespace since a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchChanges {
    /// There is no such namespace: a replica forgets what it has of it.
    NoNamespace,
    /// Deletions since the version are no longer known, or the namespace was made anew: a replica forgets what it has,
    /// and reads from version 0.
    Restart,
    /// The oldest changes since the version. The replica is up to date once it has read the namespace's version.
    Page { namespace: SearchNamespace, changes: Vec<SearchChange> },
}

impl SearchDocuments<'_> {
    /// The changes after a version, oldest first, each document once: at most `limit`, and at least one, if there is
    /// one, but not more after about 16 MiB. Version 0 lists everything.
    ///
    /// Namespace and changes are of one moment: otherwise a replica could take the changes of a namespace that was
    /// deleted and made again meanwhile for those of the one it knows, and keep documents that are gone.
    pub async fn changes(self, namespace: &str, after_version: i64, limit: u32) -> Result<SearchChanges> {
        let mut snapshot = self.0.readers.snapshot().await?;
        let mut db = snapshot.conn();
        let Some(namespace) = namespaces::find(&mut db, namespace).await? else {
            return Ok(SearchChanges::NoNamespace);
        };
        if after_version != 0 && after_version < namespace.pruned {
            return Ok(SearchChanges::Restart);
        }
        let changes = db.all(AFTER, &params![namespace.name, after_version, limit.max(1), PAGE_BYTES]).await?;
        Ok(SearchChanges::Page { namespace, changes })
    }

    /// The documents with these ids, in this order; those that do not exist are left out.
    pub async fn documents(self, namespace: &str, ids: &[String]) -> Result<Vec<StoredSearchDocument>> {
        find(&mut self.0.readers.acquire().await?.conn(), namespace, ids).await
    }
}

impl SearchDocuments<'_> {
    /// The ids of the documents whose paths begin with this text.
    pub async fn ids_with_prefix(self, namespace: &str, prefix: &str) -> Result<Vec<String>> {
        self.0.readers.all(WITH_PREFIX, &params![namespace, prefix]).await
    }
}

/// The documents with these ids, in this order.
pub(super) async fn find(db: &mut Conn<'_>, namespace: &str, ids: &[String]) -> Result<Vec<StoredSearchDocument>> {
    let sql = with_ids!(db.engine(), select_document!(), "WHERE namespace = $1 AND text IS NOT NULL AND");
    let found: Vec<SearchChange> = db.all(sql, &params![namespace, to_json(ids)?]).await?;
    let mut by_id: HashMap<String, StoredSearchDocument> =
        found.into_iter().filter_map(|change| change.document.map(|document| (change.id, document))).collect();
    Ok(ids.iter().filter_map(|id| by_id.remove(id)).collect())
}
