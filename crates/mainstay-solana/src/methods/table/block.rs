//! Blocks and slots of the ledger.
//!
//! Lists of blocks are not kept, although blocks do not change: a list ends at the newest one, or where the node's ledger
//! begins.

use super::shared::{
    COMMITMENT, IDENTITY, LEDGER_COMMITMENT, LEDGER_STATE, MAX_VERSION, READ, SLOT, START_SLOT, STATE,
    TRANSACTION_ENCODING,
};
use crate::methods::definition::MOST_BLOCKS;
use crate::methods::{CacheClass, DefaultValue, Group, Kind, Method, Param};

const BLOCK: Method = Method { group: Group::Block, ..READ };

pub(super) static METHODS: [Method; 9] = [
    Method {
        name: "getBlock",
        about: "A block: hashes, time and, by transactionDetails, its transactions. full is megabytes.",
        core: true,
        positional: &[SLOT],
        options: &[
            LEDGER_COMMITMENT,
            TRANSACTION_ENCODING,
            // The node's own default is full, several megabytes on mainnet.
            Param::optional("transactionDetails", Kind::Choice(&["full", "accounts", "signatures", "none"]))
                .default(DefaultValue::Text("signatures")),
            Param::optional("rewards", Kind::Boolean).default(DefaultValue::Boolean(false)),
            MAX_VERSION,
        ],
        cache: CacheClass::ImmutableIfFinalized,
        ..BLOCK
    },
    Method {
        name: "getBlocks",
        about: "Slots with a block from startSlot to endSlot (default: the newest), a range of at most 500,000.",
        positional: &[START_SLOT, Param::optional("endSlot", Kind::ANY_INTEGER)],
        options: LEDGER_STATE,
        ..BLOCK
    },
    Method {
        name: "getBlocksWithLimit",
        about: "The next slots with a block, from startSlot on.",
        positional: &[START_SLOT, Param::required("limit", Kind::Integer { min: 1, max: MOST_BLOCKS })],
        options: LEDGER_STATE,
        ..BLOCK
    },
    // It has no commitment, so that nothing says whether the block is final.
    Method {
        name: "getBlockTime",
        about: "Estimated time of a block, in seconds since 1970.",
        positional: &[SLOT],
        ..BLOCK
    },
    Method {
        name: "getBlockHeight",
        about: "Number of blocks below the current one, skipped slots not counted.",
        options: STATE,
        ..BLOCK
    },
    Method {
        name: "getBlockCommitment",
        about: "Stake that has voted for a block, by lockout depth.",
        positional: &[SLOT],
        ..BLOCK
    },
    Method {
        name: "getBlockProduction",
        about: "Leader slots and produced blocks of each validator in a range of slots (default: this epoch).",
        options: &[
            COMMITMENT,
            IDENTITY,
            Param::optional(
                "range",
                Kind::Object(&[
                    Param::required("firstSlot", Kind::ANY_INTEGER),
                    Param::optional("lastSlot", Kind::ANY_INTEGER),
                ]),
            ),
        ],
        cache: CacheClass::Slot,
        has_context: true,
        ..BLOCK
    },
    Method { name: "getFirstAvailableBlock", about: "The lowest slot with a block that the node can return.", ..BLOCK },
    Method { name: "minimumLedgerSlot", about: "The lowest slot in the node's own ledger.", ..BLOCK },
];
