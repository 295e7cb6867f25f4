//! Results, and what is accepted in which state.

use mainstay_core::{Body, PromptMessage};

use super::*;

fn parsed(encoded: Encoded) -> Value {
    serde_json::from_slice(&encoded.unwrap()).unwrap()
}

fn toolkit() -> Toolkit {
    Toolkit::new().unwrap()
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

#[test]
fn the_reply_to_initialize_is_the_contracts_whatever_the_client_asks_for() {
    let contract = json!({"protocolVersion": "2024-11-05", "capabilities": {},
        "serverInfo": {"name": "paiml-mcp-agent-toolkit", "version": "0.5.3"}});
    for params in [json!({}), json!({"protocolVersion": "2030-01-01"})] {
        let server = ServerState { version: "1.2.3", session: None, tools: vec![], resources: 1, prompts: 1 };
        assert_eq!(toolkit().initialize(&params, server), contract);
    }
}

#[test]
fn the_text_of_a_generated_file_is_its_content_and_of_other_results_their_value() {
    let reply = || Reply { structured: Some(json!({"count": 1})), ..Reply::text("all:\n\t\"echo\"\n") };
    for tool in ["generate_template", "analyze_complexity", "analyze_code_churn"] {
        assert_eq!(parsed(toolkit().reply(tool, reply())), text("all:\n\t\"echo\"\n"), "{tool}");
    }
    for tool in ["list_templates", "validate_template", "scaffold_project", "search_templates"] {
        assert_eq!(parsed(toolkit().reply(tool, reply())), text(r#"{"count":1}"#), "{tool}");
    }
    assert_eq!(parsed(toolkit().reply("more", Reply::text("x"))), text("x"));
    let blocks = vec![Block::text("a"), Block::image(vec![], "image/png"), Block::text("b")];
    assert_eq!(parsed(toolkit().reply("more", Reply::blocks(blocks))), text("a\nb"));
}

#[test]
fn as_a_method_a_tool_answers_with_its_bare_value() {
    let report = json!({"summary": {}, "violations": []});
    let reply = Reply { structured: Some(report.clone()), ..Reply::text("0 violations") };
    assert_eq!(parsed(toolkit().method_reply("analyze_complexity", reply)), report);
    let value = json!({"filename": "p/Makefile"});
    let reply = Reply { structured: Some(value), ..Reply::text("all:\n") };
    let expected = json!({"filename": "p/Makefile", "content": "all:\n"});
    assert_eq!(parsed(toolkit().method_reply("generate_template", reply)), expected);
    let whole = Reply::structured(json!({"content": "own"}));
    assert_eq!(parsed(toolkit().method_reply("generate_template", whole)), json!({"content": "own"}));
}

#[test]
fn a_tool_that_says_itself_that_it_failed_is_an_error() {
    for encoded in
        [toolkit().reply("x", Reply::failure("No disk.")), toolkit().method_reply("x", Reply::failure("No disk."))]
    {
        let error = encoded.unwrap_err();
        assert_eq!((error.code, error.data), (-32603, Some(json!({"detail": "No disk."}))));
    }
}

#[test]
fn resources_and_prompts_have_the_shape_of_the_standard() {
    let listed = ResourceInfo {
        uri: "template://makefile/rust/cli".into(),
        name: "Rust CLI Makefile".into(),
        description: Some("Described".into()),
        mime: Some("text/x-makefile".into()),
        ..ResourceInfo::default()
    };
    let entry = json!({"uri": "template://makefile/rust/cli", "name": "Rust CLI Makefile",
        "description": "Described", "mimeType": "text/x-makefile"});
    assert_eq!(toolkit().resource_list(&[listed]), json!({"resources": [entry]}));
    let contents = Contents { uri: "u".into(), mime: Some("text/plain".into()), body: Body::Text("x".into()) };
    let read = toolkit().contents("u", vec![contents], None).unwrap();
    assert_eq!(read, json!({"contents": [{"uri": "u", "mimeType": "text/plain", "text": "x"}]}));
    let messages = vec![PromptMessage::user(Block::text("Do it"))];
    let reply = PromptReply { description: Some("d".into()), messages };
    let shown = toolkit().prompt("p", reply, Timestamp::UNIX_EPOCH).unwrap();
    let message = json!({"role": "user", "content": {"type": "text", "text": "Do it"}});
    assert_eq!(shown, json!({"description": "d", "messages": [message]}));
    assert_eq!(toolkit().prompt_list(vec![]), json!({"prompts": []}));
}

/// The code that a request is refused with in this state, and the state afterwards.
fn offer(state: &mut ConnectionState, operation: &Operation) -> Option<i32> {
    toolkit().accept(state, operation).err().map(|error| error.code)
}

#[test]
fn requests_are_accepted_between_initialize_and_shutdown() {
    let requests = [
        Operation::Ping,
        Operation::Shutdown,
        Operation::ListTools(json!({})),
        Operation::CallTool { name: "a".into(), args: None },
        Operation::CallMethod { name: "a".into(), args: None },
        Operation::ListResources,
        Operation::ReadResource { uri: "template://a".into() },
        Operation::ListPrompts,
        Operation::GetPrompt { name: "a".into(), args: std::collections::BTreeMap::new() },
        Operation::InvalidParams(errors::of_params("x")),
    ];
    let hello = Operation::Initialize(json!({}));
    let greeted = ConnectionState::Initializing { capabilities: true };
    let shutting = ConnectionState::Shutting { graceful: true };
    for request in &requests {
        for closed in [ConnectionState::Uninitialized, shutting, ConnectionState::Closed] {
            let mut state = closed;
            assert_eq!((offer(&mut state, request), state), (Some(-32600), closed), "{request:?}");
        }
        for open in [greeted, ConnectionState::Ready] {
            let mut state = open;
            assert_eq!(offer(&mut state, request), None, "{request:?} {open:?}");
            let after = if *request == Operation::Shutdown { shutting } else { ConnectionState::Ready };
            assert_eq!(state, after, "{request:?}");
        }
    }
    for state in [ConnectionState::Uninitialized, greeted, ConnectionState::Ready, shutting] {
        let refused = (state != ConnectionState::Uninitialized).then_some(-32600);
        let mut after = state;
        assert_eq!((offer(&mut after, &hello), after), (refused, state), "it counts when it has succeeded");
        let mut after = state;
        assert_eq!((offer(&mut after, &Operation::Malformed(errors::of_params("x"))), after), (None, state));
    }
}

#[test]
fn a_notification_completes_the_handshake_and_is_ignored_elsewhere() {
    let mut state = ConnectionState::Initializing { capabilities: true };
    assert_eq!((offer(&mut state, &Operation::Initialized), state), (None, ConnectionState::Ready));
    for state in [ConnectionState::Uninitialized, ConnectionState::Ready] {
        let mut after = state;
        assert!(offer(&mut after, &Operation::Initialized).is_some());
        assert_eq!(after, state);
    }
}

#[test]
fn a_refusal_says_what_to_send_or_why_nothing_is_accepted() {
    let detail = |mut state, operation: &Operation| {
        let error = toolkit().accept(&mut state, operation).unwrap_err();
        error.data.unwrap()["detail"].as_str().unwrap().to_owned()
    };
    let early = detail(ConnectionState::Uninitialized, &Operation::Ping);
    assert_eq!(early, "ping came before initialize; send that first.");
    let twice = detail(ConnectionState::Ready, &Operation::Initialize(json!({})));
    assert_eq!(twice, "initialize was sent before; the connection is initialized.");
    let late = detail(ConnectionState::Shutting { graceful: true }, &Operation::ListPrompts);
    assert_eq!(late, "prompts/list is not accepted: the connection is shutting down.");
}

#[test]
fn every_argument_that_the_contract_requires_has_to_be_there() {
    let dialect = toolkit();
    for tool in &TOOLS {
        let problems = dialect.narrowed(tool.name).unwrap().check(&json!({})).err();
        let count = match problems.and_then(|error| error.reason).as_deref() {
            Some(mainstay_core::Reason::Problems(problems)) => problems.len(),
            _ => 0,
        };
        assert_eq!(count, tool.required.len(), "{}", tool.name);
    }
    assert!(dialect.narrowed("probe_echo").is_none());
}
