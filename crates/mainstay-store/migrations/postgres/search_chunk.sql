-- Not a numbered migration: it is applied when namespaces are first used and pgvector is there, see
-- src/operations/search/chunks.rs. Where it cannot be applied, everything but the search for candidates works.
CREATE EXTENSION IF NOT EXISTS vector;

-- The chunks of search documents, as PostgreSQL searches them.
CREATE TABLE search_chunk (
    namespace TEXT NOT NULL,
    document TEXT NOT NULL,
    chunk BIGINT NOT NULL,
    words tsvector NOT NULL,
    -- NULL if the chunk has none. Any number of dimensions.
    embedding vector,
    PRIMARY KEY (namespace, document, chunk)
);
-- Kept in the row, which every search by vector reads; words leave it first, because their index has them.
ALTER TABLE search_chunk ALTER COLUMN embedding SET STORAGE MAIN;
CREATE INDEX search_chunk_words ON search_chunk USING gin (words);
