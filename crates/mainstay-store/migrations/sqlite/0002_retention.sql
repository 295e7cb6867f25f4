-- Blocks of audit rows that were moved to files, oldest first. `hash` is that of row `last_seq`, so the chain goes on
-- after it. See src/audit/segment.rs.
CREATE TABLE audit_segment (
    last_seq INTEGER PRIMARY KEY,
    first_seq INTEGER NOT NULL,
    hash BLOB NOT NULL,
    newest_ms INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    -- 1 once retention has deleted the file: the chain that can be checked begins after this row.
    removed INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Parts of a limit that a replica has taken for itself, counted until they expire.
CREATE TABLE limit_lease (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    counter TEXT NOT NULL,
    units INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX limit_lease_counter ON limit_lease (counter, expires_ms);
CREATE INDEX limit_lease_expiry ON limit_lease (expires_ms);
