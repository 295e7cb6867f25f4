-- Signed transactions of a blockchain, recorded before they are sent. See src/operations/sent_transactions.rs.
CREATE TABLE sent_transaction (
    network TEXT NOT NULL,
    signature TEXT NOT NULL,
    principal TEXT NOT NULL,
    -- The idempotency key of the call, if it had one.
    key TEXT,
    args_digest TEXT NOT NULL,
    message_hash TEXT NOT NULL,
    -- The signed transaction in base64.
    encoded TEXT NOT NULL,
    last_valid_height INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'confirmed', 'finalized', 'expired', 'rejected')),
    slot INTEGER,
    error TEXT, -- JSON
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    PRIMARY KEY (network, signature)
) STRICT;
CREATE UNIQUE INDEX sent_transaction_key ON sent_transaction (principal, key) WHERE key IS NOT NULL;
CREATE INDEX sent_transaction_unfinished ON sent_transaction (created_ms) WHERE state IN ('pending', 'confirmed');
CREATE INDEX sent_transaction_expiry ON sent_transaction (expires_ms);

-- What transactions spend of a limit, counted until it expires. There is no foreign key, because a transaction may be
-- deleted before what it spent stops counting.
CREATE TABLE sent_transaction_spend (
    network TEXT NOT NULL,
    signature TEXT NOT NULL,
    account TEXT NOT NULL,
    asset TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount >= 0),
    expires_ms INTEGER NOT NULL,
    PRIMARY KEY (network, signature, account, asset)
) STRICT, WITHOUT ROWID;
CREATE INDEX sent_transaction_spend_account ON sent_transaction_spend (account, asset, network, expires_ms);
CREATE INDEX sent_transaction_spend_expiry ON sent_transaction_spend (expires_ms);
