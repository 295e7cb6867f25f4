use serde_json::{Value, json};

use super::{KEY, MINT, SIGNATURE, example_args, method};
use crate::methods::{Commitment, all};

fn problems(name: &str, params: &Value) -> Vec<String> {
    method(name)
        .params_from_array(params.as_array().unwrap())
        .err()
        .unwrap_or_default()
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn every_array_that_a_tool_sends_is_right() {
    for method in all() {
        for every in [false, true] {
            let params = method.params(&example_args(method, every), Commitment::Confirmed).unwrap();
            let checked = method.params_from_array(&params.sent);
            assert_eq!(checked, Ok(()), "{} {:?}", method.name, params.sent);
        }
    }
}

#[test]
fn options_may_be_left_out_be_null_or_be_newer_than_the_table() {
    for (name, params) in [
        ("getBalance", json!([KEY])),
        ("getBalance", json!([KEY, null])),
        ("getBalance", json!([KEY, {"commitment": null, "newer": [1]}])),
        ("getSlot", json!([])),
        ("getBlocks", json!([5])),
        ("getBlocks", json!([5, {"commitment": "confirmed"}])),
        ("getLeaderSchedule", json!([{"identity": KEY}])),
        ("getLeaderSchedule", json!([null, {"identity": KEY}])),
        ("getHealth", json!([null])),
        ("simulateTransaction", json!(["AQID", {"encoding": "base64"}])),
    ] {
        assert_eq!(problems(name, &params), [""; 0], "{name}");
    }
}

#[test]
fn wrong_arrays_are_refused_with_their_reason() {
    for (name, params, expected) in [
        ("getBalance", json!([]), "pubkey: is required"),
        ("getBalance", json!([null]), "pubkey: is required"),
        ("getBalance", json!(["abc"]), "pubkey: must be an address, 32 bytes in base58; this decodes to 3 bytes"),
        ("getBalance", json!([KEY, "confirmed"]), "params: must end with the options, an object"),
        ("getBalance", json!([KEY, {}, 1]), "params: has items after the options of getBalance"),
        ("getHealth", json!([{}]), "params: has too many items; getHealth takes 0"),
        ("getSlotLeaders", json!([1, 5001]), "limit: must be an integer from 1 to 5000; this is 5001"),
        ("getBlocks", json!([0, 500_001]), "endSlot: must be at most 500000 after startSlot; this is 500001 after"),
        ("getMultipleAccounts", json!([KEY]), "pubkeys: must be an array"),
        (
            "getTokenAccountsByOwner",
            json!([KEY, {"mint": MINT, "programId": KEY}]),
            "programId: give exactly one of mint, programId",
        ),
        (
            "getTokenAccountsByOwner",
            json!([KEY, {"owner": KEY}]),
            "owner: is not known here; there are mint, programId",
        ),
        (
            "getTokenAccountsByOwner",
            json!([KEY, MINT]),
            "mint or programId: must be an object with one of mint, programId",
        ),
        (
            "getTransaction",
            json!([SIGNATURE, {"commitment": "processed"}]),
            "commitment: must be one of confirmed, finalized; this is \"processed\"",
        ),
        ("simulateTransaction", json!(["AQID"]), "encoding: must be set to base64 in the options"),
        (
            "simulateTransaction",
            json!(["AQID", {"encoding": "base58"}]),
            "encoding: must be one of base64; this is \"base58\"",
        ),
    ] {
        let found = problems(name, &params);
        assert!(found.iter().any(|problem| problem == expected), "{name}: {expected} is not in {found:#?}");
    }
}

#[test]
fn lists_have_their_limit_here_too() {
    assert_eq!(problems("getMultipleAccounts", &json!([vec![KEY; 100]])), [""; 0]);
    let found = problems("getMultipleAccounts", &json!([vec![KEY; 101]]));
    assert_eq!(found, ["pubkeys: must have 1 to 100 items; this has 101"]);
}

#[test]
fn an_option_does_not_stand_in_for_a_parameter_of_its_name() {
    let found = problems("getBalance", &json!(["abc", {"pubkey": KEY}]));
    assert_eq!(found, ["pubkey: must be an address, 32 bytes in base58; this decodes to 3 bytes"]);
    assert_eq!(problems("getBalance", &json!([KEY, {"pubkey": "abc"}])), [""; 0], "the node ignores it");
    let found = problems("getTokenAccountsByOwner", &json!(["abc", {"mint": MINT, "owner": KEY}]));
    assert_eq!(found.len(), 2, "{found:?}");
}
