-- The keys that access tokens are signed with: one in use, and those before it for as long as tokens of theirs are about.
CREATE TABLE signing_key (
    id TEXT PRIMARY KEY,
    pkcs8 BLOB NOT NULL,
    created_ms INTEGER NOT NULL,
    -- NULL for the one in use.
    expires_ms INTEGER
) STRICT;
