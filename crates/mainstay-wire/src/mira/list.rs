//! How a tool is listed.

use mainstay_core::ToolInfo;
use serde_json::{Value, json};

use super::contract::Contract;
use super::name::tool_name;
use crate::dialect::{ToolState, Transport};

/// One tool as the contract's closed schema has it.
pub(super) fn entry(contract: &Contract, tool: &ToolInfo, state: ToolState<'_>) -> Value {
    let (input, output) = contract.schemas(tool);
    let (transport, url) = match &state.endpoint.transport {
        Transport::Stdio => ("stdio", None),
        Transport::Http { url } => ("http", url.as_ref()),
    };
    json!({
        "name": tool_name(tool),
        "title": tool.title,
        "description": tool.description,
        "version": tool.version,
        "input_schema": **input,
        "output_schema": output.map(AsRef::as_ref),
        "tags": tool.tags,
        "auth_required": state.endpoint.auth_required,
        "rate_limit": state.quota.map(|quota| json!({"calls": quota.calls, "seconds": quota.seconds})),
        "server": {"id": "mainstay", "transport": transport, "endpoint": url},
        "enabled": state.enabled,
    })
}

#[cfg(test)]
mod tests {
    use mainstay_core::schema::Validator;
    use mainstay_core::{Context, Effect, Quota, Reply, Result, Spec, Tool, erase};

    use super::*;
    use crate::dialect::Endpoint;

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
        let tool = erase(Read).unwrap();
        let result = include_str!("../../../../contracts/mira/schemas/tools-list.result.json");
        let validator = Validator::new(&serde_json::from_str(result).unwrap()).unwrap();
        let quota = Some(Quota { calls: 3, seconds: 60 });
        let http = |endpoint: Option<&str>| Transport::Http { url: endpoint.map(str::to_owned) };
        let places = [(Transport::Stdio, None), (http(Some("http://127.0.0.1:1/rpc")), quota), (http(None), None)];
        for (transport, quota) in places {
            let endpoint = Endpoint { transport, auth_required: true };
            let entry = entry(&contract, tool.info(), ToolState { enabled: false, quota, endpoint: &endpoint });
            validator.check(&json!({"tools": [entry], "next_cursor": null})).unwrap();
            let params = include_str!("../../../../contracts/mira/schemas/files-read.params.json");
            assert_eq!(entry["input_schema"], serde_json::from_str::<Value>(params).unwrap());
            assert_eq!(entry["rate_limit"].is_null(), quota.is_none());
        }
    }
}
