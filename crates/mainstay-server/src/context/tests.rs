//! The desk with an engine behind it, and three small tools in place of the real ones.

use mainstay_core::{
    Context, Effect, Family, Kind, Reason, Registry, Reply, Result, Spec, Spelling, SystemClock, Tool,
};
use mainstay_engine::{EngineSettings, Quota};
use mainstay_store::{AuditQuery, Store, StoreOptions};

use super::*;

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

struct House {
    desk: Desk,
    connection: Connection,
    store: Store,
    _dir: tempfile::TempDir,
}

impl House {
    async fn new() -> Self {
        Self::with(EngineSettings::default(), &[]).await
    }

    async fn greeted() -> Self {
        let house = Self::new().await;
        house.ask("initialize", &Value::Null).await;
        house
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
        let desk = Desk::new(engine, "1.2.3", Duration::from_millis(50));
        Self { desk, connection, store, _dir: dir }
    }

    /// The answer to request 1, without its envelope.
    async fn ask(&self, method: &str, params: &Value) -> String {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = context::decode(message.to_string().as_bytes()).unwrap().unwrap();
        let visit =
            Visit { connection: self.connection.clone(), session: "s".into(), cancel: CancellationToken::new() };
        let answer = String::from_utf8(self.desk.answer(request, visit).await).unwrap();
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
        rows.into_iter().rev().map(|row| row.entry.target).collect()
    }
}

fn told(text: &str) -> String {
    format!(r#""result":{{"content":[{{"text":{},"type":"text"}}]}}"#, Value::from(text))
}

fn mistake(code: CacheFailure) -> String {
    let fault: Value = serde_json::from_str(&Fault::from(code).to_string()).unwrap();
    let text = format!("{}\n", fault["data"]);
    format!(r#""result":{{"content":[{{"text":{},"type":"text"}}],"isError":true}}"#, Value::from(text))
}

fn error(fault: &Fault) -> String {
    format!(r#""error":{fault}"#)
}

#[tokio::test]
async fn nothing_is_answered_before_the_greeting_and_everything_after_it() {
    let house = House::new().await;
    let closed = r#""error":{"code":-32600,"message":"Server not initialized"}"#;
    for method in ["ping", "tools/list", "tools/call", "no/such", "notifications/initialized"] {
        assert_eq!(house.ask(method, &Value::Null).await, closed, "{method}");
    }
    assert_eq!(house.call("context.list_caches", &json!({})).await, closed);
    assert!(house.audit().await.is_empty(), "nothing was called");
    for version in ["2024-11-05", "2030-01-01"] {
        let greeting = house.ask("initialize", &json!({"protocolVersion": version})).await;
        let head = r#""result":{"capabilities":{"tools":{}},"protocolVersion":"2024-11-05","serverInfo":{"name":"mcp-context-server","version":"1.2.3"},"tools":[{"#;
        assert!(greeting.starts_with(head), "{greeting}");
        assert_eq!(house.ask("ping", &Value::Null).await, r#""result":{}"#);
    }
    assert_eq!(
        house.ask("no/such", &Value::Null).await,
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
    let house = House::new().await;
    let greeting = house.ask("initialize", &Value::Null).await;
    let list = house.ask("tools/list", &Value::Null).await;
    assert_eq!(names(&list), TOOLS);
    assert!(greeting.ends_with(list.strip_prefix(r#""result":{"#).unwrap()), "{greeting}");
}

#[tokio::test]
async fn a_tool_that_is_switched_off_is_neither_listed_nor_known() {
    let house = House::with(EngineSettings::default(), &["context/list_caches"]).await;
    assert_eq!(names(&house.ask("initialize", &Value::Null).await), [TOOLS[0], TOOLS[2]]);
    assert_eq!(names(&house.ask("tools/list", &Value::Null).await), [TOOLS[0], TOOLS[2]]);
    assert_eq!(house.call("context.list_caches", &json!({})).await, error(&Fault::no_tool("context.list_caches")));
}

#[tokio::test]
async fn a_call_is_answered_with_the_text_of_its_reply_and_recorded() {
    let house = House::greeted().await;
    let args = json!({"cache": "c", "query": "q\n", "budget": 7, "surplus": {"cache": "gone"}});
    assert_eq!(house.call("context.resolve", &args).await, told("c q\n 7\n"));
    for none in [json!({}), Value::Null] {
        assert_eq!(house.call("context.inspect_cache", &none).await, told(r#"{"nth":1}"#));
    }
    assert_eq!(house.audit().await, ["context_resolve", "context_inspect_cache", "context_inspect_cache"]);
}

#[tokio::test]
async fn under_another_name_there_is_no_tool_and_the_attempt_is_recorded() {
    let house = House::greeted().await;
    let others = ["context_resolve", "context/resolve", "context.pack", "context_pack", "health", ""];
    for name in others {
        assert_eq!(house.call(name, &json!([])).await, error(&Fault::no_tool(name)), "{name}");
    }
    assert_eq!(house.audit().await, others.map(|name| format!("tools/call {name}")));
}

#[tokio::test]
async fn what_goes_wrong_in_a_tool_is_a_result_in_the_contracts_words() {
    let house = House::greeted().await;
    for (cache, code) in [
        ("gone", CacheFailure::CacheMissing),
        ("tampered", CacheFailure::CacheInvalid),
        ("unreadable", CacheFailure::Io),
        ("huge", CacheFailure::Internal),
        ("endless", CacheFailure::Internal),
        ("mad", CacheFailure::Internal),
        ("sorry", CacheFailure::Internal),
    ] {
        let answer = house.call("context.resolve", &json!({"cache": cache, "query": "", "budget": 0})).await;
        assert_eq!(answer, mistake(code), "{cache}");
    }
}

#[tokio::test]
async fn bad_arguments_are_a_result_and_none_at_all_an_error() {
    let house = House::greeted().await;
    for (args, code) in [
        (json!({"cache": CANARY, "budget": 1}), CacheFailure::InvalidQuery),
        (json!({"cache": 1, "query": [CANARY], "budget": -1}), CacheFailure::InvalidQuery),
        (json!({"cache": "c", "query": "", "budget": -1}), CacheFailure::InvalidBudget),
        (json!({"cache": "c", "query": "", "budget": 1.5}), CacheFailure::InvalidBudget),
        (json!({"cache": "c", "query": "", "budget": CANARY}), CacheFailure::InvalidBudget),
        (json!({"cache": "c", "query": "", "budget": 1e30}), CacheFailure::InvalidBudget),
        (json!({"cache": null, "query": "", "budget": 1}), CacheFailure::CacheMissing),
    ] {
        assert_eq!(house.call("context.resolve", &args).await, mistake(code), "{args}");
    }
    for (name, code) in
        [("context.resolve", CacheFailure::InvalidQuery), ("context.list_caches", CacheFailure::InvalidQuery)]
    {
        assert_eq!(house.call(name, &json!([CANARY])).await, error(&code.into()), "{name}");
    }
}

#[tokio::test]
async fn what_a_policy_refuses_is_an_error_and_says_no_more() {
    let mut settings = EngineSettings::default();
    settings.consent.required_for_tools = vec!["context.resolve".into()];
    settings.rate.per_client = Some(Quota { calls: 3, seconds: 3600 });
    let house = House::with(settings, &[]).await;
    assert_eq!(names(&house.ask("initialize", &Value::Null).await), TOOLS);
    let refused = error(&CacheFailure::Internal.into());
    let args = json!({"cache": "c", "query": "", "budget": 1});
    assert_eq!(house.call("context.resolve", &args).await, refused, "a person has not approved it");
    assert_eq!(house.call("context.list_caches", &json!({})).await, told(r#"{"nth":0}"#));
    for method in ["tools/list", "initialize"] {
        assert_eq!(house.ask(method, &Value::Null).await, refused, "{method} is counted like a call");
    }
    for name in ["context.list_caches", "no.such"] {
        assert_eq!(house.call(name, &json!({})).await, refused, "{name}");
    }
    assert_eq!(house.ask("ping", &Value::Null).await, r#""result":{}"#);
}
