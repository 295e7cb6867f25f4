//! Tests of the table as a whole.

mod calls;
mod declared;
mod limits;
mod never_panics;
mod raw;
mod schemas;

use serde_json::{Map, Value, json};

use super::{ArgumentProblem, Commitment, Kind, Method, Param, Params, find};

/// The key of the contract's example.
const KEY: &str = "11111111111111111111111111111112";
const MINT: &str = "So11111111111111111111111111111111111111112";
/// The signature of 64 zero bytes.
const SIGNATURE: &str = "1111111111111111111111111111111111111111111111111111111111111111";

fn method(name: &str) -> &'static Method {
    find(name).unwrap_or_else(|| panic!("{name} is not in the table"))
}

fn object(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).unwrap()
}

fn call(name: &str, args: Value) -> Result<Params, Vec<ArgumentProblem>> {
    method(name).params(&object(args), Commitment::Confirmed)
}

/// The params array of a call that is right.
fn sent(name: &str, args: Value) -> Value {
    match call(name, args) {
        Ok(params) => Value::Array(params.sent),
        Err(problems) => panic!("{name}: {problems:?}"),
    }
}

/// The problems of a call that is wrong, as lines.
fn refused(name: &str, args: Value) -> Vec<String> {
    call(name, args).expect_err(name).iter().map(ToString::to_string).collect()
}

/// A right value of a kind.
fn example(kind: &Kind) -> Value {
    match kind {
        Kind::Address | Kind::Blockhash => json!(KEY),
        Kind::Signature => json!(SIGNATURE),
        Kind::Base64 => json!("AQID"),
        Kind::Integer { min, .. } => json!(min),
        // True would make sigVerify and replaceRecentBlockhash exclude each other.
        Kind::Boolean => json!(false),
        // The last, because dataSlice excludes jsonParsed, which is the first.
        Kind::Choice(choices) => json!(choices.last()),
        Kind::Fixed(only) => json!(only),
        Kind::Commitment(_) => json!("finalized"),
        Kind::Text { .. } => json!("text"),
        Kind::List { of, min, .. } => Value::Array(vec![example(of); (*min).max(1)]),
        Kind::Object(members) => Value::Object(members.iter().map(named_example).collect()),
        Kind::OneOf(members) => Value::Object(members.iter().take(1).map(named_example).collect()),
        Kind::Memcmp => json!({"offset": 0, "bytes": "abc", "encoding": "base58"}),
    }
}

fn named_example(param: &Param) -> (String, Value) {
    (param.name.to_owned(), example(&param.kind))
}

/// The arguments of a right call that gives every argument, or only those it must.
fn example_args(method: &Method, all: bool) -> Map<String, Value> {
    let mut args: Map<String, Value> =
        method.arguments().filter(|param| all || param.required).map(named_example).collect();
    for param in method.positional {
        if let Kind::OneOf(members) = param.kind {
            args.retain(|name, _| !members.iter().any(|member| member.name == name));
            args.extend(members.iter().take(1).map(named_example));
        }
    }
    args
}

/// A value that no kind takes.
fn wrong() -> Value {
    json!(-1.5)
}
