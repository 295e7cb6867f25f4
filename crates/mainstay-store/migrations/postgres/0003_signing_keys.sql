-- The keys that access tokens are signed with: one in use, and those before it for as long as tokens of theirs are about.
CREATE TABLE signing_key (
    id TEXT PRIMARY KEY,
    pkcs8 BYTEA NOT NULL,
    created_ms BIGINT NOT NULL,
    -- NULL for the one in use.
    expires_ms BIGINT
);
