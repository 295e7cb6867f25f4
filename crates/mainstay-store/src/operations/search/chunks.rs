//! Chunks as rows that PostgreSQL can search. They need pgvector, which not every database has.
//!
//! The table is made when namespaces are first used, if the extension is there or may be created. Until then the chunks
//! of a document wait in its own row, as JSON (`pending_chunks`), and are moved before the first search of their
//! namespace: so pgvector can be installed later, and nobody has to put documents again. All of this runs in the one
//! transaction of all replicas that writes, so no two of them make the table, and none can add pending chunks once
//! another has made it.

use serde::Serialize;

use super::{Database, SearchChunk};
use crate::sql::{Conn, Engine, params};
use crate::writer::transaction;
use crate::{Result, StoreError};

/// The most dimensions that a vector may have, which is what pgvector can store.
pub const MAX_DIMENSIONS: usize = 16_000;

/// Words are cut to this length, in chunks and queries alike. PostgreSQL can index up to 2,046 bytes; no word that
/// somebody searches for is nearly as long.
const WORD_BYTES: usize = 255;

/// Words of a chunk that are indexed. PostgreSQL addresses them within 1 MiB; a chunk is a fraction of that.
const CHUNK_WORD_BYTES: usize = 512 << 10;

/// Documents whose pending chunks are moved in one transaction, so that other writes do not wait for long.
const MOVED_AT_ONCE: i64 = 16;

const CREATE: &str = include_str!("../../../migrations/postgres/search_chunk.sql");
const HAS_TABLE: &str = "SELECT CAST(CASE WHEN to_regclass('search_chunk') IS NULL THEN 0 ELSE 1 END AS BIGINT)";
const DELETE_ALL: &str = "DELETE FROM search_chunk WHERE namespace = $1";
const DELETE: &str = "DELETE FROM search_chunk WHERE namespace = $1 AND document = $2";
const INSERT: &str = "INSERT INTO search_chunk (namespace, document, chunk, words, embedding) \
     SELECT $1, $2, entry.ordinality - 1, \
     array_to_tsvector(ARRAY(SELECT json_array_elements_text(entry.value -> 'words'))), \
     CAST(CAST(entry.value -> 'vector' AS TEXT) AS vector) \
     FROM json_array_elements(CAST($3 AS json)) WITH ORDINALITY AS entry (value, ordinality)";
const HAS_PENDING: &str =
    "SELECT CAST(1 AS BIGINT) FROM search_document WHERE namespace = $1 AND pending_chunks IS NOT NULL LIMIT 1";
const PENDING: &str = "SELECT id, pending_chunks FROM search_document \
     WHERE namespace = $1 AND pending_chunks IS NOT NULL ORDER BY id LIMIT $2";
const CLEAR_PENDING: &str = "UPDATE search_document SET pending_chunks = NULL WHERE namespace = $1 AND id = $2";

/// A chunk as [`INSERT`] reads it.
#[derive(Serialize)]
struct EncodedChunk<'c> {
    words: Vec<&'c str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vector: Option<&'c [f32]>,
}

/// The chunks as JSON; `None` on SQLite, which has no use for them. What PostgreSQL would reject is rejected on both.
pub(super) fn encode(chunks: &[SearchChunk], engine: Engine) -> Result<Option<String>> {
    let encoded: Vec<EncodedChunk<'_>> = chunks
        .iter()
        .map(|chunk| Ok(EncodedChunk { words: indexed_words(&chunk.words)?, vector: comparable(&chunk.vector)? }))
        .collect::<Result<_>>()?;
    match engine {
        Engine::Sqlite => Ok(None),
        Engine::Postgres => serde_json::to_string(&encoded).map(Some).map_err(StoreError::failed),
    }
}

fn indexed_words(words: &[String]) -> Result<Vec<&str>> {
    let mut room = CHUNK_WORD_BYTES;
    let mut indexed = Vec::with_capacity(words.len());
    for word in words.iter().map(|word| lexeme(word)).filter(|word| !word.is_empty()) {
        if word.contains('\0') {
            return Err(StoreError::Nul);
        }
        let Some(rest) = room.checked_sub(word.len()) else { break };
        room = rest;
        indexed.push(word);
    }
    Ok(indexed)
}

/// The word as it is indexed: its first bytes, in whole characters.
pub(super) fn lexeme(word: &str) -> &str {
    &word[..word.floor_char_boundary(WORD_BYTES)]
}

/// The vector, if it can be compared with others: one without dimensions or direction cannot.
pub(super) fn comparable(vector: &[f32]) -> Result<Option<&[f32]>> {
    if vector.len() > MAX_DIMENSIONS || vector.iter().any(|value| !value.is_finite()) {
        return Err(StoreError::InvalidVector);
    }
    Ok(Some(vector).filter(|vector| vector.iter().any(|value| *value != 0.0)))
}

/// Makes the table, once for each store, if it does not exist and can be made.
pub(super) async fn set_up(database: &Database) -> Result<()> {
    if database.readers.engine() == Engine::Sqlite {
        return Ok(());
    }
    let set_up = || async {
        if has_table(&mut database.readers.acquire().await?.conn()).await? {
            return Ok(());
        }
        if let Err(reason) = transaction!(database.writer, (), |db, ()| { create(db).await })? {
            tracing::warn!(
                %reason,
                "the database cannot search documents of namespaces itself, because it has no pgvector: \
                 install pgvector on the database server, run CREATE EXTENSION vector in this database as its \
                 administrator, and restart"
            );
        }
        Ok(())
    };
    database.search_chunks.get_or_try_init(set_up).await.map(drop)
}

/// The inner error is why the table cannot be made, which leaves the transaction as it was.
async fn create(db: &mut Conn<'_>) -> Result<Result<(), StoreError>> {
    if has_table(db).await? {
        return Ok(Ok(()));
    }
    db.script("SAVEPOINT search_chunk").await?;
    let created = db.script(CREATE).await;
    if created.is_err() {
        // Fails if not the statements but the connection is the reason.
        db.script("ROLLBACK TO SAVEPOINT search_chunk").await?;
    }
    db.script("RELEASE SAVEPOINT search_chunk").await?;
    Ok(created)
}

/// Whether chunks are rows here. Asked in every transaction that writes them: another replica may have made the table.
pub(super) async fn has_table(db: &mut Conn<'_>) -> Result<bool> {
    match db.engine() {
        Engine::Sqlite => Ok(false),
        Engine::Postgres => db.one(HAS_TABLE, &[]).await.map(Option::unwrap_or_default),
    }
}

/// Stores the encoded chunks of a document that has none.
pub(super) async fn insert(db: &mut Conn<'_>, namespace: &str, document: &str, encoded: &str) -> Result<()> {
    db.execute(INSERT, &params![namespace, document, encoded]).await.map(drop)
}

/// Deletes the chunks of a document. The table has to exist.
pub(super) async fn delete(db: &mut Conn<'_>, namespace: &str, document: &str) -> Result<()> {
    db.execute(DELETE, &params![namespace, document]).await.map(drop)
}

/// Deletes the chunks of a namespace.
pub(super) async fn delete_all(db: &mut Conn<'_>, namespace: &str) -> Result<()> {
    if has_table(db).await? { db.execute(DELETE_ALL, &params![namespace]).await.map(drop) } else { Ok(()) }
}

/// Moves the pending chunks of a namespace to the table. If the caller goes away, the rest is moved the next time.
pub(super) async fn move_pending(database: &Database, namespace: &str) -> Result<()> {
    while database.readers.one::<i64>(HAS_PENDING, &params![namespace]).await?.is_some() {
        transaction!(database.writer, namespace.to_owned(), |db, namespace| {
            let pending: Vec<(String, String)> = db.all(PENDING, &params![namespace, MOVED_AT_ONCE]).await?;
            for (document, encoded) in pending {
                insert(db, namespace, &document, &encoded).await?;
                db.execute(CLEAR_PENDING, &params![namespace, document]).await?;
            }
            Ok(())
        })?;
    }
    Ok(())
}
