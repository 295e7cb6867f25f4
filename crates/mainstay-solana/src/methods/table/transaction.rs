//! Transactions: finding, simulating and sending them, and what one needs to build them.
//!
//! Statuses and blockhashes are never kept: callers ask for them again to see whether they have changed.

use super::shared::{
    ACCOUNT_ENCODINGS, BASE64, COMMITMENT, COMMITMENT_ONLY, LEDGER_COMMITMENT, MAX_VERSION, MIN_CONTEXT_SLOT, PUBKEY,
    READ, STATE, TRANSACTION, TRANSACTION_ENCODING,
};
use crate::methods::{CacheClass, Commitment, DefaultValue, Group, Kind, Method, MethodEffect, Param, RetryClass};

const TX: Method = Method { group: Group::Transaction, ..READ };

/// A transaction locks at most 128 accounts.
const MOST_ACCOUNTS: usize = 128;

pub(super) static METHODS: [Method; 11] = [
    Method {
        name: "getTransaction",
        about: "A transaction with its result, logs, fee and balance changes, or null if the node does not have it.",
        core: true,
        positional: &[Param::required("signature", Kind::Signature)],
        options: &[LEDGER_COMMITMENT, TRANSACTION_ENCODING, MAX_VERSION],
        // A confirmed transaction may still be dropped with its fork.
        cache: CacheClass::ImmutableIfFinalized,
        ..TX
    },
    Method {
        name: "getSignaturesForAddress",
        about: "Signatures of transactions that mention an address, newest first. Page with before.",
        core: true,
        positional: &[Param::required("address", Kind::Address)],
        options: &[
            LEDGER_COMMITMENT,
            MIN_CONTEXT_SLOT,
            // The node's own default is 1,000, some 250 kB.
            Param::optional("limit", Kind::Integer { min: 1, max: 1000 }).default(DefaultValue::Integer(20)),
            Param::optional("before", Kind::Signature),
            Param::optional("until", Kind::Signature),
        ],
        ..TX
    },
    Method {
        name: "getSignatureStatuses",
        about: "Whether transactions are processed, confirmed, finalized or failed; null if unknown.",
        core: true,
        positional: &[Param::required("signatures", Kind::List { of: &Kind::Signature, min: 1, max: 256 })],
        options: &[Param::optional("searchTransactionHistory", Kind::Boolean).about("Also older than about a minute")],
        has_context: true,
        ..TX
    },
    Method {
        name: "getFeeForMessage",
        about: "Fee in lamports of a message, or null if its blockhash has expired.",
        positional: &[Param::required("message", Kind::Base64).about("base64")],
        options: STATE,
        has_context: true,
        ..TX
    },
    Method {
        name: "getRecentPrioritizationFees",
        about: "Lowest priority fees of recent blocks, in micro-lamports per compute unit, for transactions that lock these accounts.",
        positional: &[Param::optional("pubkeys", Kind::List { of: &Kind::Address, min: 0, max: MOST_ACCOUNTS })],
        ..TX
    },
    Method {
        name: "getLatestBlockhash",
        about: "The newest blockhash and the last block height at which a transaction with it is valid.",
        core: true,
        options: STATE,
        has_context: true,
        ..TX
    },
    Method {
        name: "isBlockhashValid",
        about: "Whether a transaction with this blockhash can still be processed.",
        positional: &[Param::required("blockhash", Kind::Blockhash)],
        options: STATE,
        has_context: true,
        ..TX
    },
    Method {
        name: "getTransactionCount",
        about: "Number of transactions since the ledger began.",
        options: STATE,
        ..TX
    },
    Method {
        name: "simulateTransaction",
        about: "Run a transaction without sending it: error, logs, compute units and changed accounts.",
        core: true,
        positional: &[TRANSACTION.about("base64")],
        options: &[
            BASE64,
            COMMITMENT,
            MIN_CONTEXT_SLOT,
            Param::optional("sigVerify", Kind::Boolean).about("Not with replaceRecentBlockhash"),
            Param::optional("replaceRecentBlockhash", Kind::Boolean),
            Param::optional(
                "accounts",
                Kind::Object(&[
                    Param::required("addresses", Kind::List { of: &Kind::Address, min: 1, max: MOST_ACCOUNTS }),
                    Param::optional("encoding", ACCOUNT_ENCODINGS).default(DefaultValue::Text("jsonParsed")),
                ]),
            )
            .about("Accounts to return as they would be after"),
            Param::optional("innerInstructions", Kind::Boolean),
        ],
        // It may be repeated: the chain does not change. It is not kept, because it runs on the newest state.
        effect: MethodEffect::Simulates,
        has_context: true,
        ..TX
    },
    Method {
        name: "sendTransaction",
        about: "Send a signed transaction to the network. It cannot be undone; use dry_run first.",
        core: true,
        positional: &[TRANSACTION.about("Signed, base64")],
        options: &[
            BASE64,
            Param::optional("skipPreflight", Kind::Boolean).default(DefaultValue::Boolean(false)),
            Param::optional("preflightCommitment", Kind::Commitment(Commitment::Processed)),
            Param::optional("maxRetries", Kind::ANY_INTEGER),
            MIN_CONTEXT_SLOT,
        ],
        local: &[
            Param::optional("dry_run", Kind::Boolean).about("Simulate and check only"),
            Param::optional("idempotency_key", Kind::Text { max: 128 }).about("Same key: sent once"),
            Param::optional("wait", Kind::Choice(&["none", "confirmed", "finalized"])).about("Return after"),
        ],
        // The client sends again by its own rules, which know whether the blockhash has expired.
        retry: RetryClass::Never,
        effect: MethodEffect::Sends,
        ..TX
    },
    Method {
        name: "requestAirdrop",
        about: "Ask for test lamports (devnet, testnet, localnet); returns the signature.",
        positional: &[PUBKEY, Param::required("lamports", Kind::Integer { min: 1, max: u64::MAX })],
        options: COMMITMENT_ONLY,
        // Every call that arrives is paid out.
        retry: RetryClass::Never,
        effect: MethodEffect::Airdrops,
        ..TX
    },
];
