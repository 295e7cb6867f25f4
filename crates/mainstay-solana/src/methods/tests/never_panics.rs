use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{KEY, SIGNATURE, example_args};
use crate::methods::{Commitment, all, find, node_error, replacement};

/// Any JSON, with values among it that are right in some place.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,90}".prop_map(Value::from),
        "[1-9A-HJ-NP-Za-km-z]{0,90}".prop_map(Value::from),
        Just(json!(KEY)),
        Just(json!(SIGNATURE)),
        Just(json!("jsonParsed")),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            btree_map(name(), inner, 0..6).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The name of some argument or member, or of none.
fn name() -> impl Strategy<Value = String> {
    let names: Vec<String> = all()
        .iter()
        .flat_map(|method| method.arguments().map(|param| param.name))
        .chain(["memcmp", "dataSize", "offset", "length", "bytes", "addresses", "firstSlot", "lastSlot", "network"])
        .map(str::to_owned)
        .collect();
    prop_oneof![9 => prop::sample::select(names), 1 => ".{0,8}"]
}

proptest! {
    #[test]
    fn no_argument_panics(at in 0..all().len(), args in btree_map(name(), any_json(), 0..8)) {
        let method = &all()[at];
        let args: Map<String, Value> = args.into_iter().collect();
        if let Err(problems) = method.params(&args, Commitment::Confirmed) {
            prop_assert!(!problems.is_empty() && problems.len() <= 50);
        }
    }

    #[test]
    fn no_value_of_a_known_argument_panics(at in 0..all().len(), which in any::<prop::sample::Index>(), value in any_json()) {
        let method = &all()[at];
        let mut args = example_args(method, true);
        if !args.is_empty() {
            let name = args.keys().nth(which.index(args.len())).cloned().unwrap_or_default();
            args.insert(name, value);
        }
        if let Ok(params) = method.params(&args, Commitment::Confirmed) {
            prop_assert_eq!(method.params_from_array(&params.sent), Ok(()), "what is sent is right by the same rules");
        }
    }

    #[test]
    fn no_array_panics(at in 0..all().len(), params in vec(any_json(), 0..5)) {
        if let Err(problems) = all()[at].params_from_array(&params) {
            prop_assert!(!problems.is_empty());
        }
    }

    #[test]
    fn no_name_and_no_code_panics(name in ".{0,40}", code: i64) {
        prop_assert!(find(&name).is_none_or(|method| method.name == name));
        prop_assert!(replacement(&name).is_none_or(|sentence| sentence.starts_with(&name)));
        prop_assert!(!node_error::describe(code).name.is_empty());
    }
}
