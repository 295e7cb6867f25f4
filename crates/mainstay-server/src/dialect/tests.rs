//! The dispatcher with the dialect `context`, an engine, and three small tools in place of the real ones.

use mainstay_core::{
    Context, Effect, Family, Kind, Reason, Registry, Reply, Result, Spec, Spelling, SystemClock, Tool,
};
use mainstay_engine::EngineSettings;
use mainstay_store::{AuditQuery, Store, StoreOptions};

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{CacheFailure, CancellationToken, Error, Quota, new_id};
use mainstay_engine::Engine;
use mainstay_wire::Endpoint;
use mainstay_wire::context::Context as ContextDialect;
use serde_json::{Value, json};

use super::{Dispatcher, RequestContext};
use crate::connection::Connection;

/// The contract's tools, in its order.
const TOOLS: [&str; 3] = ["context.resolve", "context.list_caches", "context.inspect_cache"];

/// What must not be seen on the wire.
const CANARY: &str = "/srv/caches/canary";

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct ResolveArgs {
    /// Which cache.
    cache: String,
    /// Which words.
    query: String,
    /// How many tokens.
    budget: u64,
}

/// What becomes of a call is in the name of its cache.
struct Resolve;

impl Tool for Resolve {
    const SPEC: Spec = Spec {
        description: "Resolves.",
        spellings: &[Spelling { dialect: "context", name: "context.resolve" }],
        ..Spec::new("context", "resolve", Effect::Reads)
    };
    type Args = ResolveArgs;
    type Output = Reply;

    async fn call(&self, args: ResolveArgs, _context: &Context) -> Result<Reply> {
        let said = |kind: Kind| Error::new(kind, CANARY).with_detail(CANARY);
        match args.cache.as_str() {
            "gone" => Err(said(Kind::NotFound)),
            "tampered" => Err(said(Kind::Unavailable).with_reason(Reason::Cache(CacheFailure::CacheInvalid))),
            "unreadable" => Err(said(Kind::Unavailable).with_reason(Reason::Cache(CacheFailure::Io))),
            "huge" => Err(said(Kind::TooLarge)),
            "endless" => std::future::pending().await,
            "mad" => panic!("{CANARY}"),
            "sorry" => Ok(Reply::failure(CANARY)),
            cache => Ok(Reply::text(format!("{cache} {} {}\n", args.query, args.budget))),
        }
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct NoArgs {}

/// The rest of the family: two of the contract's, and one that is not.
struct Other<const N: usize>;

impl<const N: usize> Tool for Other<N> {
    const SPEC: Spec = Spec {
        description: "Another.",
        spellings: &[Spelling {
            dialect: ["context", "context", "other"][N],
            name: ["context.list_caches", "context.inspect_cache", "context.pack"][N],
        }],
        ..Spec::new("context", ["list_caches", "inspect_cache", "pack"][N], Effect::Reads)
    };
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, _context: &Context) -> Result<Reply> {
        Ok(Reply::structured(json!({"nth": N})))
    }
}

struct Fixture {
    dispatcher: Dispatcher,
    connection: Connection,
    store: Store,
    _dir: tempfile::TempDir,
}

impl Fixture {
    async fn new() -> Self {
        Self::with(EngineSettings::default(), &[]).await
    }

    async fn greeted() -> Self {
        let fixture = Self::new().await;
        fixture.ask("initialize", &Value::Null).await;
        fixture
    }

    async fn with(settings: EngineSettings, disabled: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", dir.path().join("store.db").display());
        let store = Store::open(&url, StoreOptions::default()).await.unwrap();
        let family = Family::new("context").tool(Resolve).tool(Other::<0>).tool(Other::<1>).tool(Other::<2>);
        let mut registry = Registry::new(vec![family]).unwrap();
        registry.disable(disabled).unwrap();
        let engine = Engine::new(settings, registry, store.clone(), Arc::new(SystemClock)).unwrap();
        let connection = Connection::local(&engine);
        let dialect = Arc::new(ContextDialect::new(Duration::from_millis(50)));
        let dispatcher = Dispatcher::new(engine, dialect, Endpoint::Stdio, "1.2.3");
        Self { dispatcher, connection, store, _dir: dir }
    }

    /// The answer to request 1, without its envelope.
    async fn ask(&self, method: &str, params: &Value) -> String {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = self.dispatcher.dialect.decode(message.to_string().as_bytes()).unwrap();
        let context = RequestContext {
            connection: self.connection.clone(),
            request_id: new_id().into(),
            session: Some("s".into()),
            claimed_session: None,
            claimed_user: None,
            idempotency_key: None,
            chunks: None,
            cancel: CancellationToken::new(),
        };
        let response = self.dispatcher.answer(request, &context).await;
        let answer = String::from_utf8(response.body.unwrap()).unwrap();
        assert!(!answer.contains("canary"), "{answer}");
        let inner = answer.strip_prefix(r#"{"jsonrpc":"2.0","id":1,"#).and_then(|rest| rest.strip_suffix('}'));
        inner.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    async fn call(&self, name: &str, arguments: &Value) -> String {
        self.ask("tools/call", &json!({"name": name, "arguments": arguments})).await
    }

    /// What was recorded, oldest first.
    async fn audit(&self) -> Vec<String> {
        self.store.audit().flush().await.unwrap();
        let rows = self.store.audit().query(AuditQuery { limit: 100, ..AuditQuery::default() }).await.unwrap();
        rows.into_iter().rev().map(|row| row.entry.target.to_string()).collect()
    }
}

fn text_result(text: &str) -> String {
    format!(r#""result":{{"content":[{{"text":{},"type":"text"}}]}}"#, Value::from(text))
}

fn message(code: CacheFailure) -> &'static str {
    match code {
        CacheFailure::CacheMissing => "Cache does not exist",
        CacheFailure::CacheInvalid => "Cache exists but is invalid",
        CacheFailure::InvalidQuery => "Query is invalid",
        CacheFailure::InvalidBudget => "Budget is invalid",
        CacheFailure::Io => "I/O error occurred",
        CacheFailure::Internal => "Internal error",
    }
}

fn frozen(code: CacheFailure) -> String {
    format!(r#"{{"error":{{"code":"{}","message":"{}"}}}}"#, code.as_str(), message(code))
}

fn failure(code: CacheFailure) -> String {
    let text = Value::from(format!(
        "{}
",
        frozen(code)
    ));
    format!(r#""result":{{"content":[{{"text":{text},"type":"text"}}],"isError":true}}"#)
}

fn error(code: CacheFailure) -> String {
    let number = if code == CacheFailure::Internal { -32603 } else { -32602 };
    format!(r#""error":{{"code":{number},"message":"{}","data":{}}}"#, message(code), frozen(code))
}

fn unknown_tool(name: &str) -> String {
    format!(r#""error":{{"code":-32602,"message":"Unknown tool: {name}"}}"#)
}

#[tokio::test]
async fn nothing_is_answered_before_the_greeting_and_everything_after_it() {
    let fixture = Fixture::new().await;
    let closed = r#""error":{"code":-32600,"message":"Server not initialized"}"#;
    for method in ["ping", "tools/list", "tools/call", "no/such", "notifications/initialized"] {
        assert_eq!(fixture.ask(method, &Value::Null).await, closed, "{method}");
    }
    assert_eq!(fixture.call("context.list_caches", &json!({})).await, closed);
    assert_eq!(fixture.audit().await, vec!["jsonrpc"; 6], "what is refused is recorded too");
    for version in ["2024-11-05", "2030-01-01"] {
        let greeting = fixture.ask("initialize", &json!({"protocolVersion": version})).await;
        let head = r#""result":{"capabilities":{"tools":{}},"protocolVersion":"2024-11-05","serverInfo":{"name":"mcp-context-server","version":"1.2.3"},"tools":[{"#;
        assert!(greeting.starts_with(head), "{greeting}");
        assert_eq!(fixture.ask("ping", &Value::Null).await, r#""result":{}"#);
    }
    assert_eq!(
        fixture.ask("no/such", &Value::Null).await,
        r#""error":{"code":-32601,"message":"Method not found: no/such"}"#
    );
}

fn names(result: &str) -> Vec<String> {
    let result: Value = serde_json::from_str(&format!("{{{result}}}")).unwrap();
    let tools = result["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn the_contracts_tools_are_listed_in_its_order_in_the_greeting_too() {
    let fixture = Fixture::new().await;
    let greeting = fixture.ask("initialize", &Value::Null).await;
    let list = fixture.ask("tools/list", &Value::Null).await;
    assert_eq!(names(&list), TOOLS);
    assert!(greeting.ends_with(list.strip_prefix(r#""result":{"#).unwrap()), "{greeting}");
}

#[tokio::test]
async fn a_tool_that_is_switched_off_is_neither_listed_nor_known() {
    let fixture = Fixture::with(EngineSettings::default(), &["context/list_caches"]).await;
    assert_eq!(names(&fixture.ask("initialize", &Value::Null).await), [TOOLS[0], TOOLS[2]]);
    assert_eq!(names(&fixture.ask("tools/list", &Value::Null).await), [TOOLS[0], TOOLS[2]]);
    assert_eq!(fixture.call("context.list_caches", &json!({})).await, unknown_tool("context.list_caches"));
}

#[tokio::test]
async fn a_call_is_answered_with_the_text_of_its_reply_and_recorded() {
    let fixture = Fixture::greeted().await;
    let args = json!({"cache": "c", "query": "q\n", "budget": 7, "surplus": {"cache": "gone"}});
    assert_eq!(fixture.call("context.resolve", &args).await, text_result("c q\n 7\n"));
    for none in [json!({}), Value::Null] {
        assert_eq!(fixture.call("context.inspect_cache", &none).await, text_result(r#"{"nth":1}"#));
    }
    let calls = ["initialize", "context_resolve", "context_inspect_cache", "context_inspect_cache"];
    assert_eq!(fixture.audit().await, calls);
}

#[tokio::test]
async fn under_another_name_there_is_no_tool_and_the_attempt_is_recorded() {
    let fixture = Fixture::greeted().await;
    let others = ["context_resolve", "context/resolve", "context.pack", "context_pack", "health", ""];
    for name in others {
        assert_eq!(fixture.call(name, &json!([])).await, unknown_tool(name), "{name}");
    }
    let attempts = others.map(|name| format!("tools/call {name}"));
    assert_eq!(fixture.audit().await, [&["initialize".to_owned()], attempts.as_slice()].concat());
}

#[tokio::test]
async fn what_goes_wrong_in_a_tool_is_a_result_in_the_contracts_words() {
    let fixture = Fixture::greeted().await;
    for (cache, code) in [
        ("gone", CacheFailure::CacheMissing),
        ("tampered", CacheFailure::CacheInvalid),
        ("unreadable", CacheFailure::Io),
        ("huge", CacheFailure::Internal),
        ("endless", CacheFailure::Internal),
        ("mad", CacheFailure::Internal),
        ("sorry", CacheFailure::Internal),
    ] {
        let answer = fixture.call("context.resolve", &json!({"cache": cache, "query": "", "budget": 0})).await;
        assert_eq!(answer, failure(code), "{cache}");
    }
}

#[tokio::test]
async fn bad_arguments_are_a_result_and_none_at_all_an_error() {
    let fixture = Fixture::greeted().await;
    for (args, code) in [
        (json!({"cache": CANARY, "budget": 1}), CacheFailure::InvalidQuery),
        (json!({"cache": 1, "query": [CANARY], "budget": -1}), CacheFailure::InvalidQuery),
        (json!({"cache": "c", "query": "", "budget": -1}), CacheFailure::InvalidBudget),
        (json!({"cache": "c", "query": "", "budget": 1.5}), CacheFailure::InvalidBudget),
        (json!({"cache": "c", "query": "", "budget": CANARY}), CacheFailure::InvalidBudget),
        (json!({"cache": "c", "query": "", "budget": 1e30}), CacheFailure::InvalidBudget),
        (json!({"cache": null, "query": "", "budget": 1}), CacheFailure::CacheMissing),
    ] {
        assert_eq!(fixture.call("context.resolve", &args).await, failure(code), "{args}");
    }
    for (name, code) in
        [("context.resolve", CacheFailure::InvalidQuery), ("context.list_caches", CacheFailure::InvalidQuery)]
    {
        assert_eq!(fixture.call(name, &json!([CANARY])).await, error(code), "{name}");
    }
}

#[tokio::test]
async fn what_a_policy_refuses_is_an_error_and_says_no_more() {
    let mut settings = EngineSettings::default();
    settings.consent.required_for_tools = vec!["context.resolve".into()];
    settings.rate.per_client = Some(Quota { calls: 3, seconds: 3600 });
    let fixture = Fixture::with(settings, &[]).await;
    assert_eq!(names(&fixture.ask("initialize", &Value::Null).await), TOOLS);
    let refused = error(CacheFailure::Internal);
    let args = json!({"cache": "c", "query": "", "budget": 1});
    assert_eq!(fixture.call("context.resolve", &args).await, refused, "a person has not approved it");
    assert_eq!(fixture.call("context.list_caches", &json!({})).await, text_result(r#"{"nth":0}"#));
    for method in ["tools/list", "initialize"] {
        assert_eq!(fixture.ask(method, &Value::Null).await, refused, "{method} is counted like a call");
    }
    for name in ["context.list_caches", "no.such"] {
        assert_eq!(fixture.call(name, &json!({})).await, refused, "{name}");
    }
    assert_eq!(fixture.ask("ping", &Value::Null).await, r#""result":{}"#);
}

#[tokio::test]
async fn lists_unknown_methods_and_malformed_messages_are_recorded() {
    let fixture = Fixture::greeted().await;
    fixture.ask("tools/list", &Value::Null).await;
    fixture.ask("no/such", &Value::Null).await;
    fixture.ask("tools/call", &json!({"name": 1})).await;
    assert_eq!(fixture.audit().await, ["initialize", "tools/list", "jsonrpc no/such", "jsonrpc"]);
}
