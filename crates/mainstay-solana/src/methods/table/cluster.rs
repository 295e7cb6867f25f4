//! The nodes, their epochs and their leaders.
//!
//! What a node says of itself (health, version, identity, snapshots) is never kept: the next call may reach another node.

use super::shared::{COMMITMENT, IDENTITY, READ, SLOT, START_SLOT, STATE};
use crate::methods::{CacheClass, DefaultValue, Group, Kind, Method, Param};

const CLUSTER: Method = Method { group: Group::Cluster, ..READ };

pub(super) static METHODS: [Method; 19] = [
    Method {
        name: "getHealth",
        about: "\"ok\", or an error that says how far the node is behind.",
        core: true,
        ..CLUSTER
    },
    Method { name: "getVersion", about: "Software version and feature set of the node.", core: true, ..CLUSTER },
    Method {
        name: "getSlot",
        about: "The slot that the network has reached at a commitment.",
        core: true,
        options: STATE,
        ..CLUSTER
    },
    Method {
        name: "getEpochInfo",
        about: "The current epoch, its progress, the slot and the block height.",
        core: true,
        options: STATE,
        ..CLUSTER
    },
    Method {
        name: "getSupply",
        about: "Total, circulating and non-circulating supply in lamports.",
        core: true,
        options: &[
            COMMITMENT,
            // The list has hundreds of addresses that nobody asked for.
            Param::optional("excludeNonCirculatingAccountsList", Kind::Boolean).default(DefaultValue::Boolean(true)),
        ],
        cache: CacheClass::Slot,
        has_context: true,
        ..CLUSTER
    },
    Method {
        name: "getEpochSchedule",
        about: "Slots per epoch, and the first epochs, which were shorter.",
        cache: CacheClass::Immutable,
        ..CLUSTER
    },
    Method {
        name: "getGenesisHash",
        about: "Hash of the genesis block; it identifies the network.",
        cache: CacheClass::Immutable,
        ..CLUSTER
    },
    Method { name: "getIdentity", about: "Identity address of the node that answers.", ..CLUSTER },
    Method { name: "getClusterNodes", about: "All nodes with their addresses and versions.", ..CLUSTER },
    Method {
        name: "getSlotLeader",
        about: "Identity address of the leader of the current slot.",
        options: STATE,
        ..CLUSTER
    },
    Method {
        name: "getSlotLeaders",
        about: "Identity addresses of the leaders from startSlot on.",
        positional: &[START_SLOT, Param::required("limit", Kind::Integer { min: 1, max: 5000 })],
        ..CLUSTER
    },
    Method {
        name: "getLeaderSchedule",
        about: "Leader slots of each validator, relative to the epoch's first slot, or null for an unknown epoch.",
        positional: &[Param::optional("slot", Kind::ANY_INTEGER).about("Its epoch; default: the current one")],
        // keyByVoteAccount is newer than most nodes, which ignore it.
        options: &[COMMITMENT, IDENTITY, Param::optional("keyByVoteAccount", Kind::Boolean)],
        ..CLUSTER
    },
    Method {
        name: "getVoteAccounts",
        about: "Current and delinquent validators with stake, commission and votes. Give votePubkey for one.",
        options: &[
            COMMITMENT,
            Param::optional("votePubkey", Kind::Address),
            Param::optional("keepUnstakedDelinquents", Kind::Boolean),
            Param::optional("delinquentSlotDistance", Kind::ANY_INTEGER),
        ],
        ..CLUSTER
    },
    Method {
        name: "getHighestSnapshotSlot",
        about: "Slots of the node's newest full and incremental snapshot.",
        ..CLUSTER
    },
    Method { name: "getMaxRetransmitSlot", about: "The highest slot seen by the node's retransmit stage.", ..CLUSTER },
    Method {
        name: "getMaxShredInsertSlot",
        about: "The highest slot of which the node has stored a shred.",
        ..CLUSTER
    },
    Method {
        name: "getRecentPerformanceSamples",
        about: "Transactions and slots per sample of 60 seconds, newest first.",
        // The node's own default is 720 samples, twelve hours of them.
        positional: &[Param::optional("limit", Kind::Integer { min: 1, max: 720 }).default(DefaultValue::Integer(20))],
        ..CLUSTER
    },
    // This and the next are of the Alpenglow protocol; nodes without it answer that there is no such method.
    Method {
        name: "getRankMap",
        about: "Alpenglow rank, stake and BLS key of each validator in a slot's epoch.",
        positional: &[SLOT],
        options: &[IDENTITY],
        ..CLUSTER
    },
    Method {
        name: "getAgGenesisCert",
        about: "Certificate of the block at which Alpenglow began, or null before that.",
        cache: CacheClass::Immutable,
        ..CLUSTER
    },
];
