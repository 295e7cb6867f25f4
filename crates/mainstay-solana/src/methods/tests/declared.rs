use std::collections::HashSet;

use crate::methods::{CacheClass, Group, Kind, MethodEffect, RetryClass, all, find};

/// Every method of a node, by group; `*` marks the profile "core".
const FACTS: [(Group, &str); 6] = [
    (
        Group::Account,
        "getBalance* getAccountInfo* getMultipleAccounts* getProgramAccounts* getLargestAccounts \
         getMinimumBalanceForRentExemption",
    ),
    (
        Group::Token,
        "getTokenAccountsByOwner* getTokenAccountsByDelegate getTokenAccountBalance* getTokenSupply* \
         getTokenLargestAccounts",
    ),
    (
        Group::Transaction,
        "getTransaction* getSignaturesForAddress* getSignatureStatuses* getFeeForMessage getRecentPrioritizationFees \
         getLatestBlockhash* isBlockhashValid getTransactionCount simulateTransaction* sendTransaction* requestAirdrop",
    ),
    (
        Group::Block,
        "getBlock* getBlocks getBlocksWithLimit getBlockTime getBlockHeight getBlockCommitment getBlockProduction \
         getFirstAvailableBlock minimumLedgerSlot",
    ),
    (
        Group::Cluster,
        "getHealth* getVersion* getSlot* getEpochInfo* getSupply* getEpochSchedule getGenesisHash getIdentity \
         getClusterNodes getSlotLeader getSlotLeaders getLeaderSchedule getVoteAccounts getHighestSnapshotSlot \
         getMaxRetransmitSlot getMaxShredInsertSlot getRecentPerformanceSamples getRankMap getAgGenesisCert",
    ),
    (Group::Economics, "getInflationGovernor getInflationRate getInflationReward getStakeMinimumDelegation"),
];

#[test]
fn the_table_has_exactly_the_methods_of_a_node_with_their_group_and_profile() {
    let mut expected = Vec::new();
    for (group, names) in FACTS {
        for name in names.split_whitespace() {
            expected.push((group, name.trim_end_matches('*'), name.ends_with('*')));
        }
    }
    assert_eq!(expected.len(), 54);
    let declared: Vec<_> = all().iter().map(|method| (method.group, method.name, method.core)).collect();
    assert_eq!(declared, expected);
    assert_eq!(declared.iter().filter(|(.., core)| *core).count(), 19, "beside three tools that are no RPC methods");
}

#[test]
fn a_method_is_found_by_its_exact_name() {
    for method in all() {
        assert_eq!(find(method.name).map(|found| found.name), Some(method.name));
    }
    for name in ["", "getbalance", "getBalance ", "solanaRpc", "getConfirmedBlock"] {
        assert!(find(name).is_none(), "{name}");
    }
}

#[test]
fn every_method_says_in_one_short_sentence_what_it_is_for() {
    let mut seen = HashSet::new();
    for method in all() {
        assert!(method.about.ends_with('.'), "{}: {}", method.name, method.about);
        assert!((10..=130).contains(&method.about.len()), "{}: {}", method.name, method.about.len());
        assert!(seen.insert(method.about), "{}", method.name);
    }
}

#[test]
fn the_arguments_of_a_method_have_names_of_their_own() {
    for method in all() {
        let mut seen = HashSet::new();
        for param in method.arguments() {
            assert!(seen.insert(param.name), "{} has {} twice", method.name, param.name);
            assert!(!matches!(param.kind, Kind::Fixed(_)), "{}", method.name);
        }
        assert!(!seen.contains("network"), "{}: it chooses the node", method.name);
    }
}

#[test]
fn only_what_changes_nothing_may_be_repeated() {
    for method in all() {
        let expected = match method.name {
            "sendTransaction" => (MethodEffect::Sends, RetryClass::Never),
            "requestAirdrop" => (MethodEffect::Airdrops, RetryClass::Never),
            "simulateTransaction" => (MethodEffect::Simulates, RetryClass::Read),
            _ => (MethodEffect::Reads, RetryClass::Read),
        };
        assert_eq!((method.effect, method.retry), expected, "{}", method.name);
        assert!(method.effect == MethodEffect::Reads || method.cache == CacheClass::Never, "{}", method.name);
    }
}

#[test]
fn only_answers_that_name_their_slot_are_kept_for_one() {
    for method in all() {
        assert!(method.cache != CacheClass::Slot || method.has_context, "{}", method.name);
    }
    let of = |class| all().iter().filter(|m| m.cache == class).map(|m| m.name).collect::<Vec<_>>();
    assert_eq!(of(CacheClass::Immutable), ["getEpochSchedule", "getGenesisHash", "getAgGenesisCert"]);
    assert_eq!(of(CacheClass::ImmutableIfFinalized), ["getTransaction", "getBlock"]);
}

#[test]
fn methods_have_a_context_where_the_node_answers_with_one() {
    let with: Vec<_> = all().iter().filter(|method| method.has_context).map(|method| method.name).collect();
    assert_eq!(
        with,
        [
            "getBalance",
            "getAccountInfo",
            "getMultipleAccounts",
            "getProgramAccounts",
            "getLargestAccounts",
            "getTokenAccountsByOwner",
            "getTokenAccountsByDelegate",
            "getTokenAccountBalance",
            "getTokenSupply",
            "getTokenLargestAccounts",
            "getSignatureStatuses",
            "getFeeForMessage",
            "getLatestBlockhash",
            "isBlockhashValid",
            "simulateTransaction",
            "getBlockProduction",
            "getSupply",
            "getStakeMinimumDelegation",
        ]
    );
}
