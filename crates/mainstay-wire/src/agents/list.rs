//! How a tool is listed: as the contract shows it, or else without the schema keywords the contract does not use.

use mainstay_core::ToolInfo;
use serde_json::{Map, Value, json};

pub const NAME: &str = "agents";

/// The one tool the contract shows. The tool itself takes more than is said there; see `mainstay tools`.
const LOG_ACTIVITY: &str = include_str!("../../../../contracts/agents/listed/log_activity.json");

/// Keywords that describe a schema or help code generators; the contract's schemas have none of them.
const OMITTED: [&str; 4] = ["$schema", "title", "description", "format"];

/// One tool of a list; nothing for one that has no name here.
pub(super) fn tool(tool: &ToolInfo) -> Option<Value> {
    let name = tool.spelling(NAME)?;
    let literal = (name == "log_activity").then(|| serde_json::from_str(LOG_ACTIVITY).ok()).flatten();
    let own = || json!({"name": name, "description": tool.description, "inputSchema": plain(&tool.input_schema)});
    Some(literal.unwrap_or_else(own))
}

fn plain(schema: &Map<String, Value>) -> Map<String, Value> {
    let said = schema.iter().filter(|(key, _)| !OMITTED.contains(&key.as_str()));
    said.map(|(key, value)| (key.clone(), deeper(key, value))).collect()
}

/// Below `properties` the keys are names of arguments: one may well be called `title`.
fn deeper(key: &str, value: &Value) -> Value {
    match value {
        Value::Object(named) if key == "properties" || key == "$defs" => {
            named.iter().map(|(name, schema)| (name.clone(), deeper("", schema))).collect::<Map<_, _>>().into()
        }
        // What is in these is a value and no schema.
        Value::Object(_) | Value::Array(_) if ["default", "const", "enum", "examples"].contains(&key) => value.clone(),
        Value::Object(schema) => Value::Object(plain(schema)),
        Value::Array(items) => items.iter().map(|item| deeper("", item)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_binds_the_arguments_is_shown() {
        let schema = json!({"$schema": "x", "title": "T", "type": "object", "additionalProperties": false,
            "required": ["title"], "properties": {
                "title": {"type": "string", "description": "d", "default": {"title": 1}},
                "many": {"type": "array", "items": {"type": "integer", "format": "uint32", "minimum": 0}},
                "either": {"anyOf": [{"type": "string", "title": "S"}, {"type": "null"}]}}});
        let shown = json!({"type": "object", "additionalProperties": false, "required": ["title"], "properties": {
            "title": {"type": "string", "default": {"title": 1}},
            "many": {"type": "array", "items": {"type": "integer", "minimum": 0}},
            "either": {"anyOf": [{"type": "string"}, {"type": "null"}]}}});
        assert_eq!(Value::Object(plain(schema.as_object().unwrap())), shown);
    }

    #[test]
    fn the_tool_the_contract_shows_is_one() {
        let shown: Value = serde_json::from_str(LOG_ACTIVITY).unwrap();
        assert_eq!(shown["name"], "log_activity");
        let schema = shown["inputSchema"].as_object().unwrap();
        mainstay_core::schema::Validator::new(schema).unwrap();
        assert_eq!(&plain(schema), schema, "it has nothing that the others are shown without");
    }
}
