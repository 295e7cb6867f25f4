//! Calls that plan their change: consent covers what the person saw, and what the arguments do not tell is asked about.

use std::sync::Arc;

use mainstay_core::{
    Call, Caller, Context, Effect, Error, Family, Kind, PlannedChange, Reason, Registry, Reply, Result, Scope, Spec,
    SystemClock, Tool,
};
use mainstay_engine::{Engine, EngineSettings};
use mainstay_store::{AuditQuery, AuditRow, Store, StoreOptions};
use parking_lot::Mutex;
use serde_json::json;

use crate::testing::{consent_id, local, with_token};

/// What the tool finds when it plans, and how often it has changed it.
#[derive(Clone)]
struct World {
    plan: PlannedChange,
    /// Changes the state behind the back of a call that has been approved.
    swap_after: Option<usize>,
    /// As long as it has been planned no more often than this, there is nothing to change.
    done_until: usize,
    planned: usize,
    changes: usize,
}

struct Rewrite(Arc<Mutex<World>>);

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct NoArgs {}

impl Tool for Rewrite {
    const SPEC: Spec = Spec { plans: true, ..Spec::new("test", "rewrite", Effect::Writes) };
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<Reply> {
        let mut world = self.0.lock();
        world.planned += 1;
        if world.swap_after == Some(world.planned) {
            world.plan.state = "swapped".into();
        }
        if world.planned <= world.done_until {
            return Ok(Reply::text("nothing to change"));
        }
        context.mark_in_audit("marked");
        if !context.approval.covers(&world.plan) {
            return Err(Error::unapproved(world.plan.clone()));
        }
        world.changes += 1;
        Ok(Reply::text("changed"))
    }
}

struct TestEngine {
    engine: Engine,
    store: Store,
    world: Arc<Mutex<World>>,
    _directory: tempfile::TempDir,
}

async fn test_engine(effect: Effect, ask: bool, settings: EngineSettings) -> TestEngine {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", directory.path().join("store.db").display());
    let store = Store::open(&url, StoreOptions::default()).await.unwrap();
    let notice = Some("Everything in it would be lost.".to_owned());
    let plan = PlannedChange { effect, state: "first".into(), ask, notice };
    let world = Arc::new(Mutex::new(World { plan, swap_after: None, done_until: 0, planned: 0, changes: 0 }));
    let registry = Registry::new(vec![Family::new("test").tool(Rewrite(world.clone()))]).unwrap();
    let engine = Engine::new(settings, registry, store.clone(), Arc::new(SystemClock)).unwrap();
    TestEngine { engine, store, world, _directory: directory }
}

impl TestEngine {
    async fn call(&self, caller: &Caller) -> Result<Reply> {
        let call = Call::new(Arc::new(caller.clone()));
        self.engine.call_tool("test_rewrite", json!({}), call, &self.engine.lane()).await
    }

    /// Makes the call, which has to be refused, and approves it.
    async fn approve(&self) -> String {
        let refused = self.call(&local()).await.unwrap_err();
        assert_eq!(refused.kind, Kind::ConsentRequired, "{refused}");
        let id = consent_id(refused);
        let view = self.engine.consent().decide(&local(), &id, true, None).await.unwrap();
        assert!(view.summary.contains("would be lost"), "{}", view.summary);
        id
    }

    fn changes(&self) -> usize {
        self.world.lock().changes
    }

    async fn rows(&self) -> Vec<AuditRow> {
        self.store.audit().flush().await.unwrap();
        self.store.audit().query(AuditQuery { limit: 100, ..AuditQuery::default() }).await.unwrap()
    }
}

fn writes_need_consent() -> EngineSettings {
    let mut settings = EngineSettings::default();
    settings.consent.required_for.push(Effect::Writes);
    settings
}

#[tokio::test]
async fn a_plan_within_the_declared_effect_runs_at_once() {
    let fixture = test_engine(Effect::Writes, false, EngineSettings::default()).await;
    fixture.call(&local()).await.unwrap();
    assert_eq!(fixture.world.lock().planned, 1, "it is planned once");
    let effects: Vec<String> = fixture.rows().await.into_iter().map(|row| row.entry.effect.into_owned()).collect();
    assert_eq!(effects, ["writes marked", "writes"], "the outcome is marked");
}

#[tokio::test]
async fn a_plan_that_destroys_or_that_a_person_must_see_is_asked_about() {
    for (effect, ask) in [(Effect::Destroys, false), (Effect::Writes, true)] {
        let fixture = test_engine(effect, ask, EngineSettings::default()).await;
        fixture.approve().await;
        assert_eq!(fixture.changes(), 0);
        fixture.call(&local()).await.unwrap();
        assert_eq!(fixture.changes(), 1);
        let again = fixture.call(&local()).await.unwrap_err();
        assert_eq!(again.kind, Kind::ConsentRequired, "an approval is good for one call");
    }
}

#[tokio::test]
async fn a_plan_that_destroys_needs_the_scope_for_it() {
    let fixture = test_engine(Effect::Destroys, false, EngineSettings::default()).await;
    let refused = fixture.call(&with_token("ann", "read write")).await.unwrap_err();
    assert_eq!(refused.reason.as_deref(), Some(&Reason::MissingScope(Scope::Delete)));
    let mut settings = EngineSettings::default();
    settings.consent.required_for.clear();
    let fixture = test_engine(Effect::Destroys, false, settings).await;
    fixture.call(&with_token("ann", "read write delete")).await.unwrap();
    assert_eq!(fixture.changes(), 1, "where nobody has to be asked, the scope is enough");
}

#[tokio::test]
async fn a_consent_is_good_for_what_was_there_and_for_nothing_that_took_its_place() {
    for settings in [EngineSettings::default(), writes_need_consent()] {
        let fixture = test_engine(Effect::Destroys, false, settings).await;
        let first = fixture.approve().await;
        fixture.world.lock().plan.state = "second".into();
        let second = fixture.approve().await;
        assert_ne!(first, second, "another state is another question");
        assert_eq!(fixture.changes(), 0);
        fixture.call(&local()).await.unwrap();
        fixture.world.lock().plan.state = "first".into();
        fixture.call(&local()).await.unwrap();
        assert_eq!(fixture.changes(), 2, "each approval was used for its own state");
    }
}

#[tokio::test]
async fn what_changes_after_the_approval_was_used_is_not_touched() {
    for settings in [EngineSettings::default(), writes_need_consent()] {
        let fixture = test_engine(Effect::Destroys, false, settings).await;
        fixture.approve().await;
        let planned = fixture.world.lock().planned;
        // The next call is planned with the approved state, and runs when it is another one.
        fixture.world.lock().swap_after = Some(planned + 2);
        let error = fixture.call(&local()).await.unwrap_err();
        assert_eq!(error.kind, Kind::Conflict, "{error}");
        assert_eq!(fixture.changes(), 0);
    }
}

#[tokio::test]
async fn a_call_that_has_nothing_to_change_asks_nobody() {
    let fixture = test_engine(Effect::Writes, false, writes_need_consent()).await;
    fixture.world.lock().done_until = 2;
    let reply = fixture.call(&local()).await.unwrap();
    assert_eq!(reply.content[0].as_text(), Some("nothing to change"));
    // It has nothing to change when it is planned, and something when it runs.
    fixture.world.lock().done_until = 3;
    fixture.approve().await;
    assert_eq!(fixture.changes(), 0);
}
