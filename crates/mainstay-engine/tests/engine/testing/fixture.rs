//! An engine with four small tools, and callers to use it.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use mainstay_core::{
    Answer, AnswerAction, BoxFuture, Call, Caller, Context, Effect, Error, Family, Kind, ManualClock, Note,
    OpenQuestions, Principal, Question, Reason, Registry, Reply, Result, Scopes, Sink, Spec, Spelling, Tool,
};
use mainstay_engine::{Engine, EngineSettings};
use mainstay_store::{AuditQuery, AuditRow, Store, StoreOptions};
use serde_json::{Value, json};

pub(crate) struct Fixture {
    pub(crate) engine: Engine,
    pub(crate) store: Store,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) wiped: Arc<AtomicUsize>,
    dir: Arc<tempfile::TempDir>,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let dir = Arc::new(tempfile::tempdir().unwrap());
        let clock = Arc::new(ManualClock::at_ms(1_800_000_000_000));
        Self::build(dir, None, clock, EngineSettings::default()).await
    }

    /// Two replicas on the PostgreSQL that `cargo xtask test` starts. Without one the test is skipped on a developer's
    /// machine and fails in CI. Other tests use the same database: principals have to be of this test alone.
    pub(crate) async fn replicas(settings: EngineSettings) -> Option<[Self; 2]> {
        let url = std::env::var("MAINSTAY_TEST_POSTGRES").ok();
        assert!(url.is_some() || std::env::var_os("CI").is_none(), "MAINSTAY_TEST_POSTGRES is not set");
        let url = url?;
        let dir = Arc::new(tempfile::tempdir().unwrap());
        let clock = Arc::new(ManualClock::at_ms(1_800_000_000_000));
        let one = Self::build(dir.clone(), Some(&url), clock.clone(), settings.clone()).await;
        Some([one, Self::build(dir, Some(&url), clock, settings).await])
    }

    /// Another process on the same store, with other settings.
    pub(crate) async fn again(&self, settings: EngineSettings) -> Self {
        Self::build(self.dir.clone(), None, self.clock.clone(), settings).await
    }

    async fn build(
        dir: Arc<tempfile::TempDir>,
        url: Option<&str>,
        clock: Arc<ManualClock>,
        settings: EngineSettings,
    ) -> Self {
        let file = format!("sqlite:{}", dir.path().join("store.db").display());
        let options = StoreOptions { audit_archive: Some(dir.path().join("archive")), ..StoreOptions::default() };
        let store = Store::open(url.unwrap_or(&file), options).await.unwrap();
        let wiped = Arc::new(AtomicUsize::new(0));
        let family = Family::new("test").tool(Wipe(wiped.clone())).tool(Remove).tool(Drop).tool(Look);
        let registry = Registry::new(vec![family]).unwrap();
        let engine = Engine::new(settings, registry, store.clone(), clock.clone()).unwrap();
        Self { engine, store, clock, wiped, dir }
    }

    pub(crate) fn wiped(&self) -> usize {
        self.wiped.load(Ordering::Relaxed)
    }

    pub(crate) async fn call(&self, caller: &Caller, tool: &str, args: Value) -> Result<Reply> {
        self.engine.call_tool(tool, args, Call::new(Arc::new(caller.clone())), &self.engine.lane()).await
    }

    pub(crate) async fn call_with(
        &self,
        caller: &Caller,
        sink: &Arc<impl Sink + 'static>,
        args: Value,
    ) -> Result<Reply> {
        let mut call = Call::new(Arc::new(caller.clone()));
        call.sink = sink.clone();
        self.engine.call_tool("test_wipe", args, call, &self.engine.lane()).await
    }

    /// Makes the call and gives the id of the consent it needs.
    pub(crate) async fn asked(&self, caller: &Caller, args: Value) -> String {
        let refused = self.call(caller, "test_wipe", args).await.unwrap_err();
        assert_eq!(refused.kind, Kind::ConsentRequired, "{refused}");
        consent_id(refused)
    }

    /// The audit, oldest first.
    pub(crate) async fn audit(&self) -> Vec<AuditRow> {
        self.store.audit().flush().await.unwrap();
        let query = AuditQuery { limit: 1000, ..AuditQuery::default() };
        let mut rows = self.store.audit().query(query).await.unwrap();
        rows.reverse();
        rows
    }
}

pub(crate) fn local() -> Caller {
    Caller::local(Some(IpAddr::V4(Ipv4Addr::LOCALHOST)))
}

pub(crate) fn with_token(who: &str, scopes: &str) -> Caller {
    Caller { principal: Principal::new("https://issuer.example", who), scopes: Scopes::parse(scopes), ..local() }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct WipeArgs {
    #[expect(dead_code, reason = "only its digest matters")]
    file: String,
    #[expect(dead_code, reason = "a model may say it; nobody listens")]
    confirm: Option<bool>,
}

struct Wipe(Arc<AtomicUsize>);

impl Tool for Wipe {
    const SPEC: Spec = Spec::new("test", "wipe", Effect::Destroys);
    type Args = WipeArgs;
    type Output = Reply;

    async fn call(&self, _args: WipeArgs, _context: &Context) -> Result<Reply> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Reply::structured(json!({"wiped": true})))
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct DryArgs {
    #[serde(default)]
    #[expect(dead_code, reason = "the pipeline reads it")]
    dry_run: bool,
}

/// Dangerous by its name in contract 001.
struct Remove;

impl Tool for Remove {
    const SPEC: Spec = Spec {
        dry_run: true,
        spellings: &[Spelling { dialect: "agents", name: "remove_item" }],
        ..Spec::new("test", "take_away", Effect::Writes)
    };
    type Args = DryArgs;
    type Output = Reply;

    async fn call(&self, _args: DryArgs, _context: &Context) -> Result<Reply> {
        Ok(Reply::text("removed"))
    }
}

/// The same word, in a family that goes by effects.
struct Drop;

impl Tool for Drop {
    const SPEC: Spec = Spec::new("test", "drop", Effect::Writes);
    type Args = DryArgs;
    type Output = Reply;

    async fn call(&self, _args: DryArgs, _context: &Context) -> Result<Reply> {
        Ok(Reply::text("dropped"))
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct LookArgs {
    #[serde(default)]
    fail: bool,
}

/// Only reads, and may find that it cannot.
struct Look;

impl Tool for Look {
    const SPEC: Spec = Spec::new("test", "look", Effect::Reads);
    type Args = LookArgs;
    type Output = Reply;

    async fn call(&self, args: LookArgs, _context: &Context) -> Result<Reply> {
        if args.fail {
            return Err(Error::unavailable("Nothing can be seen."));
        }
        Ok(Reply::structured(json!({"seen": true})))
    }
}

/// A client that can be asked some questions and answers all of them alike.
pub(crate) struct Person {
    pub(crate) can_open_pages: bool,
    pub(crate) answer: AnswerAction,
    pub(crate) asked: Mutex<Vec<Question>>,
}

impl Person {
    pub(crate) fn who(can_open_pages: bool, answer: AnswerAction) -> Arc<Self> {
        Arc::new(Self { can_open_pages, answer, asked: Mutex::default() })
    }
}

impl Sink for Person {
    fn send(&self, _note: Note) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn ask(&self, asked: OpenQuestions) -> BoxFuture<'_, Result<Vec<Answer>>> {
        let pages = asked.questions.iter().any(|(_, question)| matches!(question, Question::Page { .. }));
        let answers = if pages && !self.can_open_pages {
            Err(Error::new(Kind::Unsupported, "no pages"))
        } else {
            self.asked.lock().unwrap().extend(asked.questions.into_iter().map(|(_, question)| question));
            Ok(vec![Answer { action: self.answer, value: Value::Null }])
        };
        Box::pin(std::future::ready(answers))
    }
}

/// The id of the consent that a refused call needs.
pub(crate) fn consent_id(refused: Error) -> String {
    let Reason::ConsentNeeded { id, .. } = *refused.reason.unwrap() else { panic!("no consent is needed") };
    id
}
