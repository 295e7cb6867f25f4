use mainstay_core::schema::Validator;
use serde_json::{Value, json};

use super::{example_args, method, object, wrong};
use crate::methods::{Commitment, all};

const NETWORKS: [&str; 4] = ["mainnet", "devnet", "testnet", "localnet"];

/// The core profile has 6,000 tokens for its tools. Three of them are not RPC methods, and need their share.
const TOKENS: usize = 4_000;

#[test]
fn the_schema_of_get_balance_is_that_of_the_contract() {
    let expected = json!({
        "type": "object", "additionalProperties": false, "required": ["pubkey"], "properties": {
            "pubkey": {"type": "string", "minLength": 32, "maxLength": 44, "pattern": "^[1-9A-HJ-NP-Za-km-z]+$"},
            "network": {"enum": ["mainnet", "devnet", "testnet", "localnet"]},
            "commitment": {"enum": ["processed", "confirmed", "finalized"]},
            "minContextSlot": {"type": "integer", "minimum": 0}}});
    assert_eq!(Value::Object(method("getBalance").input_schema(&NETWORKS)), expected);
}

#[test]
fn a_single_network_is_no_argument() {
    for networks in [&[][..], &["mainnet"]] {
        let schema = method("getBalance").input_schema(networks);
        assert!(schema["properties"].get("network").is_none(), "{networks:?}");
    }
}

#[test]
fn every_schema_accepts_right_arguments_and_refuses_wrong_ones() {
    for method in all() {
        let name = method.name;
        let validator = Validator::new(&method.input_schema(&NETWORKS)).unwrap();
        for every in [false, true] {
            let mut args = example_args(method, every);
            args.insert("network".into(), json!("devnet"));
            validator.check(&Value::Object(args)).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        }
        let good = example_args(method, true);
        let refuses = |change: &dyn Fn(&mut serde_json::Map<String, Value>), what: &str| {
            let mut args = good.clone();
            change(&mut args);
            assert!(validator.check(&Value::Object(args)).is_err(), "{name} accepts {what}");
        };
        refuses(&|args| drop(args.insert("surplus".into(), json!(1))), "an unknown argument");
        refuses(&|args| drop(args.insert("network".into(), json!("https://example.org"))), "a URL as a network");
        for param in method.arguments() {
            refuses(&|args| drop(args.insert(param.name.into(), wrong())), param.name);
            refuses(&|args| drop(args.insert(param.name.into(), json!(null))), param.name);
            if param.required {
                refuses(&|args| drop(args.remove(param.name)), param.name);
            }
        }
    }
}

#[test]
fn what_a_schema_accepts_in_these_examples_the_check_accepts_too() {
    for method in all() {
        for every in [false, true] {
            let args = example_args(method, every);
            if let Err(problems) = method.params(&args, Commitment::Finalized) {
                panic!("{}: {problems:?}", method.name);
            }
        }
    }
}

#[test]
fn schemas_have_the_limits_of_the_node() {
    let property = |name: &str, argument: &str| method(name).input_schema(&[])["properties"][argument].clone();
    for (name, argument, max) in [
        ("getMultipleAccounts", "pubkeys", 100),
        ("getSignatureStatuses", "signatures", 256),
        ("getInflationReward", "addresses", 32),
        ("getProgramAccounts", "filters", 4),
        ("getRecentPrioritizationFees", "pubkeys", 128),
    ] {
        assert_eq!(property(name, argument)["maxItems"], max, "{name}");
    }
    for (name, argument, max) in [
        ("getSignaturesForAddress", "limit", 1000),
        ("getSlotLeaders", "limit", 5000),
        ("getBlocksWithLimit", "limit", 500_000),
        ("getRecentPerformanceSamples", "limit", 720),
    ] {
        assert_eq!(property(name, argument)["maximum"], max, "{name}");
    }
    assert_eq!(property("getBlock", "transactionDetails")["default"], "signatures");
    assert_eq!(property("getTransaction", "commitment"), json!({"enum": ["confirmed", "finalized"]}));
}

#[test]
fn a_filter_is_a_size_or_a_comparison() {
    let validator = Validator::new(&method("getProgramAccounts").input_schema(&[])).unwrap();
    let check = |filter: Value| validator.check(&json!({"programId": super::KEY, "filters": [filter]})).is_ok();
    assert!(check(json!({"dataSize": 165})));
    assert!(check(json!({"memcmp": {"offset": 0, "bytes": "abc"}})));
    assert!(!check(json!({"dataSize": 165, "memcmp": {"offset": 0, "bytes": "abc"}})));
    assert!(!check(json!({})));
    assert!(!check(json!({"memcmp": {"bytes": "abc"}})));
}

#[test]
fn no_schema_has_a_combinator_at_its_top() {
    // Some clients refuse tools whose schema has one there.
    for method in all() {
        let schema = method.input_schema(&NETWORKS);
        let mut members: Vec<_> = schema.keys().map(String::as_str).collect();
        members.retain(|member| *member != "required");
        members.sort_unstable();
        assert_eq!(members, ["additionalProperties", "properties", "type"], "{}", method.name);
    }
}

#[test]
fn the_core_profile_fits_its_budget_of_tokens() {
    let size = |method: &crate::methods::Method| {
        let schema = Value::Object(method.input_schema(&NETWORKS));
        json!({"name": method.name, "description": method.about, "inputSchema": schema}).to_string().len() / 4
    };
    let sizes: Vec<_> = all().iter().filter(|method| method.core).map(|method| (size(method), method.name)).collect();
    let total: usize = sizes.iter().map(|(size, _)| size).sum();
    assert!(total <= TOKENS, "about {total} tokens: {sizes:?}");
}

#[test]
fn a_schema_never_names_what_is_not_an_argument() {
    let schema = method("sendTransaction").input_schema(&[]);
    let mut names: Vec<_> = object(schema["properties"].clone()).into_iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    let expected = [
        "dry_run",
        "idempotency_key",
        "maxRetries",
        "minContextSlot",
        "preflightCommitment",
        "skipPreflight",
        "transaction",
        "wait",
    ];
    assert_eq!(names, expected, "the encoding is always base64");
}
