//! The contract's own schemas, and how a tool is listed with them. They close four tools: what they do not name is
//! neither accepted nor returned.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_core::schema::{Validator, spell_integers};
use mainstay_core::{Error, Result, ToolInfo};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::dialect::{Endpoint, ToolQuery, ToolState};

pub const NAME: &str = "mira";

type Schema = Arc<Map<String, Value>>;

macro_rules! schema {
    ($name:literal) => {
        include_str!(concat!("../../../../contracts/mira/schemas/", $name, ".json"))
    };
}

const LIST: &str = schema!("tools-list.params");

/// Each closed tool, with the schemas of its params and of its result.
const CLOSED: [(&str, &str, &str); 4] = [
    ("files/read", schema!("files-read.params"), schema!("files-read.result")),
    ("files/write", schema!("files-write.params"), schema!("files-write.result")),
    ("exec/run", schema!("exec-run.params"), schema!("exec-run.result")),
    ("vector/search", schema!("vector-search.params"), schema!("vector-search.result")),
];

/// The schemas of one closed tool.
struct Closed {
    params: Schema,
    result: Schema,
    validator: Arc<Validator>,
}

/// The params of `tools/list`. A filter that is missing or empty excludes nothing.
#[derive(Debug, Deserialize)]
struct ListParams {
    #[serde(default)]
    filter: Filter,
    cursor: Option<String>,
    #[serde(default = "default_limit")]
    limit: usize,
}

fn default_limit() -> usize {
    50
}

#[derive(Debug, Default, Deserialize)]
struct Filter {
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    tags: Vec<String>,
    enabled: Option<bool>,
}

/// All schemas, parsed and compiled.
pub(super) struct Contract {
    list: Validator,
    closed: BTreeMap<&'static str, Closed>,
}

impl Contract {
    /// Fails only if a schema of the contract is none.
    pub(super) fn read() -> Result<Self> {
        let close = |(name, params, result): (&'static str, &str, &str)| {
            let params = parse(params)?;
            let validator = Arc::new(Validator::new(&params)?);
            Ok((name, Closed { params, result: parse(result)?, validator }))
        };
        Ok(Self {
            list: Validator::new(&*parse(LIST)?)?,
            closed: CLOSED.into_iter().map(close).collect::<Result<_>>()?,
        })
    }

    /// The params of `tools/list`, validated against the contract's schema.
    pub(super) fn tool_query(&self, mut params: Value) -> Result<ToolQuery> {
        self.list.check(&params)?;
        spell_integers(&mut params);
        let unread = |error| Error::field("params", "The params cannot be read.").with_detail(error);
        let ListParams { filter: Filter { names, tags, enabled }, cursor, limit } =
            serde_json::from_value(params).map_err(unread)?;
        Ok(ToolQuery { enabled, names, tags, cursor, limit })
    }

    /// The contract's schema of the arguments, where it accepts less than the tool itself does.
    pub(super) fn params(&self, tool: &str) -> Option<&Arc<Validator>> {
        self.closed.get(tool).map(|closed| &closed.validator)
    }

    /// The result without members that the contract does not have, at any depth.
    pub(super) fn close(&self, tool: &str, mut result: Value) -> Value {
        if let Some(closed) = self.closed.get(tool) {
            retain_declared(&closed.result, &mut result);
        }
        result
    }

    /// One tool as the contract's closed schema has it.
    pub(super) fn entry(&self, tool: &ToolInfo, state: ToolState<'_>) -> Value {
        let name = tool_name(tool);
        // The contract's schemas where it has some, else the tool's own.
        let (input, output) = match self.closed.get(name.as_str()) {
            Some(closed) => (&closed.params, Some(&closed.result)),
            None => (&tool.input_schema, tool.output_schema.as_ref()),
        };
        let (transport, url, auth_required) = match state.endpoint {
            Endpoint::Stdio => ("stdio", None, false),
            Endpoint::Http { url, auth_required } => ("http", url.as_ref(), *auth_required),
        };
        json!({
            "name": name,
            "title": tool.title,
            "description": tool.description,
            "version": tool.version,
            "input_schema": **input,
            "output_schema": output.map(AsRef::as_ref),
            "tags": tool.tags,
            "auth_required": auth_required,
            "rate_limit": state.quota.map(|quota| json!({"calls": quota.calls, "seconds": quota.seconds})),
            "server": {"id": "mainstay", "transport": transport, "endpoint": url},
            "enabled": state.enabled,
        })
    }
}

/// The name a tool has here: `family/verb`, unless it declares another.
pub(super) fn tool_name(tool: &ToolInfo) -> String {
    tool.spelling(NAME).map_or_else(|| format!("{}/{}", tool.family, tool.verb), str::to_owned)
}

/// Removes what a schema excludes with `additionalProperties: false`, in objects and in the items of arrays. The contract
/// nests closed objects (`matches[].metadata`, `usage`), and a client that validates results rejects the whole of one for
/// a single surplus member. An object that the schema leaves open keeps its members. The recursion is as deep as the
/// schema, not as the value.
fn retain_declared(schema: &Map<String, Value>, value: &mut Value) {
    match value {
        Value::Object(members) => {
            let declared = schema.get("properties").and_then(Value::as_object);
            if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
                members.retain(|name, _| declared.is_some_and(|declared| declared.contains_key(name)));
            }
            for (name, property) in declared.into_iter().flatten() {
                if let (Some(member), Value::Object(property)) = (members.get_mut(name), property) {
                    retain_declared(property, member);
                }
            }
        }
        Value::Array(items) => {
            if let Some(Value::Object(item)) = schema.get("items") {
                for value in items {
                    retain_declared(item, value);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn parse(text: &str) -> Result<Schema> {
    serde_json::from_str(text).map(Arc::new).map_err(Error::internal)
}

#[cfg(test)]
mod tests {
    use mainstay_core::{Context, Effect, Quota, Reply, Spec, Tool, erase};

    use super::*;
    use crate::mira::errors::of_error;

    fn refused(tool: &str, args: &Value) -> (i32, Value) {
        let fault = of_error(&Contract::read().unwrap().params(tool).unwrap().check(args).unwrap_err());
        (fault.code, fault.data.unwrap()["field"].clone())
    }

    #[test]
    fn what_the_contract_does_not_have_is_refused() {
        assert_eq!(refused("files/write", &json!({"path": "a", "dry_run": true})), (-32602, json!("dry_run")));
        assert_eq!(refused("exec/run", &json!({"command": "a", "timeout_ms": 10})), (1003, json!("timeout_ms")));
        assert_eq!(refused("files/read", &json!({"path": "a", "encoding": "latin-1"})), (1003, json!("encoding")));
        let contract = Contract::read().unwrap();
        assert!(contract.params("files/read").unwrap().check(&json!({"path": "a", "etag": null})).is_ok());
        assert!(contract.params("other/tool").is_none());
    }

    #[test]
    fn members_the_contract_does_not_have_are_left_out_of_its_results() {
        let contract = Contract::read().unwrap();
        let full = json!({"exit_code": 0, "sandbox": {"landlock": 5}, "stdout": ""});
        assert_eq!(contract.close("exec/run", full.clone()), json!({"exit_code": 0, "stdout": ""}));
        assert_eq!(contract.close("exec/start", full.clone()), full);
    }

    #[test]
    fn results_are_closed_in_nested_objects_and_in_the_items_of_arrays() {
        let found = |surplus: &Value| {
            let mut metadata =
                json!({"path": "a.rs", "line_start": 1, "line_end": null, "tags": ["x"], "snippet": "fn"});
            let mut usage = json!({"embedding_model": "m", "embed_time_ms": 1, "rerank_model": null});
            let mut found = json!({"id": "1", "score": 0.5, "vector": [0.25, 1]});
            for open in [&mut metadata, &mut usage, &mut found] {
                open.as_object_mut().unwrap().extend(surplus.as_object().unwrap().clone());
            }
            found["metadata"] = metadata;
            let mut result = json!({"matches": [found.clone(), {"id": "2", "score": 1, "metadata": {}}, found]});
            result["usage"] = usage;
            result.as_object_mut().unwrap().extend(surplus.as_object().unwrap().clone());
            result
        };
        let contract = Contract::read().unwrap();
        let closed = contract.close("vector/search", found(&json!({"symbol": "f", "extra": {"path": "b"}})));
        assert_eq!(closed, found(&json!({})));
        let schema = &contract.closed["vector/search"].result;
        Validator::new(schema).unwrap().check(&closed).unwrap();
        // A value of another type than the schema has is left as it is: that is a fault of the tool, not of this filter.
        let odd = json!({"matches": {"a": 1}, "usage": [{"b": 2}]});
        assert_eq!(contract.close("vector/search", odd.clone()), odd);
    }

    #[test]
    fn an_object_that_the_schema_leaves_open_keeps_its_members() {
        let schema = json!({"type": "object", "properties": {
            "open": {"type": "object", "properties": {"closed": {"type": "object", "additionalProperties": false}}}}});
        let mut value = json!({"open": {"closed": {"x": 1}, "y": 2}, "z": 3});
        retain_declared(schema.as_object().unwrap(), &mut value);
        assert_eq!(value, json!({"open": {"closed": {}, "y": 2}, "z": 3}));
    }

    #[test]
    fn a_vector_search_accepts_the_params_of_the_contract_and_no_others() {
        let contract = Contract::read().unwrap();
        let validator = contract.params("vector/search").unwrap();
        for accepted in [
            json!({}),
            json!({"query": "authentication middleware", "top_k": 5}),
            json!({"query": null, "embedding": null, "namespace": null, "filter": {"path_prefix": null}}),
            json!({"embedding": [0.5, -1, 0, 1e300], "top_k": 1, "include_vectors": true, "rerank": false}),
            json!({"query": "a", "top_k": 50, "filter": {"path_prefix": "src/", "tags": ["a", "b"]}}),
            json!({"query": "a", "top_k": 50.0}),
        ] {
            assert!(validator.check(&accepted).is_ok(), "{accepted}");
        }
        for (args, code, field) in [
            (json!({"query": "a", "dry_run": true}), -32602, "dry_run"),
            (json!({"query": "a", "filter": {"lang": "rust"}}), -32602, "filter.lang"),
            (json!({"query": "a", "filter": {"tags": [1]}}), -32602, "filter.tags.0"),
            (json!({"query": "a", "filter": null}), -32602, "filter"),
            (json!({"query": 7}), -32602, "query"),
            (json!({"embedding": [0.5, "1"]}), -32602, "embedding.1"),
            (json!({"embedding": [null]}), -32602, "embedding.0"),
            (json!({"embedding": "AAAA"}), -32602, "embedding"),
            (json!({"query": "a", "top_k": 1.5}), -32602, "top_k"),
            (json!({"query": "a", "top_k": null}), -32602, "top_k"),
            (json!({"query": "a", "rerank": "yes"}), -32602, "rerank"),
            (json!({"query": "a", "top_k": 0}), 1003, "top_k"),
            (json!({"query": "a", "top_k": 51}), 1003, "top_k"),
            (json!({"query": "a", "top_k": -1}), 1003, "top_k"),
        ] {
            assert_eq!(refused("vector/search", &args), (code, json!(field)), "{args}");
        }
    }

    #[test]
    fn the_params_of_a_list_are_closed_and_bounded() {
        let contract = Contract::read().unwrap();
        assert_eq!(contract.tool_query(json!({})).unwrap().limit, 50);
        assert_eq!(contract.tool_query(json!({"limit": 7.0})).unwrap().limit, 7);
        for (params, code) in [
            (json!({"limit": 0}), 1003),
            (json!({"limit": 201}), 1003),
            (json!({"limit": "5"}), -32602),
            (json!({"page": 1}), -32602),
            (json!({"filter": {"name": "x"}}), -32602),
            (json!({"filter": {"names": "x"}}), -32602),
        ] {
            let error = contract.tool_query(params.clone()).err().unwrap();
            assert_eq!(of_error(&error).code, code, "{params}");
        }
    }

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Args {}

    struct Read;

    impl Tool for Read {
        const SPEC: Spec = Spec {
            title: "Read",
            description: "Reads.",
            tags: &["fs", "text"],
            ..Spec::new("files", "read", Effect::Reads)
        };
        type Args = Args;
        type Output = Reply;

        async fn call(&self, _args: Args, _context: &Context) -> Result<Reply> {
            Ok(Reply::default())
        }
    }

    #[test]
    fn an_entry_fits_the_contracts_result_and_shows_its_literal_schemas() {
        let contract = Contract::read().unwrap();
        let tool = erase(Read);
        let result = include_str!("../../../../contracts/mira/schemas/tools-list.result.json");
        let validator = Validator::new(&serde_json::from_str(result).unwrap()).unwrap();
        let quota = Some(Quota { calls: 3, seconds: 60 });
        let http = |url: Option<&str>| Endpoint::Http { url: url.map(str::to_owned), auth_required: true };
        let places = [(Endpoint::Stdio, None), (http(Some("http://127.0.0.1:1/rpc")), quota), (http(None), None)];
        for (endpoint, quota) in places {
            let entry = contract.entry(tool.info(), ToolState { enabled: false, quota, endpoint: &endpoint });
            validator.check(&json!({"tools": [entry], "next_cursor": null})).unwrap();
            let params = include_str!("../../../../contracts/mira/schemas/files-read.params.json");
            assert_eq!(entry["input_schema"], serde_json::from_str::<Value>(params).unwrap());
            assert_eq!(entry["rate_limit"].is_null(), quota.is_none());
        }
    }
}
