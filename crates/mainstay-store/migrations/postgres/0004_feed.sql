ALTER TABLE consent ADD COLUMN arguments TEXT NOT NULL DEFAULT '';
ALTER TABLE consent ADD COLUMN reason TEXT;

-- One row per group of events that were written together; `events` is a JSON array with the event numbered `first_seq`
-- first.
CREATE TABLE feed (
    first_seq BIGINT PRIMARY KEY,
    last_seq BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    events TEXT NOT NULL
);
CREATE INDEX feed_last ON feed (last_seq);

-- `floor`: events up to this number are not there, or were never recorded. `listened_ms`: when somebody last listened.
CREATE TABLE feed_head (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    seq BIGINT NOT NULL,
    floor BIGINT NOT NULL,
    listened_ms BIGINT NOT NULL
);
INSERT INTO feed_head (id, seq, floor, listened_ms) VALUES (1, 0, 0, 0);
