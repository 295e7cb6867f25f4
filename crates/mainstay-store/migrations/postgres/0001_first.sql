-- One row per group of audit rows that were committed together. `entries` holds each row's canonical bytes and its
-- hash, one after the other; see src/ledger/page.rs.
CREATE TABLE audit (
    first_seq BIGINT PRIMARY KEY,
    entries BYTEA NOT NULL
);

CREATE TABLE audit_head (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    seq BIGINT NOT NULL,
    hash BYTEA NOT NULL
);
INSERT INTO audit_head (id, seq, hash) VALUES (1, 0, decode(repeat('00', 32), 'hex'));

-- Which sessions and principals occur in a block of audit rows; see src/ledger/sightings.rs.
CREATE TABLE audit_seen (
    first_seq BIGINT PRIMARY KEY,
    marks BYTEA NOT NULL
);

CREATE TABLE session (
    id TEXT PRIMARY KEY,
    principal TEXT NOT NULL,
    dialect TEXT NOT NULL,
    state TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL
);
CREATE INDEX session_expiry ON session (expires_ms);
CREATE INDEX session_principal ON session (principal, expires_ms);

CREATE TABLE idempotency (
    principal TEXT NOT NULL,
    key TEXT NOT NULL,
    target TEXT NOT NULL,
    args_digest TEXT NOT NULL,
    outcome TEXT,
    since_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL,
    PRIMARY KEY (principal, key)
);
CREATE INDEX idempotency_expiry ON idempotency (expires_ms);

CREATE TABLE consent (
    id TEXT PRIMARY KEY,
    principal TEXT NOT NULL,
    target TEXT NOT NULL,
    args_digest TEXT NOT NULL,
    policy TEXT NOT NULL,
    summary TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'used')),
    decided_by TEXT,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL
);
CREATE INDEX consent_binding ON consent (args_digest, principal, target);
CREATE INDEX consent_pending ON consent (created_ms, id) WHERE state = 'pending';
CREATE INDEX consent_expiry ON consent (expires_ms);

CREATE TABLE nonce (
    nonce TEXT PRIMARY KEY,
    expires_ms BIGINT NOT NULL
);
CREATE INDEX nonce_expiry ON nonce (expires_ms);

CREATE TABLE oauth_client (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    disabled BIGINT NOT NULL
);

CREATE TABLE oauth_refresh (
    hash TEXT PRIMARY KEY,
    family TEXT NOT NULL,
    client TEXT NOT NULL,
    subject TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL,
    spent BIGINT NOT NULL DEFAULT 0,
    revoked BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX oauth_refresh_family ON oauth_refresh (family);
CREATE INDEX oauth_refresh_client ON oauth_refresh (client);
CREATE INDEX oauth_refresh_expiry ON oauth_refresh (expires_ms);

CREATE TABLE oauth_revoked (
    jti TEXT PRIMARY KEY,
    expires_ms BIGINT NOT NULL
);
CREATE INDEX oauth_revoked_expiry ON oauth_revoked (expires_ms);

CREATE TABLE secret (
    name TEXT PRIMARY KEY,
    value BYTEA NOT NULL
);
