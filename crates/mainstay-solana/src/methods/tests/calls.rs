use serde_json::{Value, json};

use super::{KEY, MINT, SIGNATURE, call, method, object, refused, sent};
use crate::methods::{Commitment, all};

const C: &str = "confirmed";

#[test]
fn calls_become_the_documented_arrays() {
    let token = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
    for (name, args, expected) in [
        ("getHealth", json!({}), json!([])),
        ("getSlot", json!({}), json!([{"commitment": C}])),
        ("getBalance", json!({"pubkey": KEY}), json!([KEY, {"commitment": C}])),
        (
            "getBalance",
            json!({"pubkey": KEY, "network": "devnet", "commitment": "finalized", "minContextSlot": 7}),
            json!([KEY, {"commitment": "finalized", "minContextSlot": 7}]),
        ),
        ("getAccountInfo", json!({"pubkey": KEY}), json!([KEY, {"commitment": C, "encoding": "jsonParsed"}])),
        (
            "getMultipleAccounts",
            json!({"pubkeys": [KEY, MINT], "encoding": "base64"}),
            json!([[KEY, MINT], {"commitment": C, "encoding": "base64"}]),
        ),
        (
            "getProgramAccounts",
            json!({"programId": token, "filters": [{"dataSize": 165}, {"memcmp": {"offset": 32, "bytes": KEY}}], "limit": 5}),
            json!([token, {"commitment": C, "encoding": "jsonParsed", "withContext": true,
                "filters": [{"dataSize": 165}, {"memcmp": {"offset": 32, "bytes": KEY}}]}]),
        ),
        ("getMinimumBalanceForRentExemption", json!({"dataLength": 165}), json!([165, {"commitment": C}])),
        (
            "getTokenAccountsByOwner",
            json!({"owner": KEY, "mint": MINT}),
            json!([KEY, {"mint": MINT}, {"commitment": C, "encoding": "jsonParsed"}]),
        ),
        (
            "getTokenAccountsByDelegate",
            json!({"delegate": KEY, "programId": token}),
            json!([KEY, {"programId": token}, {"commitment": C, "encoding": "jsonParsed"}]),
        ),
        (
            "getTransaction",
            json!({"signature": SIGNATURE}),
            json!([SIGNATURE, {"commitment": C, "encoding": "jsonParsed", "maxSupportedTransactionVersion": 0}]),
        ),
        ("getSignaturesForAddress", json!({"address": KEY}), json!([KEY, {"commitment": C, "limit": 20}])),
        ("getSignatureStatuses", json!({"signatures": [SIGNATURE]}), json!([[SIGNATURE]])),
        (
            "getSignatureStatuses",
            json!({"signatures": [SIGNATURE], "searchTransactionHistory": true}),
            json!([[SIGNATURE], {"searchTransactionHistory": true}]),
        ),
        ("getRecentPrioritizationFees", json!({}), json!([])),
        ("getRecentPrioritizationFees", json!({"pubkeys": [KEY]}), json!([[KEY]])),
        ("getFeeForMessage", json!({"message": "AQID"}), json!(["AQID", {"commitment": C}])),
        ("isBlockhashValid", json!({"blockhash": KEY}), json!([KEY, {"commitment": C}])),
        ("requestAirdrop", json!({"pubkey": KEY, "lamports": 1}), json!([KEY, 1, {"commitment": C}])),
        (
            "getBlock",
            json!({"slot": 430}),
            json!([430, {"commitment": C, "encoding": "jsonParsed", "transactionDetails": "signatures", "rewards": false,
                "maxSupportedTransactionVersion": 0}]),
        ),
        ("getBlocks", json!({"startSlot": 5, "endSlot": 10}), json!([5, 10, {"commitment": C}])),
        ("getBlocks", json!({"startSlot": 5}), json!([5, null, {"commitment": C}])),
        ("getBlocksWithLimit", json!({"startSlot": 5, "limit": 3}), json!([5, 3, {"commitment": C}])),
        ("getBlockTime", json!({"slot": 5}), json!([5])),
        (
            "getBlockProduction",
            json!({"range": {"firstSlot": 1, "lastSlot": 1}, "identity": KEY}),
            json!([{"commitment": C, "range": {"firstSlot": 1, "lastSlot": 1}, "identity": KEY}]),
        ),
        ("getSupply", json!({}), json!([{"commitment": C, "excludeNonCirculatingAccountsList": true}])),
        ("getSlotLeaders", json!({"startSlot": 100, "limit": 10}), json!([100, 10])),
        ("getLeaderSchedule", json!({"identity": KEY}), json!([null, {"commitment": C, "identity": KEY}])),
        ("getVoteAccounts", json!({"votePubkey": KEY}), json!([{"commitment": C, "votePubkey": KEY}])),
        ("getRecentPerformanceSamples", json!({}), json!([20])),
        ("getRankMap", json!({"slot": 9}), json!([9])),
        ("getInflationReward", json!({"addresses": [KEY], "epoch": 2}), json!([[KEY], {"commitment": C, "epoch": 2}])),
    ] {
        assert_eq!(sent(name, args), expected, "{name}");
    }
}

#[test]
fn a_simulation_is_sent_in_base64() {
    let args = json!({"transaction": "AQID", "replaceRecentBlockhash": true, "accounts": {"addresses": [KEY]}});
    let expected = json!(["AQID", {"encoding": "base64", "commitment": C, "replaceRecentBlockhash": true,
        "accounts": {"addresses": [KEY], "encoding": "jsonParsed"}}]);
    assert_eq!(sent("simulateTransaction", args), expected);
}

#[test]
fn what_is_ours_is_not_sent() {
    let args = json!({"transaction": "AQID", "dry_run": true, "idempotency_key": "a-1", "wait": "finalized"});
    let params = call("sendTransaction", args).unwrap();
    let options = json!({"encoding": "base64", "skipPreflight": false, "preflightCommitment": C});
    assert_eq!(params.sent, [json!("AQID"), options]);
    assert_eq!(params.commitment, Some(Commitment::Confirmed), "that of the preflight");
    let params = call("getProgramAccounts", json!({"programId": KEY, "limit": 5})).unwrap();
    assert_eq!(params.limit, Some(5));
    assert!(params.sent[1].get("limit").is_none());
    let params = call("getSignaturesForAddress", json!({"address": KEY, "limit": 5})).unwrap();
    assert_eq!((params.limit, &params.sent[1]["limit"]), (None, &json!(5)), "the node applies this one itself");
}

#[test]
fn the_client_learns_the_commitment_and_the_slot_of_a_call() {
    let params = call("getBalance", json!({"pubkey": KEY, "minContextSlot": 42})).unwrap();
    assert_eq!((params.commitment, params.min_context_slot), (Some(Commitment::Confirmed), Some(42)));
    let params = call("getGenesisHash", json!({})).unwrap();
    assert_eq!((params.commitment, params.min_context_slot, params.has_context), (None, None, false));
    let context = |args| call("getProgramAccounts", args).unwrap().has_context;
    assert!(context(json!({"programId": KEY})));
    assert!(!context(json!({"programId": KEY, "withContext": false})));
}

#[test]
fn the_default_commitment_is_raised_to_what_the_ledger_takes() {
    for (name, args) in [
        ("getTransaction", json!({"signature": SIGNATURE})),
        ("getBlock", json!({"slot": 1})),
        ("getBlocks", json!({"startSlot": 1})),
        ("getBlocksWithLimit", json!({"startSlot": 1, "limit": 1})),
        ("getSignaturesForAddress", json!({"address": KEY})),
        ("getInflationReward", json!({"addresses": [KEY]})),
    ] {
        let of = |default| method(name).params(&object(args.clone()), default).unwrap().commitment;
        assert_eq!(of(Commitment::Processed), Some(Commitment::Confirmed), "{name}");
        assert_eq!(of(Commitment::Finalized), Some(Commitment::Finalized), "{name}");
        let mut asked = object(args.clone());
        asked.insert("commitment".into(), json!("processed"));
        let problems = method(name).params(&asked, Commitment::Confirmed).unwrap_err();
        assert_eq!(problems[0].argument, "commitment", "{name}");
    }
    let balance = method("getBalance").params(&object(json!({"pubkey": KEY})), Commitment::Processed).unwrap();
    assert_eq!(balance.sent[1]["commitment"], "processed");
}

#[test]
fn a_slice_of_the_data_is_sent_as_bytes() {
    let slice = json!({"offset": 0, "length": 8});
    let options = sent("getAccountInfo", json!({"pubkey": KEY, "dataSlice": slice}))[1].clone();
    assert_eq!(options, json!({"commitment": C, "encoding": "base64", "dataSlice": slice}));
    let problems = refused("getAccountInfo", json!({"pubkey": KEY, "dataSlice": slice, "encoding": "jsonParsed"}));
    assert_eq!(problems, ["dataSlice: must not be combined with encoding jsonParsed; use base64"]);
}

#[test]
fn integers_are_sent_as_integers_however_they_were_written() {
    assert_eq!(sent("getBlockTime", json!({"slot": 5.0})).to_string(), "[5]");
    assert_eq!(sent("getBlockTime", json!({"slot": u64::MAX})), json!([u64::MAX]));
}

#[test]
fn every_method_sends_the_defaults_that_its_schema_names() {
    for method in all() {
        let args = super::example_args(method, false);
        let params = method.params(&args, Commitment::Confirmed).unwrap();
        let options = params.sent.last().and_then(Value::as_object).cloned().unwrap_or_default();
        let schema = method.input_schema(&[]);
        for param in method.options {
            if let Some(default) = schema["properties"].get(param.name).and_then(|property| property.get("default")) {
                assert_eq!(options.get(param.name), Some(default), "{} {}", method.name, param.name);
            }
        }
    }
}
