ALTER TABLE consent ADD COLUMN arguments TEXT NOT NULL DEFAULT '';
ALTER TABLE consent ADD COLUMN reason TEXT;

-- One row per group of events that were written together; `events` is a JSON array with the event numbered `first_seq`
-- first.
CREATE TABLE feed (
    first_seq INTEGER PRIMARY KEY,
    last_seq INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    events TEXT NOT NULL
) STRICT;
CREATE INDEX feed_last ON feed (last_seq);

-- `floor`: events up to this number are not there, or were never recorded. `listened_ms`: when somebody last listened.
CREATE TABLE feed_head (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    seq INTEGER NOT NULL,
    floor INTEGER NOT NULL,
    listened_ms INTEGER NOT NULL
) STRICT;
INSERT INTO feed_head (id, seq, floor, listened_ms) VALUES (1, 0, 0, 0);
