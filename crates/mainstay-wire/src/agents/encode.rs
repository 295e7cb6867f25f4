//! Results in the contract's shapes.

use jiff::Timestamp;
use mainstay_core::{Body, Contents, PromptInfo, PromptReply, ResourceInfo, iso8601};
use serde_json::{Value, json};

use crate::content::{body, texts};
use crate::dialect::ServerState;

/// The version of the protocol that the contract names.
pub const VERSION: &str = "2025-06-18";

/// What a client can ask for in a session.
const SUPPORTS: [&str; 3] = ["tools", "resources", "prompts"];

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

/// The result of `initialize`.
pub(super) fn initialize(capabilities: &Value, server: &ServerState<'_>) -> Value {
    json!({
        "protocol_version": VERSION,
        "session_id": server.session,
        "capabilities": capabilities,
        "tools_count": server.tools.len(),
        "resources_count": server.resources,
        "prompts_count": server.prompts,
    })
}

/// One entry of the resource list; the contract calls the MIME type `type`.
pub(super) fn resource(resource: &ResourceInfo) -> Value {
    json!({
        "uri": resource.uri,
        "name": resource.name,
        "type": resource.mime,
        "description": resource.description,
    })
}

/// One entry of the prompt list; `None` for a prompt that is more than a template.
pub(super) fn prompt(prompt: &PromptInfo) -> Option<Value> {
    let template = prompt.template.as_ref()?;
    let arguments: Vec<Value> = prompt
        .arguments
        .iter()
        .map(|argument| json!({"name": argument.name, "type": "string", "required": argument.required}))
        .collect();
    Some(json!({
        "name": prompt.name,
        "description": prompt.description,
        "arguments": arguments,
        "template": template,
    }))
}

/// The content of a resource: JSON as a value, text as text, anything else in base64, with `encoding` saying so. `listed`
/// is its entry in the list, if it is there.
pub(super) fn contents(uri: &str, contents: Contents, listed: Option<&ResourceInfo>) -> Value {
    let mime = contents.mime.or_else(|| listed.and_then(|listed| listed.mime.clone()));
    let name = listed.map_or_else(|| uri.rsplit('/').next().unwrap_or(uri), |listed| listed.name.as_str());
    let mut metadata = json!({"uri": uri, "name": name, "type": mime});
    let content = match contents.body {
        Body::Text(text) if mime.as_deref() == Some("application/json") => {
            serde_json::from_str(&text).unwrap_or(Value::String(text))
        }
        Body::Text(text) => Value::String(text),
        bytes @ Body::Bytes(_) => {
            metadata["encoding"] = "base64".into();
            Value::String(body(bytes))
        }
    };
    json!({"uri": uri, "content": content, "metadata": metadata})
}

/// The result of `prompts/execute`: the text of all messages.
pub(super) fn prompt_result(name: &str, reply: PromptReply, at: Timestamp) -> Value {
    let blocks: Vec<_> = reply.messages.into_iter().map(|message| message.content).collect();
    json!({"prompt": name, "result": texts(&blocks), "executed_at": iso8601(at.as_millisecond())})
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
    fn a_resource_is_shown_as_what_it_is() {
        let shown = |mime: &str, body: Body| {
            let contents_of = Contents { uri: "file://a/b.x".into(), mime: Some(mime.into()), body };
            contents("file://a/b.x", contents_of, None)
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
            contents("x", bare, Some(&listed))["metadata"],
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
        assert_eq!(prompt(&info), None);
        info.template = Some("Do {a}{b}".into());
        let shown = json!({"name": "p", "description": "d", "template": "Do {a}{b}", "arguments": [
            {"name": "a", "type": "string", "required": true}, {"name": "b", "type": "string", "required": false}]});
        assert_eq!(prompt(&info), Some(shown));
        let reply = PromptReply { messages: vec![PromptMessage::user(Block::text("Do it"))], description: None };
        let at = "2025-09-18T10:00:00.123Z".parse().unwrap();
        let expected = json!({"prompt": "p", "result": "Do it", "executed_at": "2025-09-18T10:00:00Z"});
        assert_eq!(prompt_result("p", reply, at), expected);
    }
}
