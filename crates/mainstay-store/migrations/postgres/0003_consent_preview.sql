-- What a person needs to decide quickly: who asks, by name, and what the call would do.
ALTER TABLE consent ADD COLUMN requester TEXT NOT NULL DEFAULT '';
ALTER TABLE consent ADD COLUMN preview TEXT;
