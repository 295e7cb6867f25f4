//! Inflation and stake.
//!
//! All but the last answer without a slot, and are not kept.

use super::shared::{COMMITMENT_ONLY, LEDGER_COMMITMENT, MIN_CONTEXT_SLOT, READ, STATE};
use crate::methods::{CacheClass, Group, Kind, Method, Param};

const ECONOMICS: Method = Method { group: Group::Economics, ..READ };

pub(super) static METHODS: [Method; 4] = [
    Method {
        name: "getInflationGovernor",
        about: "Parameters of the inflation schedule: initial, terminal, taper, foundation.",
        options: COMMITMENT_ONLY,
        ..ECONOMICS
    },
    Method {
        name: "getInflationRate",
        about: "Inflation of the current epoch: total, validators, foundation.",
        ..ECONOMICS
    },
    Method {
        name: "getInflationReward",
        about: "Staking or voting rewards of addresses in one epoch (default: the previous); null where there were none.",
        positional: &[Param::required("addresses", Kind::List { of: &Kind::Address, min: 1, max: 32 })],
        // The node finds rewards in the first blocks after the epoch, which takes at least confirmed.
        options: &[LEDGER_COMMITMENT, MIN_CONTEXT_SLOT, Param::optional("epoch", Kind::ANY_INTEGER)],
        ..ECONOMICS
    },
    Method {
        name: "getStakeMinimumDelegation",
        about: "The smallest delegation of stake, in lamports.",
        options: STATE,
        cache: CacheClass::Slot,
        has_context: true,
        ..ECONOMICS
    },
];
