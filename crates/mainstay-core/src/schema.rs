//! JSON Schema 2020-12: generated from types, and held against arguments.

use std::fmt;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};

/// The schema of a type as an object, with every definition inside it.
pub fn of<T: JsonSchema>() -> Map<String, Value> {
    let generator = SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None).into_generator();
    let mut schema = match generator.into_root_schema_for::<T>().to_value() {
        Value::Object(schema) => schema,
        // `true` and `false` are schemas too, but never those of a tool's arguments.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    };
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
    let mut schema = of::<T>();
    schema.insert("type".into(), json!("object"));
    schema.entry("properties").or_insert_with(|| json!({}));
    schema.entry("additionalProperties").or_insert(Value::Bool(false));
    schema
}

/// One thing wrong with the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// RFC 6901; empty for the arguments as a whole.
    pub path: String,
    /// The keyword of the schema that was broken: `required`, `type`, `minimum` …
    pub rule: String,
    pub reason: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.reason) } else { write!(f, "{}: {}", self.path, self.reason) }
    }
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
        let problems: Vec<Problem> = self
            .0
            .iter_errors(args)
            .map(|error| Problem {
                path: error.instance_path().to_string(),
                rule: error.kind().keyword().to_owned(),
                reason: shorten(error.to_string()),
            })
            .collect();
        Err(refusal(&problems))
    }
}

/// The error for arguments that break their schema.
pub fn refusal(problems: &[Problem]) -> Error {
    let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
    let public = match lines.as_slice() {
        [one] => format!("The arguments are not valid. {one}"),
        many => format!("The arguments are not valid ({} problems).\n- {}", many.len(), many.join("\n- ")),
    };
    let data: Vec<Value> =
        problems.iter().map(|p| json!({"path": p.path, "rule": p.rule, "reason": p.reason})).collect();
    Error::invalid(public).with_data(json!({ "problems": data }))
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

    fn problems(args: &Value) -> Vec<String> {
        let validator = Validator::new(&of_args::<Args>()).unwrap();
        match validator.check(args) {
            Ok(()) => Vec::new(),
            Err(error) => error.data.unwrap()["problems"]
                .as_array()
                .unwrap()
                .iter()
                .map(|p| format!("{}|{}", p["path"].as_str().unwrap(), p["reason"].as_str().unwrap()))
                .collect(),
        }
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
    fn a_huge_wrong_value_gives_a_short_message() {
        let found = problems(&json!({"path": "a", "limit": "x".repeat(1_000_000)}));
        assert!(found[0].len() < 400);
    }
}
