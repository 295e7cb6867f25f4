//! Calls that are stopped: the work hears of it, and what is on record is what happened.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mainstay_core::{
    Call, CancellationToken, Context, Effect, Error, Family, Kind, Registry, Reply, Result, Spec, SystemClock, Tool,
};
use mainstay_engine::{Engine, EngineSettings};
use mainstay_store::{AuditQuery, Phase, Store, StoreOptions};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::testing::local;

/// A read that waits for ever, and passes on the token that is to stop it.
struct Watch(UnboundedSender<CancellationToken>);

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct NoArgs {}

impl Tool for Watch {
    const SPEC: Spec = Spec::new("test", "watch", Effect::Reads);
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<Reply> {
        self.0.send(context.cancel.clone()).unwrap();
        std::future::pending().await
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct ChangeArgs {
    /// Whether the work gives up when it is told to, or is too far for that.
    gives_up: bool,
}

/// A change on another thread, which is in the middle of its work when the call is stopped. It says that it has begun.
struct Change {
    changed: Arc<AtomicBool>,
    begun: Arc<Notify>,
}

impl Tool for Change {
    const SPEC: Spec = Spec::new("test", "change", Effect::Writes);
    type Args = ChangeArgs;
    type Output = Reply;

    async fn call(&self, args: ChangeArgs, context: &Context) -> Result<Reply> {
        let _held = context.hold();
        let (changed, cancel) = (self.changed.clone(), context.cancel.clone());
        self.begun.notify_one();
        let work = move || {
            while !cancel.is_cancelled() {
                std::thread::sleep(Duration::from_millis(1));
            }
            // Long enough that a call which is dropped has been answered before.
            std::thread::sleep(Duration::from_millis(100));
            if args.gives_up {
                return Err(Error::new(Kind::Cancelled, "The call was cancelled."));
            }
            changed.store(true, Ordering::SeqCst);
            Ok(Reply::text("changed"))
        };
        tokio::task::spawn_blocking(work).await.unwrap()
    }
}

struct TestEngine {
    engine: Engine,
    store: Store,
    changed: Arc<AtomicBool>,
    /// Notified when a change has begun.
    begun: Arc<Notify>,
    tokens: tokio::sync::mpsc::UnboundedReceiver<CancellationToken>,
    _directory: tempfile::TempDir,
}

async fn test_engine(deadline_seconds: u64) -> TestEngine {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", directory.path().join("store.db").display());
    let store = Store::open(&url, StoreOptions::default()).await.unwrap();
    let (sender, tokens) = unbounded_channel();
    let (changed, begun) = (Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()));
    let change = Change { changed: changed.clone(), begun: begun.clone() };
    let family = Family::new("test").tool(Watch(sender)).tool(change);
    let settings = EngineSettings { deadline_seconds, ..EngineSettings::default() };
    let registry = Registry::new(vec![family]).unwrap();
    let engine = Engine::new(settings, registry, store.clone(), Arc::new(SystemClock)).unwrap();
    TestEngine { engine, store, changed, begun, tokens, _directory: directory }
}

impl TestEngine {
    async fn call(&self, tool: &str, args: Value, cancel: CancellationToken) -> Result<Reply> {
        let mut call = Call::new(Arc::new(local()));
        call.cancel = cancel;
        self.engine.call_tool(tool, args, call, &self.engine.lane()).await
    }

    /// The outcome on record.
    async fn outcome(&self) -> String {
        self.store.audit().flush().await.unwrap();
        let rows = self.store.audit().query(AuditQuery { limit: 10, ..AuditQuery::default() }).await.unwrap();
        let ended: Vec<_> = rows.iter().filter(|row| row.entry.phase == Phase::Ended).collect();
        assert_eq!(ended.len(), 1, "one call has one outcome");
        ended[0].entry.outcome.to_string()
    }
}

#[tokio::test]
async fn a_read_whose_client_has_left_is_told_to_stop() {
    let mut fixture = test_engine(3600).await;
    let engine = fixture.engine.clone();
    let client = tokio::spawn(async move {
        let call = Call::new(Arc::new(local()));
        engine.call_tool("test_watch", json!({}), call, &engine.lane()).await
    });
    let token = fixture.tokens.recv().await.unwrap();
    assert!(!token.is_cancelled());
    client.abort();
    assert!(client.await.unwrap_err().is_cancelled());
    assert!(token.is_cancelled(), "the thread that reads for the call would go on");
}

#[tokio::test]
async fn a_change_that_is_completed_after_its_deadline_is_a_success_on_record_too() {
    let fixture = test_engine(0).await;
    let reply = fixture.call("test_change", json!({"gives_up": false}), CancellationToken::new()).await;
    assert!(fixture.changed.load(Ordering::SeqCst), "the call was answered while its change went on");
    assert_eq!(reply.unwrap(), Reply::text("changed"));
    assert_eq!(fixture.outcome().await, "ok");
}

#[tokio::test]
async fn a_change_that_stops_at_its_deadline_has_changed_nothing_and_says_so() {
    let fixture = test_engine(0).await;
    let error = fixture.call("test_change", json!({"gives_up": true}), CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.kind, Kind::TimedOut);
    assert!(error.public.ends_with("was stopped. Nothing was changed."), "{error}");
    assert!(!fixture.changed.load(Ordering::SeqCst));
    assert_eq!(fixture.outcome().await, "timed_out");
}

#[tokio::test]
async fn a_cancelled_change_is_recorded_as_what_it_did() {
    for (gives_up, outcome) in [(true, "cancelled"), (false, "ok")] {
        let (fixture, cancel) = (test_engine(3600).await, CancellationToken::new());
        let stop = async {
            fixture.begun.notified().await;
            cancel.cancel();
        };
        let change = fixture.call("test_change", json!({ "gives_up": gives_up }), cancel.clone());
        let (reply, ()) = tokio::join!(change, stop);
        assert_eq!(reply.is_ok(), !gives_up);
        assert_eq!(fixture.changed.load(Ordering::SeqCst), !gives_up);
        assert_eq!(fixture.outcome().await, outcome);
    }
}
