-- Blocks of audit rows that were moved to files, oldest first. `hash` is that of row `last_seq`, so the chain goes on
-- after it. See src/audit/segment.rs.
CREATE TABLE audit_segment (
    last_seq BIGINT PRIMARY KEY,
    first_seq BIGINT NOT NULL,
    hash BYTEA NOT NULL,
    newest_ms BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    -- 1 once retention has deleted the file: the chain that can be checked begins after this row.
    removed BIGINT NOT NULL DEFAULT 0
);

-- Parts of a limit that a replica has taken for itself, counted until they expire.
CREATE TABLE limit_lease (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    counter TEXT NOT NULL,
    units BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL
);
CREATE INDEX limit_lease_counter ON limit_lease (counter, expires_ms);
CREATE INDEX limit_lease_expiry ON limit_lease (expires_ms);
