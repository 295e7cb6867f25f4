-- What a team of agents tells each other. Times are milliseconds since 1970; what is JSON is said so.
-- A number is never given twice, whatever is deleted: readers go on from the last one they saw.
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
