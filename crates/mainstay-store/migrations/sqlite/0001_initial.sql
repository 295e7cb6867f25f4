-- The rows of the audit log that were committed together: a JSON array with a row on each line, of which the first has
-- the number `first_seq`. See src/audit/page.rs.
CREATE TABLE audit_page (
    first_seq INTEGER PRIMARY KEY,
    entries TEXT NOT NULL
) STRICT;

-- The newest row, apart from the rows, so that a missing end is noticed.
CREATE TABLE audit_head (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL
) STRICT;
INSERT INTO audit_head (id, seq, hash) VALUES (1, 0, zeroblob(32));

-- Which sessions and principals occur in a block of rows. See src/audit/index.rs.
CREATE TABLE audit_index (
    first_seq INTEGER PRIMARY KEY,
    marks BLOB NOT NULL
) STRICT;

-- The audit log for operators: one row for each.
CREATE VIEW audit AS SELECT
    page.first_seq + entry.key AS seq,
    json_extract(entry.value, '$[0][0]') AS at_ms,
    json_extract(entry.value, '$[0][1]') AS phase,
    json_extract(entry.value, '$[0][2]') AS request_id,
    json_extract(entry.value, '$[0][3]') AS principal,
    json_extract(entry.value, '$[0][4]') AS session,
    json_extract(entry.value, '$[0][5]') AS ip,
    json_extract(entry.value, '$[0][6]') AS target,
    json_extract(entry.value, '$[0][7]') AS effect,
    json_extract(entry.value, '$[0][8]') AS args_digest,
    json_extract(entry.value, '$[0][9]') AS outcome,
    json_extract(entry.value, '$[0][10]') AS duration_us,
    json_extract(entry.value, '$[1]') AS hash
FROM audit_page AS page, json_each(page.entries) AS entry;

CREATE TABLE session (
    id TEXT PRIMARY KEY,
    principal TEXT NOT NULL,
    dialect TEXT NOT NULL,
    state TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX session_expiry ON session (expires_ms);
CREATE INDEX session_principal ON session (principal, expires_ms);

CREATE TABLE idempotency (
    principal TEXT NOT NULL,
    key TEXT NOT NULL,
    target TEXT NOT NULL,
    args_digest TEXT NOT NULL,
    outcome TEXT,
    since_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    PRIMARY KEY (principal, key)
) STRICT;
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
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX consent_binding ON consent (args_digest, principal, target);
CREATE INDEX consent_pending ON consent (created_ms, id) WHERE state = 'pending';
CREATE INDEX consent_expiry ON consent (expires_ms);

CREATE TABLE nonce (
    nonce TEXT PRIMARY KEY,
    expires_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX nonce_expiry ON nonce (expires_ms);

CREATE TABLE oauth_client (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    disabled INTEGER NOT NULL
) STRICT;

CREATE TABLE oauth_refresh (
    hash TEXT PRIMARY KEY,
    family TEXT NOT NULL,
    client TEXT NOT NULL,
    subject TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    spent INTEGER NOT NULL DEFAULT 0,
    revoked INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX oauth_refresh_family ON oauth_refresh (family);
CREATE INDEX oauth_refresh_client ON oauth_refresh (client);
CREATE INDEX oauth_refresh_expiry ON oauth_refresh (expires_ms);

CREATE TABLE oauth_revoked (
    jti TEXT PRIMARY KEY,
    expires_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX oauth_revoked_expiry ON oauth_revoked (expires_ms);

CREATE TABLE secret (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;

-- The keys that access tokens are signed with: one in use, and those before it until their tokens have expired.
CREATE TABLE signing_key (
    id TEXT PRIMARY KEY,
    pkcs8 BLOB NOT NULL,
    created_ms INTEGER NOT NULL,
    -- NULL for the one in use.
    expires_ms INTEGER
) STRICT;

-- The events that were written together: a JSON array, of which the first has the number `first_seq`.
CREATE TABLE feed (
    first_seq INTEGER PRIMARY KEY,
    last_seq INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    events TEXT NOT NULL
) STRICT;
CREATE INDEX feed_last ON feed (last_seq);

-- `floor`: events up to this number are deleted or were never recorded. `listened_ms`: when a client last listened.
CREATE TABLE feed_head (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    seq INTEGER NOT NULL,
    floor INTEGER NOT NULL,
    listened_ms INTEGER NOT NULL
) STRICT;
INSERT INTO feed_head (id, seq, floor, listened_ms) VALUES (1, 0, 0, 0);

-- What the agents of a team share. Times are milliseconds since 1970. A number is never used twice, whatever is
-- deleted, because readers continue after the last one they have.
CREATE TABLE activities (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    agent TEXT NOT NULL,
    timestamp INTEGER NOT NULL,
    activity TEXT NOT NULL,
    category TEXT NOT NULL CHECK (category IN ('task', 'communication', 'decision', 'error')),
    status TEXT CHECK (status IN ('started', 'in_progress', 'completed', 'failed')),
    details TEXT -- JSON
) STRICT;
CREATE INDEX activities_agent ON activities (agent);
CREATE INDEX activities_category ON activities (category);
CREATE INDEX activities_status ON activities (status);

CREATE TABLE agent_states (
    agent TEXT PRIMARY KEY,
    last_seen INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('active', 'idle', 'busy', 'offline')),
    current_task TEXT,
    capabilities TEXT NOT NULL DEFAULT '[]', -- JSON
    metadata TEXT NOT NULL DEFAULT '{}' -- JSON
) STRICT, WITHOUT ROWID;

CREATE TABLE components (
    name TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('active', 'inactive', 'deprecated')),
    last_updated INTEGER NOT NULL,
    metadata TEXT NOT NULL DEFAULT '{}' -- JSON
) STRICT, WITHOUT ROWID;
CREATE INDEX components_owner ON components (owner, name);

CREATE TABLE conflicts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    agents TEXT NOT NULL, -- JSON, sorted
    component TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('component', 'route', 'schema', 'file')),
    severity TEXT NOT NULL CHECK (severity IN ('medium', 'high', 'critical')),
    resolved INTEGER NOT NULL DEFAULT 0,
    resolution TEXT,
    created_at INTEGER NOT NULL,
    resolved_at INTEGER
) STRICT;
CREATE INDEX conflicts_open ON conflicts (resolved);
CREATE INDEX conflicts_component ON conflicts (component) WHERE resolved = 0;

CREATE TABLE collaborations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    from_agent TEXT NOT NULL,
    to_agent TEXT NOT NULL,
    task TEXT NOT NULL,
    priority TEXT NOT NULL CHECK (priority IN ('low', 'medium', 'high', 'critical')),
    status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'accepted', 'declined', 'completed')),
    note TEXT,
    created_at INTEGER NOT NULL,
    answered_at INTEGER
) STRICT;
CREATE INDEX collaborations_from ON collaborations (from_agent);
CREATE INDEX collaborations_to ON collaborations (to_agent);
CREATE INDEX collaborations_status ON collaborations (status);

CREATE TABLE decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    category TEXT NOT NULL,
    question TEXT NOT NULL,
    proposed_by TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'accepted', 'rejected', 'withdrawn')),
    timestamp INTEGER NOT NULL,
    metadata TEXT NOT NULL DEFAULT '{}', -- JSON
    votes TEXT NOT NULL DEFAULT '{}', -- JSON: a vote for each agent
    resolution TEXT,
    resolved_at INTEGER
) STRICT;
CREATE INDEX decisions_status ON decisions (status);
