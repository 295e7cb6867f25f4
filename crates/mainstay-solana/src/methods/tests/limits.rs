use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::{KEY, MINT, SIGNATURE, call, refused};
use crate::methods::ArgumentProblem;

/// Accepts the first and refuses the second, because of this argument.
fn border(name: &str, good: Value, bad: Value, argument: &str) {
    call(name, good).unwrap_or_else(|problems| panic!("{name}: {problems:?}"));
    let problems = call(name, bad).expect_err(name);
    assert_eq!(problems.iter().map(|problem| problem.argument.as_str()).collect::<Vec<_>>(), [argument], "{name}");
}

#[test]
fn lists_are_taken_up_to_their_limit() {
    for (name, argument, item, max) in [
        ("getMultipleAccounts", "pubkeys", KEY, 100),
        ("getSignatureStatuses", "signatures", SIGNATURE, 256),
        ("getInflationReward", "addresses", KEY, 32),
        ("getRecentPrioritizationFees", "pubkeys", KEY, 128),
    ] {
        border(name, json!({argument: vec![item; max]}), json!({argument: vec![item; max + 1]}), argument);
    }
    border("getMultipleAccounts", json!({"pubkeys": [KEY]}), json!({"pubkeys": []}), "pubkeys");
    let filters = |n| json!({"programId": KEY, "filters": vec![json!({"dataSize": 1}); n]});
    border("getProgramAccounts", filters(4), filters(5), "filters");
}

#[test]
fn numbers_are_taken_up_to_their_limit() {
    let leaders = |limit| json!({"startSlot": 0, "limit": limit});
    border("getSlotLeaders", leaders(5000), leaders(5001), "limit");
    border("getSlotLeaders", leaders(1), leaders(0), "limit");
    border("getBlocksWithLimit", leaders(500_000), leaders(500_001), "limit");
    let signatures = |limit| json!({"address": KEY, "limit": limit});
    border("getSignaturesForAddress", signatures(1000), signatures(1001), "limit");
    border("getSignaturesForAddress", signatures(1), signatures(0), "limit");
    border("getRecentPerformanceSamples", json!({"limit": 720}), json!({"limit": 721}), "limit");
    let slot = |slot: Value| json!({"slot": slot});
    border("getBlockTime", slot(json!(0)), slot(json!(-1)), "slot");
    border("getBlockTime", slot(json!(u64::MAX)), slot(json!(1.9e19)), "slot");
    border("requestAirdrop", json!({"pubkey": KEY, "lamports": 1}), json!({"pubkey": KEY, "lamports": 0}), "lamports");
}

#[test]
fn a_range_of_blocks_is_at_most_500_000_and_goes_forward() {
    let range = |start: u64, end: u64| json!({"startSlot": start, "endSlot": end});
    border("getBlocks", range(7, 500_007), range(7, 500_008), "endSlot");
    border("getBlocks", range(7, 7), range(7, 6), "endSlot");
    border("getBlocks", range(u64::MAX, u64::MAX), range(0, u64::MAX), "endSlot");
    let production = |first: u64, last: u64| json!({"range": {"firstSlot": first, "lastSlot": last}});
    border("getBlockProduction", production(5, 5), production(5, 4), "range/lastSlot");
}

#[test]
fn a_key_has_32_bytes_and_a_signature_64() {
    let balance = |pubkey: &str| json!({ "pubkey": pubkey });
    for bad in [
        "",
        "1111111111111111111111111111111",   // 31 bytes
        "111111111111111111111111111111112", // 33 bytes
        SIGNATURE,
        "0x1111111111111111111111111111111111111111",
        "11111111111111111111111111111112 ",
        // 44 characters, but above 2^256
        "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
    ] {
        border("getBalance", balance(KEY), balance(bad), "pubkey");
    }
    border("isBlockhashValid", json!({"blockhash": MINT}), json!({"blockhash": "abc"}), "blockhash");
    border("getTransaction", json!({"signature": SIGNATURE}), json!({"signature": KEY}), "signature");
    let many = |second: &str| json!({"pubkeys": [KEY, second]});
    border("getMultipleAccounts", many(MINT), many("abc"), "pubkeys/1");
}

#[test]
fn a_refused_key_is_not_repeated() {
    let problems = refused("getBalance", json!({"pubkey": SIGNATURE}));
    assert_eq!(problems, ["pubkey: must be an address, 32 bytes in base58; this decodes to 64 bytes"]);
}

#[test]
fn a_transaction_is_one_packet_of_base64() {
    let of = |bytes: Vec<u8>| json!({"transaction": BASE64_STANDARD.encode(bytes)});
    for name in ["sendTransaction", "simulateTransaction"] {
        border(name, of(vec![1; 1232]), of(vec![1; 1233]), "transaction");
        // From version 1 on a transaction starts with its version and may be larger.
        border(name, of(vec![0x81; 4096]), of(vec![0x81; 4097]), "transaction");
        border(name, of(vec![1]), of(vec![]), "transaction");
        border(name, of(vec![1]), json!({"transaction": "A".repeat(1_000_000)}), "transaction");
        border(name, of(vec![1]), json!({"transaction": "AQ=!"}), "transaction");
        border(name, of(vec![1]), json!({"transaction": "AQI"}), "transaction");
    }
}

#[test]
fn a_comparison_is_of_at_most_128_bytes() {
    let filter = |bytes: &str, encoding: &str| json!({"programId": KEY, "filters": [{"dataSize": 1}, {"memcmp": {"offset": 0, "bytes": bytes, "encoding": encoding}}]});
    let base64 = |n: usize| filter(&BASE64_STANDARD.encode(vec![255; n]), "base64");
    let path = "filters/1/memcmp/bytes";
    border("getProgramAccounts", base64(128), base64(129), path);
    border("getProgramAccounts", filter(&"1".repeat(128), "base58"), filter(&"1".repeat(129), "base58"), path);
    border("getProgramAccounts", filter("abc", "base58"), filter("0O", "base58"), path);
    border("getProgramAccounts", filter("abcd", "base64"), filter("abc", "base64"), path);
    border("getProgramAccounts", filter("1", "base58"), filter("", "base58"), path);
    let encoding = "filters/1/memcmp/encoding";
    border("getProgramAccounts", filter("abc", "base58"), filter("abc", "hex"), encoding);
}

#[test]
fn mint_and_program_exclude_each_other_and_one_is_needed() {
    for (name, owner) in [("getTokenAccountsByOwner", "owner"), ("getTokenAccountsByDelegate", "delegate")] {
        border(name, json!({owner: KEY, "mint": MINT}), json!({owner: KEY}), "mint");
        border(
            name,
            json!({owner: KEY, "programId": MINT}),
            json!({owner: KEY, "mint": MINT, "programId": KEY}),
            "programId",
        );
    }
}

#[test]
fn signatures_are_not_verified_for_a_message_that_is_changed() {
    let args = |verify, replace| json!({"transaction": "AQID", "sigVerify": verify, "replaceRecentBlockhash": replace});
    border("simulateTransaction", args(true, false), args(true, true), "sigVerify");
    border("simulateTransaction", args(false, true), args(true, true), "sigVerify");
}

#[test]
fn every_problem_is_reported_at_once() {
    let args = json!({"owner": "abc", "commitment": "max", "encoding": 7, "dataSlice": {"offset": -1}, "surplus": 1});
    let problems = refused("getTokenAccountsByOwner", args);
    for line in [
        "commitment: must be one of processed, confirmed, finalized; this is \"max\"",
        "dataSlice/length: is required",
        "encoding: must be one of jsonParsed, base64, base64+zstd",
        "mint: is required, exactly one of mint, programId",
        "owner: must be an address, 32 bytes in base58; this decodes to 3 bytes",
        "surplus: is not known here; there are owner, mint, programId, commitment, minContextSlot, encoding, dataSlice",
    ] {
        assert!(problems.iter().any(|problem| problem == line), "{line} is not in {problems:#?}");
    }
    assert!(problems.iter().any(|problem| problem.starts_with("dataSlice/offset: must be an integer from 0")));
    assert_eq!(problems.len(), 7, "{problems:#?}");
    assert_eq!(refused("getHealth", json!({"a": 1})), ["a: is not known here; there are no arguments"]);
}

#[test]
fn the_size_of_the_problems_is_bounded() {
    let keys: Vec<String> = (0..100_000).map(|n| format!("{n}{}", "x".repeat(1000))).collect();
    let args: serde_json::Map<_, _> = keys.into_iter().map(|key| (key, json!(1))).collect();
    let problems = super::method("getSlot").params(&args, crate::methods::Commitment::Confirmed).unwrap_err();
    let size: usize = problems.iter().map(|ArgumentProblem { argument, reason }| argument.len() + reason.len()).sum();
    assert!(size < 50_000, "{size}");
}

#[test]
fn a_key_of_idempotency_is_short_and_printable() {
    let key = |key: &str| json!({"transaction": "AQID", "idempotency_key": key});
    border("sendTransaction", key(&"k".repeat(128)), key(&"k".repeat(129)), "idempotency_key");
    border("sendTransaction", key("a b"), key("a\nb"), "idempotency_key");
    border("sendTransaction", key("a"), key(""), "idempotency_key");
}
