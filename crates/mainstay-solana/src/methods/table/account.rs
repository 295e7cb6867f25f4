//! Accounts and their balances.
//!
//! What the chain says of an account changes at most once per slot, so that these answers are kept for one.

use super::shared::{
    ACCOUNT_ENCODING, ACCOUNTS, COMMITMENT, COMMITMENT_ONLY, DATA_SLICE, MIN_CONTEXT_SLOT, PUBKEY, READ, STATE,
};
use crate::methods::{CacheClass, DefaultValue, Group, Kind, Method, Param};

const ACCOUNT: Method = Method { group: Group::Account, cache: CacheClass::Slot, has_context: true, ..READ };

/// The node takes at most four filters.
const FILTERS: Kind = Kind::List {
    of: &Kind::OneOf(&[Param::optional("dataSize", Kind::ANY_INTEGER), Param::optional("memcmp", Kind::Memcmp)]),
    min: 1,
    max: 4,
};

pub(super) static METHODS: [Method; 6] = [
    Method {
        name: "getBalance",
        about: "Balance of an account in lamports (1 SOL = 1e9 lamports).",
        core: true,
        positional: &[PUBKEY],
        options: STATE,
        ..ACCOUNT
    },
    Method {
        name: "getAccountInfo",
        about: "An account's owner, lamports and data, or null if it does not exist.",
        core: true,
        positional: &[PUBKEY],
        options: ACCOUNTS,
        ..ACCOUNT
    },
    Method {
        name: "getMultipleAccounts",
        about: "Up to 100 accounts in one call, in the order asked for; null where none exists.",
        core: true,
        positional: &[Param::required("pubkeys", Kind::List { of: &Kind::Address, min: 1, max: 100 })],
        options: ACCOUNTS,
        ..ACCOUNT
    },
    Method {
        name: "getProgramAccounts",
        about: "Accounts owned by a program. Give filters: without them the answer may be huge or refused.",
        core: true,
        positional: &[Param::required("programId", Kind::Address)],
        options: &[
            COMMITMENT,
            MIN_CONTEXT_SLOT,
            ACCOUNT_ENCODING,
            DATA_SLICE,
            Param::optional("filters", FILTERS).about("All must match"),
            // The envelope of an answer names its slot, which the node gives only when asked for.
            Param::optional("withContext", Kind::Boolean).default(DefaultValue::Boolean(true)),
            Param::optional("sortResults", Kind::Boolean),
        ],
        // The RPC has no limit here: the node sends all that match.
        local: &[Param::optional("limit", Kind::Integer { min: 1, max: 10_000 }).about("Return at most this many")],
        ..ACCOUNT
    },
    Method {
        name: "getLargestAccounts",
        about: "The 20 largest accounts by lamports; the node may answer from a cache of two hours.",
        // Without minContextSlot: the node's options for this method have none.
        options: &[
            COMMITMENT,
            Param::optional("filter", Kind::Choice(&["circulating", "nonCirculating"])),
            Param::optional("sortResults", Kind::Boolean),
        ],
        ..ACCOUNT
    },
    Method {
        name: "getMinimumBalanceForRentExemption",
        about: "Lamports that an account with this many bytes of data must hold to be rent exempt.",
        positional: &[Param::required("dataLength", Kind::ANY_INTEGER).about("Bytes")],
        options: COMMITMENT_ONLY,
        // The answer is a bare number, which does not say of which slot.
        cache: CacheClass::Never,
        has_context: false,
        ..ACCOUNT
    },
];
