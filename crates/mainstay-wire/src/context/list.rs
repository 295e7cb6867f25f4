//! How the three tools are listed: with the members the contract freezes, and no others.

use mainstay_core::ToolInfo;
use serde_json::{Map, Value, json};

pub const NAME: &str = "context";

/// The contract's tools, in its order.
pub(super) const TOOLS: [&str; 3] = ["context.resolve", "context.list_caches", "context.inspect_cache"];

/// One entry of the list; `None` for a tool that has no name here.
pub(super) fn tool(tool: &ToolInfo) -> Option<Value> {
    let name = tool.spelling(NAME)?;
    Some(json!({"name": name, "description": tool.description, "inputSchema": schema(&tool.input_schema)}))
}

/// Whether the contract has this argument. It has no optional ones: those that a tool takes besides are not part of it.
pub(super) fn has_argument(schema: &Map<String, Value>, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|required| required.iter().any(|argument| argument == name))
}

fn schema(schema: &Map<String, Value>) -> Map<String, Value> {
    let mut said = only(schema, &["type", "properties", "required"]);
    if let Some(Value::Object(properties)) = said.get_mut("properties") {
        properties.retain(|name, _| has_argument(schema, name));
        for property in properties.values_mut().filter_map(Value::as_object_mut) {
            *property = only(property, &["type", "description", "minimum"]);
        }
    }
    said
}

fn only(schema: &Map<String, Value>, keys: &[&str]) -> Map<String, Value> {
    schema
        .iter()
        .filter(|(key, _)| keys.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
pub(super) mod tests {
    use std::marker::PhantomData;

    use mainstay_core::{Context, Effect, Reply, Result, Spec, Spelling, Tool, erase};
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde::de::DeserializeOwned;

    use super::*;

    /// What to look for.
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only the schema is looked at")]
    pub(crate) struct ResolveArgs {
        /// Which cache.
        cache: String,
        /// Which words.
        query: String,
        /// How many tokens.
        budget: u64,
    }

    /// None of these is in the contract.
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only the schema is looked at")]
    pub(crate) struct NoArgs {
        limit: Option<u32>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only the schema is looked at")]
    pub(crate) struct InspectArgs {
        /// Which cache.
        cache: String,
    }

    struct Listed<A, const N: usize>(PhantomData<A>);

    impl<A: DeserializeOwned + JsonSchema + Send + Sync + 'static, const N: usize> Tool for Listed<A, N> {
        const SPEC: Spec = Spec {
            title: "Title",
            description: "Described.",
            spellings: &[Spelling { dialect: [NAME, NAME, NAME, "other"][N], name: NAMES[N] }],
            ..Spec::new("context", ["resolve", "list_caches", "inspect_cache", "pack"][N], Effect::Reads)
        };
        type Args = A;
        type Output = Reply;

        async fn call(&self, _args: A, _context: &Context) -> Result<Reply> {
            Ok(Reply::default())
        }
    }

    const NAMES: [&str; 4] = [TOOLS[0], TOOLS[1], TOOLS[2], "pack"];

    fn info<A: DeserializeOwned + JsonSchema + Send + Sync + 'static, const N: usize>() -> ToolInfo {
        erase(Listed::<A, N>(PhantomData)).info().clone()
    }

    pub(crate) fn resolve() -> ToolInfo {
        info::<ResolveArgs, 0>()
    }

    /// In the contract's order.
    pub(crate) fn infos() -> [ToolInfo; 3] {
        [resolve(), info::<NoArgs, 1>(), info::<InspectArgs, 2>()]
    }

    #[test]
    fn a_tool_is_listed_as_the_contract_shows_it() {
        let listed = infos().map(|info| tool(&info).unwrap().to_string());
        let frozen = [
            r#"{"description":"Described.","inputSchema":{"properties":{"budget":{"description":"How many tokens.","minimum":0,"type":"integer"},"cache":{"description":"Which cache.","type":"string"},"query":{"description":"Which words.","type":"string"}},"required":["cache","query","budget"],"type":"object"},"name":"context.resolve"}"#,
            r#"{"description":"Described.","inputSchema":{"properties":{},"type":"object"},"name":"context.list_caches"}"#,
            r#"{"description":"Described.","inputSchema":{"properties":{"cache":{"description":"Which cache.","type":"string"}},"required":["cache"],"type":"object"},"name":"context.inspect_cache"}"#,
        ];
        assert_eq!(listed, frozen);
    }

    #[test]
    fn a_tool_without_a_name_here_is_not_listed() {
        assert_eq!(tool(&info::<NoArgs, 3>()), None);
    }
}
