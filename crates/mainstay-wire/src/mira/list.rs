//! `tools/list`: which tools are wanted, and how each is shown.

use mainstay_core::ToolInfo;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Contract;

#[derive(Debug, Clone, Deserialize)]
pub struct ListParams {
    #[serde(default)]
    pub filter: Filter,
    #[serde(default)]
    pub cursor: Option<String>,
    #[serde(default = "fifty")]
    pub limit: usize,
}

fn fifty() -> usize {
    50
}

/// What is not given, or given as an empty list, excludes nothing.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Filter {
    #[serde(default)]
    pub names: Vec<String>,
    /// A tool with any of these is wanted.
    #[serde(default)]
    pub tags: Vec<String>,
    pub enabled: Option<bool>,
}

impl Filter {
    pub fn wants(&self, tool: &ToolInfo, enabled: bool) -> bool {
        let name = tool_name(tool);
        (self.names.is_empty() || self.names.contains(&name))
            && (self.tags.is_empty() || self.tags.iter().any(|tag| tool.tags.contains(tag)))
            && self.enabled.is_none_or(|wanted| wanted == enabled)
    }
}

/// The name a tool has here: `family/verb`, unless it says otherwise.
pub fn tool_name(tool: &ToolInfo) -> String {
    let spelled = tool.spellings.iter().find(|(dialect, _)| dialect == "mira");
    spelled.map_or_else(|| format!("{}/{}", tool.name.family, tool.name.verb), |(_, name)| name.clone())
}

/// Where the list is asked for, which is where its tools are called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub transport: Transport,
    pub auth_required: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    Stdio,
    /// The URL, where it is known.
    Http {
        endpoint: Option<String>,
    },
}

/// So many calls in so many seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    pub calls: u32,
    pub seconds: u32,
}

/// One tool as the contract's closed schema has it.
pub fn entry(contract: &Contract, tool: &ToolInfo, enabled: bool, quota: Option<Quota>, place: &Place) -> Value {
    let (input, output) = contract.schemas(tool);
    let (transport, endpoint) = match &place.transport {
        Transport::Stdio => ("stdio", None),
        Transport::Http { endpoint } => ("http", endpoint.as_ref()),
    };
    json!({
        "name": tool_name(tool),
        "title": tool.title,
        "description": tool.description,
        "version": tool.version,
        "input_schema": **input,
        "output_schema": output.map(AsRef::as_ref),
        "tags": tool.tags,
        "auth_required": place.auth_required,
        "rate_limit": quota.map(|quota| json!({"calls": quota.calls, "seconds": quota.seconds})),
        "server": {"id": "mainstay", "transport": transport, "endpoint": endpoint},
        "enabled": enabled,
    })
}

#[cfg(test)]
mod tests {
    use mainstay_core::schema::Validator;
    use mainstay_core::{Context, Effect, Reply, Result, Spec, Tool, erase};

    use super::*;

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

    fn filter(text: &str) -> Filter {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_filter_wants_what_fits_every_part_of_it() {
        let tool = erase(Read).unwrap();
        for wanted in [
            "{}",
            r#"{"names": [], "tags": []}"#,
            r#"{"names": ["x/y", "files/read"]}"#,
            r#"{"tags": ["net", "fs"], "enabled": true}"#,
        ] {
            assert!(filter(wanted).wants(tool.info(), true), "{wanted}");
        }
        for unwanted in
            [r#"{"names": ["files_read"]}"#, r#"{"tags": ["f"]}"#, r#"{"names": ["files/read"], "enabled": false}"#]
        {
            assert!(!filter(unwanted).wants(tool.info(), true), "{unwanted}");
        }
    }

    #[test]
    fn an_entry_fits_the_contracts_result_and_shows_its_literal_schemas() {
        let contract = Contract::read().unwrap();
        let tool = erase(Read).unwrap();
        let result = include_str!("../../../../contracts/mira/schemas/tools-list.result.json");
        let validator = Validator::new(&serde_json::from_str(result).unwrap()).unwrap();
        let quota = Some(Quota { calls: 3, seconds: 60 });
        let http = |endpoint: Option<&str>| Transport::Http { endpoint: endpoint.map(str::to_owned) };
        let places = [(Transport::Stdio, None), (http(Some("http://127.0.0.1:1/rpc")), quota), (http(None), None)];
        for (transport, quota) in places {
            let place = Place { transport, auth_required: true };
            let entry = entry(&contract, tool.info(), false, quota, &place);
            validator.check(&json!({"tools": [entry], "next_cursor": null})).unwrap();
            let params = include_str!("../../../../contracts/mira/schemas/files-read.params.json");
            assert_eq!(entry["input_schema"], serde_json::from_str::<Value>(params).unwrap());
            assert_eq!(entry["rate_limit"].is_null(), quota.is_none());
        }
    }
}
