//! JSON Schema 2020-12: generated from types, and held against arguments.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use crate::{Error, Problem, Reason, Result};

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

fn problem(error: &ValidationError<'_>) -> Problem {
    Problem {
        path: error.instance_path().to_string(),
        rule: error.kind().keyword().to_owned(),
        property: property(error.kind()).map(shorten),
        reason: shorten(reason(error)),
    }
}

/// In the library's words, which leave out most of what a value could be.
fn reason(error: &ValidationError<'_>) -> String {
    if let ValidationErrorKind::Enum { options } = error.kind() {
        return format!("{} is not one of {options}", error.instance());
    }
    error.to_string()
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
pub struct Validator(jsonschema::Validator);

impl Validator {
    /// Never follows a `$ref` out of the document.
    pub fn new(schema: &Map<String, Value>) -> Result<Self> {
        jsonschema::draft202012::new(&Value::Object(schema.clone()))
            .map(Self)
            .map_err(|error| Error::internal(format!("schema does not compile: {error}")))
    }

    /// Reports every problem at once.
    pub fn check(&self, args: &Value) -> Result<()> {
        if self.0.is_valid(args) {
            return Ok(());
        }
        let problems: Vec<Problem> = self.0.iter_errors(args).map(|error| problem(&error)).collect();
        Err(refusal(problems))
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
    fn a_huge_wrong_value_gives_a_short_message() {
        let found = problems(&json!({"path": "a", "limit": "x".repeat(1_000_000)}));
        assert!(found[0].len() < 400);
    }
}
