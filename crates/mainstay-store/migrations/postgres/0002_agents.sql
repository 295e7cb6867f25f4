-- What a team of agents tells each other. Times are milliseconds since 1970; what is JSON is said so.
-- A number is never given twice, whatever is deleted: readers go on from the last one they saw.
-- Names that lists are in the order of compare byte by byte, as on SQLite.
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
