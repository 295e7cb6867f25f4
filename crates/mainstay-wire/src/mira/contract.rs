//! The contract's own schemas, and how a tool is listed with them. They close three tools: what they do not name is
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
const CLOSED: [(&str, &str, &str); 3] = [
    ("files/read", schema!("files-read.params"), schema!("files-read.result")),
    ("files/write", schema!("files-write.params"), schema!("files-write.result")),
    ("exec/run", schema!("exec-run.params"), schema!("exec-run.result")),
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

    /// The result without members that the contract does not have.
    pub(super) fn close(&self, tool: &str, mut result: Value) -> Value {
        let known = self.closed.get(tool).and_then(|closed| closed.result.get("properties")).and_then(Value::as_object);
        if let (Some(known), Value::Object(members)) = (known, &mut result) {
            members.retain(|name, _| known.contains_key(name));
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
