//! What the contract lists: its seven tools with their arguments, its prompts, and the entries of both.

use mainstay_core::{PromptInfo, ToolInfo};
use serde_json::{Map, Value, json};

pub const NAME: &str = "toolkit";

/// What every template's URI begins with.
pub(super) const SCHEME: &str = "template://";

/// The one tool that the contract shows whole.
const GENERATE_TEMPLATE: &str = include_str!("../../../../contracts/toolkit/listed/generate_template.json");

/// A tool as the contract describes it. A tool may take more arguments: they are accepted and not listed here.
pub(super) struct Listed {
    pub(super) name: &'static str,
    /// The contract's arguments that have to be there, and may be more than the tool itself demands.
    pub(super) required: &'static [&'static str],
    optional: &'static [&'static str],
}

impl Listed {
    const fn new(name: &'static str, required: &'static [&'static str], optional: &'static [&'static str]) -> Self {
        Self { name, required, optional }
    }

    fn knows(&self, argument: &str) -> bool {
        self.required.contains(&argument) || self.optional.contains(&argument)
    }
}

/// The contract's tools, in its order.
pub(super) const TOOLS: [Listed; 7] = [
    Listed::new("generate_template", &["resource_uri", "parameters"], &[]),
    Listed::new("list_templates", &[], &["toolchain", "category"]),
    Listed::new("validate_template", &["resource_uri", "parameters"], &[]),
    Listed::new("scaffold_project", &["toolchain", "templates", "parameters"], &[]),
    Listed::new("search_templates", &["query"], &["toolchain"]),
    Listed::new(
        "analyze_complexity",
        &["project_path", "toolchain"],
        &["format", "max_cyclomatic", "max_cognitive", "top_files"],
    ),
    Listed::new("analyze_code_churn", &["project_path"], &["period_days", "format"]),
];

/// The prompts of the contract's server; prompts of other families are not its.
const PROMPTS: [&str; 3] = ["scaffold-rust-project", "scaffold-deno-project", "scaffold-python-project"];

/// One entry of the list; `None` for a tool that is not the contract's.
pub(super) fn tool(tool: &ToolInfo) -> Option<Value> {
    let spelled = tool.spelling(NAME)?;
    let listed = TOOLS.iter().find(|listed| listed.name == spelled)?;
    let literal = (spelled == "generate_template").then(|| serde_json::from_str(GENERATE_TEMPLATE).ok()).flatten();
    let own = || {
        let schema = schema(&tool.input_schema, listed);
        json!({"name": spelled, "description": tool.description, "inputSchema": schema})
    };
    Some(literal.unwrap_or_else(own))
}

/// The registry lists by its own names; the contract has an order of its own.
pub(super) fn in_contract_order(mut entries: Vec<Value>) -> Vec<Value> {
    entries.sort_by_key(|entry| TOOLS.iter().position(|listed| entry["name"] == listed.name));
    entries
}

/// The tool's own schema of the contract's arguments.
fn schema(schema: &Map<String, Value>, listed: &Listed) -> Value {
    let properties: Map<String, Value> = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter(|(name, _)| listed.knows(name))
        .map(|(name, schema)| (name.clone(), property(schema, listed.required.contains(&name.as_str()))))
        .collect();
    json!({"type": "object", "properties": properties, "required": listed.required})
}

/// The schema of one argument in the contract's plain form: one type, and nothing that does not bind. Null is accepted for
/// an argument that may be left out, and not advertised.
fn property(schema: &Value, is_required: bool) -> Value {
    let mut schema = schema.clone();
    if let Some(members) = schema.as_object_mut() {
        if let Some(Value::Array(types)) = members.get_mut("type")
            && let Some(kind) = types.iter().find(|kind| *kind != "null").cloned()
        {
            members.insert("type".to_owned(), kind);
        }
        if let Some(Value::Array(values)) = members.get_mut("enum") {
            values.retain(|value| !value.is_null());
        }
        let binds = |key: &str, value: &Value| match key {
            // Only generators of code read it.
            "format" => false,
            "additionalProperties" => *value != true,
            "default" => !is_required && !value.is_null(),
            _ => true,
        };
        members.retain(|key, value| binds(key, value));
    }
    schema
}

/// One entry of the prompt list.
pub(super) fn prompt(prompt: &PromptInfo) -> Option<Value> {
    let PromptInfo { name, description, arguments, .. } = prompt;
    let arguments: Vec<Value> = arguments
        .iter()
        .map(|argument| {
            json!({"name": argument.name, "description": argument.description, "required": argument.required})
        })
        .collect();
    let entry = json!({"name": name, "description": description, "arguments": arguments});
    PROMPTS.contains(&name.as_str()).then_some(entry)
}

#[cfg(test)]
pub(super) mod tests {
    use mainstay_core::schema::Validator;
    use mainstay_core::{Context, Effect, PromptArgument, Reply, Result, Spec, Spelling, Tool, erase};
    use schemars::JsonSchema;
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only the schema is looked at")]
    struct Args {
        /// Words to look for.
        query: String,
        /// Only templates of this toolchain.
        toolchain: Option<String>,
        /// What the contract does not know.
        cursor: Option<String>,
    }

    struct Listed<const N: usize>;

    impl<const N: usize> Tool for Listed<N> {
        const SPEC: Spec = Spec {
            description: "Described.",
            spellings: &[Spelling { dialect: NAME, name: ["search_templates", "generate_template", "more"][N] }],
            ..Spec::new("templates", ["search", "generate", "more"][N], Effect::Reads)
        };
        type Args = Args;
        type Output = Reply;

        async fn call(&self, _args: Args, _context: &Context) -> Result<Reply> {
            Ok(Reply::default())
        }
    }

    fn listed<const N: usize>() -> Option<Value> {
        tool(erase(Listed::<N>).info())
    }

    #[test]
    fn a_tool_is_listed_with_the_contracts_arguments_only() {
        let entry = listed::<0>().unwrap();
        assert_eq!((&entry["name"], &entry["description"]), (&json!("search_templates"), &json!("Described.")));
        let schema = &entry["inputSchema"];
        assert_eq!((&schema["type"], &schema["required"]), (&json!("object"), &json!(["query"])));
        let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["query", "toolchain"]);
        let toolchain = json!({"type": "string", "description": "Only templates of this toolchain."});
        assert_eq!(schema["properties"]["toolchain"], toolchain);
        Validator::new(schema.as_object().unwrap()).unwrap();
    }

    #[test]
    fn an_argument_is_shown_with_one_type_and_with_what_binds() {
        let all = json!({"type": ["null", "integer"], "format": "uint32", "minimum": 0, "default": 5, "description": "d",
            "enum": [1, null], "additionalProperties": true});
        let optional = json!({"type": "integer", "minimum": 0, "default": 5, "description": "d", "enum": [1]});
        assert_eq!(property(&all, false), optional);
        assert_eq!(property(&all, true)["default"], Value::Null);
        let closed = json!({"type": "object", "additionalProperties": false});
        assert_eq!(property(&closed, true), closed);
    }

    #[test]
    fn the_tool_the_contract_shows_is_listed_literally_and_one_it_does_not_know_not_at_all() {
        let shown: Value = serde_json::from_str(GENERATE_TEMPLATE).unwrap();
        assert_eq!(listed::<1>(), Some(shown.clone()));
        Validator::new(shown["inputSchema"].as_object().unwrap()).unwrap();
        assert_eq!(listed::<2>(), None);
    }

    #[test]
    fn the_list_has_the_contracts_order() {
        let mut entries: Vec<Value> = TOOLS.iter().map(|listed| json!({ "name": listed.name })).collect();
        let ordered = entries.clone();
        entries.reverse();
        assert_eq!(in_contract_order(entries), ordered);
    }

    #[test]
    fn the_contracts_prompts_are_listed_as_the_standard_does() {
        let argument =
            |name: &str, required| PromptArgument { name: name.into(), description: "Described.".into(), required };
        let info = |name: &str| PromptInfo {
            name: name.into(),
            description: "Sets up a project.".into(),
            arguments: vec![argument("project_name", true), argument("features", false)],
            ..PromptInfo::default()
        };
        let expected = json!({"name": "scaffold-rust-project", "description": "Sets up a project.", "arguments": [
            {"name": "project_name", "description": "Described.", "required": true},
            {"name": "features", "description": "Described.", "required": false}]});
        assert_eq!(prompt(&info("scaffold-rust-project")), Some(expected));
        assert_eq!(prompt(&info("code_review")), None);
    }
}
