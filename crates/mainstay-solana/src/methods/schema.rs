//! The JSON Schema of a tool's arguments.
//!
//! Schemas are in every session's context, so they say each thing once and in the shortest way: no `type` beside an `enum`,
//! no descriptions of what a name says.

use serde_json::{Map, Value, json};

use super::commitment::Commitment;
use super::definition::{Kind, MEMCMP, Method, Param};
use super::params::NETWORK;

/// Base64 of 4,096 bytes, the largest transaction.
const BASE64_CHARACTERS: usize = 5464;

impl Method {
    /// The schema, with `network` as one of these names if there are several. There is no `oneOf` at its top for arguments
    /// that exclude each other: some clients refuse tools that have one there.
    pub fn input_schema(&self, networks: &[&str]) -> Map<String, Value> {
        let arguments: Vec<_> = self.arguments().collect();
        let mut schema = object(&arguments);
        if networks.len() > 1
            && let Some(Value::Object(properties)) = schema.get_mut("properties")
        {
            properties.insert(NETWORK.to_owned(), json!({ "enum": networks }));
        }
        schema
    }
}

/// A closed object: clients and models then see a misspelled argument refused, not ignored.
fn object(params: &[&Param]) -> Map<String, Value> {
    let properties: Map<String, Value> =
        params.iter().map(|param| (param.name.to_owned(), Value::Object(property(param)))).collect();
    let required: Vec<_> = params.iter().filter(|param| param.required).map(|param| param.name).collect();
    let mut schema = members(json!({ "type": "object", "properties": properties, "additionalProperties": false }));
    if !required.is_empty() {
        schema.insert("required".into(), required.into());
    }
    schema
}

/// The schema of one argument, with its description and what is sent without it.
fn property(param: &Param) -> Map<String, Value> {
    let mut schema = of_kind(&param.kind);
    if !param.about.is_empty() {
        schema.insert("description".into(), param.about.into());
    }
    if let Some(default) = param.default {
        schema.insert("default".into(), default.into());
    }
    schema
}

/// The limits of a kind, as far as JSON Schema has words for them; the rest is checked when the params are made.
fn of_kind(kind: &Kind) -> Map<String, Value> {
    match kind {
        Kind::Address | Kind::Blockhash => base58(32, 44),
        Kind::Signature => base58(64, 88),
        Kind::Base64 => members(json!({ "type": "string", "maxLength": BASE64_CHARACTERS })),
        Kind::Integer { min, max } => {
            let mut schema = members(json!({ "type": "integer", "minimum": min }));
            // The type's own limit is no limit of the method.
            if *max != u64::MAX {
                schema.insert("maximum".into(), (*max).into());
            }
            schema
        }
        Kind::Boolean => members(json!({ "type": "boolean" })),
        Kind::Choice(choices) => members(json!({ "enum": choices })),
        Kind::Fixed(only) => members(json!({ "enum": [only] })),
        Kind::Commitment(least) => {
            let levels: Vec<_> = least.and_above().map(Commitment::as_str).collect();
            members(json!({ "enum": levels }))
        }
        Kind::Text { max } => members(json!({ "type": "string", "minLength": 1, "maxLength": max })),
        Kind::List { of, min, max } => {
            let mut schema = members(json!({ "type": "array", "items": of_kind(of), "maxItems": max }));
            if *min > 0 {
                schema.insert("minItems".into(), (*min).into());
            }
            schema
        }
        Kind::Object(params) => object(&params.iter().collect::<Vec<_>>()),
        Kind::Memcmp => object(&MEMCMP.iter().collect::<Vec<_>>()),
        Kind::OneOf(params) => {
            let mut schema = object(&params.iter().collect::<Vec<_>>());
            schema.insert("minProperties".into(), 1.into());
            schema.insert("maxProperties".into(), 1.into());
            schema
        }
    }
}

/// As the contract spells it. Whether the text decodes to the right number of bytes is checked with the params.
fn base58(min: usize, max: usize) -> Map<String, Value> {
    members(json!({ "type": "string", "minLength": min, "maxLength": max, "pattern": "^[1-9A-HJ-NP-Za-km-z]+$" }))
}

/// The members of a literal object.
fn members(schema: Value) -> Map<String, Value> {
    match schema {
        Value::Object(schema) => schema,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}
