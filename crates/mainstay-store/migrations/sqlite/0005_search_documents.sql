-- Documents that agents put into named namespaces, to be searched. See src/operations/search.
-- The newest version of all namespaces. One counter for all, so that a namespace that is deleted and made again never
-- uses a version that a replica has seen.
CREATE TABLE search_head (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    version INTEGER NOT NULL
) STRICT;
INSERT INTO search_head (id, version) VALUES (1, 0);

CREATE TABLE search_namespace (
    name TEXT PRIMARY KEY,
    -- Of its newest change.
    version INTEGER NOT NULL,
    -- Changes up to this version are no longer listed one by one: deletions among them are forgotten.
    pruned INTEGER NOT NULL,
    -- Sums over its documents, so that limits are checked without reading them.
    documents INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    tombstones INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL
) STRICT;

-- A deleted document stays as a tombstone, without its text, so that replicas learn of the deletion.
CREATE TABLE search_document (
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    path TEXT NOT NULL,
    -- NULL in a tombstone, as are `prepared` and `versions`.
    text TEXT,
    tags TEXT NOT NULL, -- JSON
    etag TEXT NOT NULL,
    -- What the index needs of the document, in a format of its own, and by which versions of what it was made.
    prepared BLOB,
    versions BLOB,
    chunks INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    -- PostgreSQL only: here it is always NULL. The column exists so that both engines run the same statements.
    pending_chunks TEXT,
    PRIMARY KEY (namespace, id)
) STRICT;
CREATE UNIQUE INDEX search_document_version ON search_document (namespace, version);
CREATE INDEX search_document_tombstone ON search_document (namespace, version) WHERE text IS NULL;
