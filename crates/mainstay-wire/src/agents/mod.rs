//! The dialect `agents` (contract 001): the standard's methods with results of its own, bare and in snake case, and ten
//! error codes, each with its HTTP status.

mod decode;
mod errors;

use std::sync::Arc;

use jiff::Timestamp;
use mainstay_core::{
    Body, Contents, DialectPolicy, Error, PromptInfo, PromptReply, Quota, QuotaKind, Reply, ResourceInfo, Result,
    ToolInfo, iso8601,
};
use serde_json::{Map, Value, json};

use crate::content::{bare, body, texts};
use crate::dialect::{Dialect, DialectEntry, Encoded, ServerState, ToolState};
use crate::error::ErrorResponse;
use crate::jsonrpc::{Message, Refusal};
use crate::request::Request;
use decode::InitializeParams;

pub const NAME: &str = "agents";

/// The version of the protocol that the contract names.
pub const VERSION: &str = "2025-06-18";

/// The one tool the contract shows. The tool itself takes more than is said there; see `mainstay tools`.
const LOG_ACTIVITY: &str = include_str!("../../../../contracts/agents/listed/log_activity.json");

/// The contract's tools. The others of the family can be called, so that a team can finish here what it starts, and are
/// found in the descriptions of these.
const LISTED: [&str; 8] = [
    "log_activity",
    "check_conflicts",
    "register_component",
    "update_status",
    "heartbeat",
    "request_collaboration",
    "propose_decision",
    "find_component_owner",
];

/// Keywords that describe a schema or help code generators; the contract's schemas have none of them.
const OMITTED: [&str; 4] = ["$schema", "title", "description", "format"];

/// What a client can ask for in a session.
const SUPPORTS: [&str; 3] = ["tools", "resources", "prompts"];

/// The longest part of a client's name or version that is kept, in characters.
const CLIENT_INFO: usize = 200;

/// The line in the list of dialects.
pub const ENTRY: DialectEntry = DialectEntry {
    name: NAME,
    about: "The methods of the standard with bare results, sessions and ten error codes",
    only_family: None,
    build: |_| Ok(Arc::new(Agents)),
};

/// Also applies to the contract's REST API.
pub const POLICY: DialectPolicy = DialectPolicy {
    name: NAME,
    quota: Some(Quota { calls: 100, seconds: 60 }),
    quota_kind: QuotaKind::Window,
    first_result_wins: true,
    counts_apart: false,
    deadline: None,
    response_bytes: None,
    whole_output: false,
};

/// The dialect; it has no state of its own.
pub struct Agents;

impl Dialect for Agents {
    fn policy(&self) -> DialectPolicy {
        POLICY
    }

    fn request(&self, message: Message) -> Option<Request> {
        Some(decode::request(message))
    }

    fn refused(&self, refusal: &Refusal) -> ErrorResponse {
        errors::of_frame(refusal)
    }

    fn error(&self, error: &Error, operation: &str, now: Timestamp) -> ErrorResponse {
        errors::of_error(error, operation, now)
    }

    fn reply(&self, _tool: &str, reply: Reply) -> Encoded {
        if reply.failed {
            return Err(errors::of_failed_reply(&reply));
        }
        Ok(bare(reply).to_string().into_bytes())
    }

    /// As the contract shows it, or else without the schema keywords the contract does not use.
    fn tool_entry(&self, tool: &ToolInfo, _state: ToolState<'_>) -> Option<Value> {
        let name = tool.spelling(NAME).filter(|name| LISTED.contains(name))?;
        let literal = (name == "log_activity").then(|| serde_json::from_str(LOG_ACTIVITY).ok()).flatten();
        let own = || json!({"name": name, "description": tool.description, "inputSchema": plain(&tool.input_schema)});
        Some(literal.unwrap_or_else(own))
    }

    /// A bare array, without pages.
    fn tool_list(&self, entries: Vec<Value>, _next: Option<String>) -> Value {
        Value::Array(entries)
    }

    fn initialize(&self, params: &Value, server: ServerState<'_>) -> Value {
        json!({
            "protocol_version": VERSION,
            "session_id": server.session,
            "capabilities": capabilities(read(params).capabilities.as_deref()),
            "tools_count": server.tools.len(),
            "resources_count": server.resources,
            "prompts_count": server.prompts,
        })
    }

    fn session_state(&self, params: &Value, user: Option<&str>) -> Option<String> {
        let params = read(params);
        let text = |name: &str| params.client_info.get(name).and_then(Value::as_str).map(excerpt);
        let state = json!({
            "client": {"name": text("name"), "version": text("version")},
            "user": user,
            "capabilities": capabilities(params.capabilities.as_deref()),
        });
        Some(state.to_string())
    }

    fn client(&self, session_state: &str) -> Option<(String, String)> {
        let state: Value = serde_json::from_str(session_state).ok()?;
        let text = |name: &str| state["client"][name].as_str().unwrap_or_default().to_owned();
        Some((text("name"), text("version"))).filter(|(name, _)| !name.is_empty())
    }

    /// One of the four resources of the contract; their provider lists exactly those.
    fn known_resource(&self) -> Option<&'static str> {
        Some("db://schema/complete")
    }

    /// The contract calls the MIME type `type`.
    fn resource_list(&self, resources: &[ResourceInfo]) -> Value {
        let entry = |resource: &ResourceInfo| {
            let ResourceInfo { uri, name, mime, description, .. } = resource;
            json!({"uri": uri, "name": name, "type": mime, "description": description})
        };
        resources.iter().map(entry).collect()
    }

    /// JSON as a value, text as text, anything else in base64, with `encoding` saying so.
    fn contents(&self, uri: &str, contents: Vec<Contents>, listed: Option<&ResourceInfo>) -> Result<Value> {
        let first = contents.into_iter().next().ok_or_else(|| Error::not_found(format!("{uri:?} is empty.")))?;
        let mime = first.mime.or_else(|| listed.and_then(|listed| listed.mime.clone()));
        let name = listed.map_or_else(|| uri.rsplit('/').next().unwrap_or(uri), |listed| listed.name.as_str());
        let mut metadata = json!({"uri": uri, "name": name, "type": mime});
        let content = match first.body {
            Body::Text(text) if mime.as_deref() == Some("application/json") => {
                serde_json::from_str(&text).unwrap_or(Value::String(text))
            }
            Body::Text(text) => Value::String(text),
            bytes @ Body::Bytes(_) => {
                metadata["encoding"] = "base64".into();
                Value::String(body(bytes))
            }
        };
        Ok(json!({"uri": uri, "content": content, "metadata": metadata}))
    }

    /// Prompts that are a text with placeholders; the contract shows the template.
    fn prompt_entry(&self, prompt: &PromptInfo) -> Option<Value> {
        let PromptInfo { name, description, template: Some(template), arguments, .. } = prompt else { return None };
        let arguments: Vec<Value> = arguments
            .iter()
            .map(|argument| json!({"name": argument.name, "type": "string", "required": argument.required}))
            .collect();
        Some(json!({"name": name, "description": description, "arguments": arguments, "template": template}))
    }

    /// The text of all messages.
    fn prompt(&self, name: &str, reply: PromptReply, now: Timestamp) -> Result<Value> {
        let blocks: Vec<_> = reply.messages.into_iter().map(|message| message.content).collect();
        Ok(json!({"prompt": name, "result": texts(&blocks), "executed_at": iso8601(now.as_millisecond())}))
    }

    fn http_error(&self, status: u16, reason: &str) -> Option<ErrorResponse> {
        Some(errors::of_status(status, reason))
    }

    fn has_session_headers(&self) -> bool {
        true
    }
}

/// An error of the REST API, which has no JSON-RPC message around it.
pub fn error(error: &Error, now: Timestamp) -> ErrorResponse {
    errors::of_error(error, "", now)
}

/// The same for a request that HTTP rejects with a status of its own.
pub fn status_error(status: u16, reason: &str) -> ErrorResponse {
    errors::of_status(status, reason)
}

/// What can be used in a session, of what the client asked for.
pub fn capabilities(asked: Option<&[String]>) -> Value {
    let wanted = |name: &&str| asked.is_none_or(|asked| asked.iter().any(|other| other == name));
    let supports: Vec<&str> = SUPPORTS.into_iter().filter(wanted).collect();
    json!({
        "protocol_version": VERSION,
        "supports": supports,
        "features": {"idempotency": true, "dry_run": true, "streaming": false, "batch": false},
    })
}

/// Params that were accepted by [`decode::request`].
fn read(params: &Value) -> InitializeParams {
    serde_json::from_value(params.clone()).unwrap_or_default()
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

fn excerpt(text: &str) -> String {
    text.chars().take(CLIENT_INFO).collect()
}

#[cfg(test)]
mod tests {
    use mainstay_core::{Block, PromptArgument, PromptMessage};

    use super::*;

    #[test]
    fn what_was_asked_for_and_is_known_can_be_done() {
        assert_eq!(capabilities(None)["supports"], json!(["tools", "resources", "prompts"]));
        let asked = ["prompts".to_owned(), "magic".to_owned()];
        assert_eq!(capabilities(Some(&asked))["supports"], json!(["prompts"]));
    }

    #[test]
    fn a_client_is_called_what_it_called_itself() {
        let client = |params: Value| Agents.client(&Agents.session_state(&params, None).unwrap());
        let named = json!({"clientInfo": {"name": "planner", "version": "2"}});
        assert_eq!(client(named), Some(("planner".into(), "2".into())));
        assert_eq!(client(json!({"clientInfo": {"version": "2"}})), None);
        assert_eq!(Agents.client("no json"), None);
    }

    #[test]
    fn a_resource_is_shown_as_what_it_is() {
        let shown = |mime: &str, body: Body| {
            let contents_of = Contents { uri: "file://a/b.x".into(), mime: Some(mime.into()), body };
            Agents.contents("file://a/b.x", vec![contents_of], None).unwrap()
        };
        let json = shown("application/json", Body::Text(r#"{"tables":["a"]}"#.into()));
        assert_eq!(json["content"], json!({"tables": ["a"]}));
        assert_eq!(json["metadata"], json!({"uri": "file://a/b.x", "name": "b.x", "type": "application/json"}));
        assert_eq!(shown("application/json", Body::Text("no json".into()))["content"], "no json");
        assert_eq!(shown("text/plain", Body::Text("{}".into()))["content"], "{}");
        let bytes = shown("image/png", Body::Bytes(vec![0, 255]));
        assert_eq!((&bytes["content"], &bytes["metadata"]["encoding"]), (&json!("AP8="), &json!("base64")));
        let listed = ResourceInfo { name: "Named".into(), mime: Some("text/x".into()), ..ResourceInfo::default() };
        let bare = Contents { uri: "x".into(), mime: None, body: Body::Text(String::new()) };
        assert_eq!(
            Agents.contents("x", vec![bare], Some(&listed)).unwrap()["metadata"],
            json!({"uri": "x", "name": "Named", "type": "text/x"})
        );
    }

    #[test]
    fn a_prompt_is_a_text_with_places_to_fill_in() {
        let argument =
            |name: &str, required| PromptArgument { name: name.into(), required, ..PromptArgument::default() };
        let mut info = PromptInfo {
            name: "p".into(),
            description: "d".into(),
            arguments: vec![argument("a", true), argument("b", false)],
            ..PromptInfo::default()
        };
        assert_eq!(Agents.prompt_entry(&info), None);
        info.template = Some("Do {a}{b}".into());
        let shown = json!({"name": "p", "description": "d", "template": "Do {a}{b}", "arguments": [
            {"name": "a", "type": "string", "required": true}, {"name": "b", "type": "string", "required": false}]});
        assert_eq!(Agents.prompt_entry(&info), Some(shown));
        let reply = PromptReply { messages: vec![PromptMessage::user(Block::text("Do it"))], description: None };
        let at = "2025-09-18T10:00:00.123Z".parse().unwrap();
        let expected = json!({"prompt": "p", "result": "Do it", "executed_at": "2025-09-18T10:00:00Z"});
        assert_eq!(Agents.prompt("p", reply, at).unwrap(), expected);
    }

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
