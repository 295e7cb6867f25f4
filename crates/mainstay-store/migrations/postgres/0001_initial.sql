-- The rows of the audit log that were committed together: a JSON array with a row on each line, of which the first has
-- the number `first_seq`. See src/audit/page.rs.
CREATE TABLE audit_page (
    first_seq BIGINT PRIMARY KEY,
    entries TEXT NOT NULL
);

-- The newest row, apart from the rows, so that a missing end is noticed.
CREATE TABLE audit_head (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    seq BIGINT NOT NULL,
    hash BYTEA NOT NULL
);
INSERT INTO audit_head (id, seq, hash) VALUES (1, 0, decode(repeat('00', 32), 'hex'));

-- Which sessions and principals occur in a block of rows. See src/audit/index.rs.
CREATE TABLE audit_index (
    first_seq BIGINT PRIMARY KEY,
    marks BYTEA NOT NULL
);

-- The audit log for operators: one row for each.
-- PostgreSQL cannot show a NUL character in a text, so one is shown as the replacement character.
CREATE VIEW audit AS SELECT
    page.first_seq + entry.ordinality - 1 AS seq,
    CAST(entry.value -> 0 ->> 0 AS BIGINT) AS at_ms,
    entry.value -> 0 ->> 1 AS phase,
    entry.value -> 0 ->> 2 AS request_id,
    entry.value -> 0 ->> 3 AS principal,
    entry.value -> 0 ->> 4 AS session,
    entry.value -> 0 ->> 5 AS ip,
    entry.value -> 0 ->> 6 AS target,
    entry.value -> 0 ->> 7 AS effect,
    entry.value -> 0 ->> 8 AS args_digest,
    entry.value -> 0 ->> 9 AS outcome,
    CAST(entry.value -> 0 ->> 10 AS BIGINT) AS duration_us,
    entry.value ->> 1 AS hash
FROM audit_page AS page,
    json_array_elements(CAST(replace(page.entries, '\u0000', '\ufffd') AS JSON))
    WITH ORDINALITY AS entry (value, ordinality);

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
    arguments TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'used')),
    decided_by TEXT,
    reason TEXT,
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

-- The keys that access tokens are signed with: one in use, and those before it until their tokens have expired.
CREATE TABLE signing_key (
    id TEXT PRIMARY KEY,
    pkcs8 BYTEA NOT NULL,
    created_ms BIGINT NOT NULL,
    -- NULL for the one in use.
    expires_ms BIGINT
);

-- The events that were written together: a JSON array, of which the first has the number `first_seq`.
CREATE TABLE feed (
    first_seq BIGINT PRIMARY KEY,
    last_seq BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    events TEXT NOT NULL
);
CREATE INDEX feed_last ON feed (last_seq);

-- `floor`: events up to this number are deleted or were never recorded. `listened_ms`: when a client last listened.
CREATE TABLE feed_head (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    seq BIGINT NOT NULL,
    floor BIGINT NOT NULL,
    listened_ms BIGINT NOT NULL
);
INSERT INTO feed_head (id, seq, floor, listened_ms) VALUES (1, 0, 0, 0);

-- What the agents of a team share. Times are milliseconds since 1970. A number is never used twice, whatever is
-- deleted, because readers continue after the last one they have.
-- Names by which lists are sorted compare byte by byte, as on SQLite.
CREATE TABLE activities (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    agent TEXT NOT NULL,
    timestamp BIGINT NOT NULL,
    activity TEXT NOT NULL,
    category TEXT NOT NULL CHECK (category IN ('task', 'communication', 'decision', 'error')),
    status TEXT CHECK (status IN ('started', 'in_progress', 'completed', 'failed')),
    details TEXT -- JSON
);
CREATE INDEX activities_agent ON activities (agent, id);
CREATE INDEX activities_category ON activities (category, id);
CREATE INDEX activities_status ON activities (status, id);

CREATE TABLE agent_states (
    agent TEXT COLLATE "C" PRIMARY KEY,
    last_seen BIGINT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('active', 'idle', 'busy', 'offline')),
    current_task TEXT,
    capabilities TEXT NOT NULL DEFAULT '[]', -- JSON
    metadata TEXT NOT NULL DEFAULT '{}' -- JSON
);

CREATE TABLE components (
    name TEXT COLLATE "C" PRIMARY KEY,
    owner TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('active', 'inactive', 'deprecated')),
    last_updated BIGINT NOT NULL,
    metadata TEXT NOT NULL DEFAULT '{}' -- JSON
);
CREATE INDEX components_owner ON components (owner, name);

CREATE TABLE conflicts (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    agents TEXT NOT NULL, -- JSON, sorted
    component TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('component', 'route', 'schema', 'file')),
    severity TEXT NOT NULL CHECK (severity IN ('medium', 'high', 'critical')),
    resolved BIGINT NOT NULL DEFAULT 0,
    resolution TEXT,
    created_at BIGINT NOT NULL,
    resolved_at BIGINT
);
CREATE INDEX conflicts_open ON conflicts (resolved, id);
CREATE INDEX conflicts_component ON conflicts (component) WHERE resolved = 0;

CREATE TABLE collaborations (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    from_agent TEXT NOT NULL,
    to_agent TEXT NOT NULL,
    task TEXT NOT NULL,
    priority TEXT NOT NULL CHECK (priority IN ('low', 'medium', 'high', 'critical')),
    status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'accepted', 'declined', 'completed')),
    note TEXT,
    created_at BIGINT NOT NULL,
    answered_at BIGINT
);
CREATE INDEX collaborations_from ON collaborations (from_agent, id);
CREATE INDEX collaborations_to ON collaborations (to_agent, id);
CREATE INDEX collaborations_status ON collaborations (status, id);

CREATE TABLE decisions (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    category TEXT NOT NULL,
    question TEXT NOT NULL,
    proposed_by TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'accepted', 'rejected', 'withdrawn')),
    timestamp BIGINT NOT NULL,
    metadata TEXT NOT NULL DEFAULT '{}', -- JSON
    votes TEXT NOT NULL DEFAULT '{}', -- JSON: a vote for each agent
    resolution TEXT,
    resolved_at BIGINT
);
CREATE INDEX decisions_status ON decisions (status, id);
