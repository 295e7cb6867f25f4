//! JSON Schema 2020-12: generated from types, and held against arguments.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use crate::redact::is_secret;
use crate::{Error, Problem, Reason, Result, quoted};

/// The most problems that are reported at once.
const MAX_PROBLEMS: usize = 50;

/// Arguments in which callers pass on content of any kind, passwords included. Their values are left out of messages.
const CONTENT: [&str; 10] = ["env", "command", "args", "stdin", "input", "text", "content", "data", "headers", "body"];

/// The schema of a type as an object, with every definition inside it.
pub fn of<T: JsonSchema>() -> Map<String, Value> {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let schema = T::json_schema(&mut generator);
    whole(schema, generator)
}

/// Adds the definitions that the schema refers to. Not generic, because it would be compiled for every type of a tool.
fn whole(schema: Schema, mut generator: SchemaGenerator) -> Map<String, Value> {
    let mut schema = match schema.to_value() {
        Value::Object(schema) => schema,
        // `true` and `false` are schemas too, but never those of a tool's arguments.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    };
    let definitions = generator.take_definitions(true);
    if !definitions.is_empty() {
        schema.insert("$defs".into(), Value::Object(definitions));
    }
    schema.remove("title");
    spell_out(&mut schema);
    schema
}

/// Writes `{}` for `true` where a property may be anything: older clients know only schemas that are objects.
fn spell_out(schema: &mut Map<String, Value>) {
    for (key, value) in schema.iter_mut() {
        match value {
            Value::Object(named) if key == "properties" || key == "$defs" => {
                for property in named.values_mut() {
                    if *property == Value::Bool(true) {
                        *property = json!({});
                    }
                    if let Value::Object(property) = property {
                        spell_out(property);
                    }
                }
            }
            Value::Object(inner) => spell_out(inner),
            Value::Bool(true) if key == "items" => *value = json!({}),
            Value::Array(list) => list.iter_mut().filter_map(Value::as_object_mut).for_each(spell_out),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// The schema of a tool's arguments: an object that takes no argument it does not know.
pub fn of_args<T: JsonSchema>() -> Map<String, Value> {
    closed(of::<T>())
}

fn closed(mut schema: Map<String, Value>) -> Map<String, Value> {
    schema.insert("type".into(), json!("object"));
    schema.entry("properties").or_insert_with(|| json!({}));
    schema.entry("additionalProperties").or_insert(Value::Bool(false));
    schema
}

fn problem(error: &ValidationError<'_>, secret: &[String]) -> Problem {
    let path = error.instance_path().to_string();
    let shown = shown(error.instance(), &path, secret);
    // The library's message leaves out most of what the value could be.
    let reason = if let ValidationErrorKind::Enum { options } = error.kind() {
        format!("{shown} is not one of {options}")
    } else {
        error.masked_with(shown).to_string()
    };
    Problem {
        rule: error.kind().keyword().to_owned(),
        property: property(error.kind()).map(shorten),
        reason: shorten(reason),
        path: shorten(path),
    }
}

/// A wrong value in a message. One that may be a secret, by the name of its argument or by the schema, is left out, and so
/// is one with parts: what is wrong with it is that it has parts, or is in one of them.
fn shown(value: &Value, path: &str, secret: &[String]) -> String {
    let hidden = |name: &str| is_secret(name) || CONTENT.contains(&name) || secret.iter().any(|other| other == name);
    if path.split('/').any(hidden) {
        return "The value".to_owned();
    }
    match value {
        Value::Object(_) => "An object".to_owned(),
        Value::Array(_) => "An array".to_owned(),
        Value::String(text) => quoted(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// The properties that the schema declares as secrets.
fn secret_properties(schema: &Value, found: &mut Vec<String>) {
    let declared = |schema: &Value| schema["writeOnly"] == true || schema["format"] == "password";
    match schema {
        Value::Object(members) => {
            for (name, property) in members.get("properties").and_then(Value::as_object).into_iter().flatten() {
                found.extend(declared(property).then(|| name.clone()));
            }
            members.values().for_each(|member| secret_properties(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| secret_properties(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn property(kind: &ValidationErrorKind) -> Option<String> {
    if let ValidationErrorKind::Required { property } = kind {
        return property.as_str().map(str::to_owned);
    }
    if let ValidationErrorKind::AdditionalProperties { unexpected }
    | ValidationErrorKind::UnevaluatedProperties { unexpected } = kind
    {
        return unexpected.first().cloned();
    }
    None
}

/// A compiled schema.
pub struct Validator {
    compiled: jsonschema::Validator,
    /// The properties that the schema declares as secrets.
    secret: Vec<String>,
}

impl Validator {
    /// Never follows a `$ref` out of the document.
    pub fn new(schema: &Map<String, Value>) -> Result<Self> {
        let schema = Value::Object(schema.clone());
        let compiled = jsonschema::draft202012::new(&schema)
            .map_err(|error| Error::internal(format!("schema does not compile: {error}")))?;
        let mut secret = Vec::new();
        secret_properties(&schema, &mut secret);
        Ok(Self { compiled, secret })
    }

    /// Reports every problem at once, up to a number that can be read.
    pub fn check(&self, args: &Value) -> Result<()> {
        if self.compiled.is_valid(args) {
            return Ok(());
        }
        let errors = self.compiled.iter_errors(args).take(MAX_PROBLEMS);
        Err(refusal(errors.map(|error| problem(&error, &self.secret)).collect()))
    }
}

/// Writes `50` for `50.0`: JSON Schema knows one integer in two spellings, and a type that is read from it only one.
pub fn spell_integers(value: &mut Value) {
    /// Up to here every whole number has a spelling of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => {
            let whole = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0 && float.abs() <= EXACT);
            if let Some(whole) = whole.and_then(|float| format!("{float:.0}").parse::<i64>().ok()) {
                *value = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(spell_integers),
        Value::Object(members) => members.values_mut().for_each(spell_integers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// The error for arguments that break their schema.
pub fn refusal(problems: Vec<Problem>) -> Error {
    let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
    let public = match lines.as_slice() {
        [one] => format!("The arguments are not valid. {one}"),
        many => format!("The arguments are not valid ({} problems).\n- {}", many.len(), many.join("\n- ")),
    };
    Error::invalid(public).with_reason(Reason::Problems(problems))
}

/// A wrong value may be a megabyte long; its message need not be.
fn shorten(reason: String) -> String {
    const LIMIT: usize = 300;
    if reason.chars().count() <= LIMIT {
        return reason;
    }
    let head: String = reason.chars().take(LIMIT / 2).collect();
    let tail: Vec<char> = reason.chars().rev().take(LIMIT / 2).collect();
    format!("{head} … {}", tail.into_iter().rev().collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only the schema is looked at")]
    struct Args {
        path: String,
        #[serde(default)]
        limit: Option<u32>,
    }

    fn check(args: &Value) -> Vec<Problem> {
        let validator = Validator::new(&of_args::<Args>()).unwrap();
        match validator.check(args).map_err(|error| *error.reason.unwrap()) {
            Ok(()) => Vec::new(),
            Err(Reason::Problems(problems)) => problems,
            Err(other) => panic!("{other:?}"),
        }
    }

    fn problems(args: &Value) -> Vec<String> {
        check(args).iter().map(|p| format!("{}|{}", p.path, p.reason)).collect()
    }

    #[test]
    fn good_arguments_pass() {
        assert!(problems(&json!({"path": "a"})).is_empty());
        assert!(problems(&json!({"path": "a", "limit": null})).is_empty());
    }

    #[test]
    fn every_problem_is_reported_with_its_path() {
        let found = problems(&json!({"limit": "many", "surplus": 1}));
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.iter().any(|p| p.starts_with("/limit|")), "{found:?}");
        assert!(found.iter().any(|p| p.contains("\"path\" is a required property")), "{found:?}");
        assert!(found.iter().any(|p| p.contains("surplus")), "{found:?}");
    }

    #[test]
    fn arguments_that_are_no_object_are_refused() {
        for args in [json!(null), json!([]), json!("x"), json!(1)] {
            assert_eq!(problems(&args).len(), 1, "{args}");
        }
    }

    #[test]
    fn a_member_that_is_missing_or_one_too_many_is_named_as_it_is_spelled() {
        let named = |args: Value| check(&args)[0].property.clone();
        assert_eq!(named(json!({})).as_deref(), Some("path"));
        let odd = "it's \"odd\", isn't it";
        assert_eq!(named(json!({"path": "a", odd: 1})).as_deref(), Some(odd));
        assert_eq!(named(json!({"path": 1})), None);
    }

    #[test]
    fn an_integer_spelled_as_a_fraction_becomes_one_and_a_fraction_stays() {
        let mut value = json!({"a": 50.0, "b": [-0.0, -7.0, 1.5, 1e300, 9_007_199_254_740_992.0], "c": "50.0", "d": 3});
        spell_integers(&mut value);
        let expected = json!({"a": 50, "b": [0, -7, 1.5, 1e300, 9_007_199_254_740_992_i64], "c": "50.0", "d": 3});
        assert_eq!(value, expected);
    }

    #[test]
    fn secrets_and_content_are_left_out_of_messages() {
        let schema = json!({"type": "object", "properties": {
            "env": {"type": "object", "additionalProperties": {"type": "string"}},
            "command": {"type": "string"}, "args": {"type": "array"}, "db_password": {"type": "string"},
            "pin": {"type": "integer", "writeOnly": true}, "list": {"type": "string"}, "kind": {"enum": ["a"]}}});
        let validator = Validator::new(schema.as_object().unwrap()).unwrap();
        for (args, says) in [
            (json!({"env": {"A": ["canary"]}}), "/env/A: The value is not of type \"string\""),
            (json!({"env": "A=canary"}), "/env: The value is not of type \"object\""),
            (json!({"command": ["mysql", "-pcanary"]}), "/command: The value is not of type \"string\""),
            (json!({"args": "-pcanary"}), "/args: The value is not of type \"array\""),
            (json!({"db_password": 12345}), "/db_password: The value is not of type \"string\""),
            (json!({"pin": "canary"}), "/pin: The value is not of type \"integer\""),
            (json!({"list": {"x": "canary"}}), "/list: An object is not of type \"string\""),
            (json!({"kind": "b"}), "/kind: \"b\" is not one of [\"a\"]"),
        ] {
            let refused = validator.check(&args).unwrap_err();
            assert_eq!(refused.public, format!("The arguments are not valid. {says}"));
        }
    }

    #[test]
    fn the_number_of_problems_is_bounded() {
        let schema = json!({"type": "object", "properties": {"list": {"items": {"type": "string"}}}});
        let validator = Validator::new(schema.as_object().unwrap()).unwrap();
        let refused = validator.check(&json!({"list": vec![1; 100_000]})).unwrap_err();
        assert!(refused.public.len() < 10_000, "{}", refused.public.len());
    }

    #[test]
    fn a_huge_wrong_value_gives_a_short_message() {
        let found = problems(&json!({"path": "a", "limit": "x".repeat(1_000_000)}));
        assert!(found[0].len() < 400);
    }
}
