//! A consent can be neither forged nor replayed, and everything about it is on record.

use std::sync::Arc;
use std::time::Duration;

use mainstay_auth::ConsentSettings;
use mainstay_auth::consent::ConsentState;
use mainstay_core::{AnswerAction, Call, Caller, Effect, Error, Kind, Question, Reason, iso8601};
use mainstay_engine::EngineSettings;
use mainstay_store::Phase;
use serde_json::json;

use crate::testing::{Fixture, Person, consent_id, local, with_token};

fn consent(change: impl FnOnce(&mut ConsentSettings)) -> EngineSettings {
    let mut settings = EngineSettings::default();
    change(&mut settings.consent);
    settings
}

fn is_required(refused: &Error) -> bool {
    refused.kind == Kind::ConsentRequired
}

#[tokio::test]
async fn after_approval_the_same_call_runs_once_and_only_once() {
    let fixture = Fixture::new().await;
    let args = json!({"file": "a"});
    let refused = fixture.call(&local(), "test_wipe", args.clone()).await.unwrap_err();
    assert!(refused.public.starts_with("Consent required for test_wipe"), "{refused}");
    let Reason::ConsentNeeded { id, url, operation, expires_ms } = *refused.reason.unwrap() else {
        panic!("the reason says which consent is needed")
    };
    let id = id.as_str();
    assert_eq!(url, format!("/api/mcp/consent/{id}"));
    assert_eq!((operation.as_str(), iso8601(expires_ms).as_str()), ("test_wipe", "2027-01-15T08:30:00Z"));
    assert_eq!(fixture.asked(&local(), args.clone()).await, id, "the same call asks the same question");
    let decided = fixture.engine.consent().decide(&local(), id, true, Some("fine")).await.unwrap();
    assert_eq!((decided.status, decided.reason.as_deref()), (ConsentState::Approved, Some("fine")));
    assert!(fixture.call(&local(), "test_wipe", args.clone()).await.is_ok());
    assert_ne!(fixture.asked(&local(), args).await, id);
    assert_eq!(fixture.wiped(), 1);
    assert_eq!(fixture.engine.consent().find(&local(), id).await.unwrap().status, ConsentState::Used);
}

#[tokio::test]
async fn an_approval_is_good_for_nothing_but_its_own_call() {
    let fixture = Fixture::new().await;
    let (alice, bob) = (with_token("alice", "read delete"), with_token("bob", "read delete"));
    let id = fixture.asked(&alice, json!({"file": "a"})).await;
    fixture.engine.consent().decide(&local(), &id, true, None).await.unwrap();
    for (caller, args) in [
        (&alice, json!({"file": "b"})),
        (&alice, json!({"file": "a", "confirm": true})),
        (&alice, json!({"file": "a", "confirm": null})),
        (&bob, json!({"file": "a"})),
        (&local(), json!({"file": "a"})),
    ] {
        assert_ne!(fixture.asked(caller, args.clone()).await, id, "{args}");
    }
    let other_rules = fixture.again(consent(|c| c.required_for.push(Effect::Executes))).await;
    assert_ne!(other_rules.asked(&alice, json!({"file": "a"})).await, id, "other rules");
    assert_eq!(fixture.wiped() + other_rules.wiped(), 0);
    assert!(fixture.call(&alice, "test_wipe", json!({"file": "a"})).await.is_ok());
}

#[tokio::test]
async fn a_model_that_confirms_for_itself_is_not_believed() {
    let fixture = Fixture::new().await;
    for _ in 0..3 {
        fixture.asked(&local(), json!({"file": "a", "confirm": true})).await;
    }
    assert_eq!(fixture.wiped(), 0);
}

#[tokio::test]
async fn what_has_expired_can_be_neither_decided_nor_used() {
    let fixture = Fixture::new().await;
    let half_an_hour = Duration::from_mins(30);
    let undecided = fixture.asked(&local(), json!({"file": "a"})).await;
    fixture.clock.advance(half_an_hour);
    let refused = fixture.engine.consent().decide(&local(), &undecided, true, None).await.unwrap_err();
    assert_eq!(refused.reason.as_deref(), Some(&Reason::ConsentExpired), "{refused}");
    assert_eq!(fixture.engine.consent().find(&local(), &undecided).await.unwrap().status, ConsentState::Expired);
    let approved = fixture.asked(&local(), json!({"file": "a"})).await;
    fixture.engine.consent().decide(&local(), &approved, true, None).await.unwrap();
    fixture.clock.advance(half_an_hour);
    assert_ne!(fixture.asked(&local(), json!({"file": "a"})).await, approved);
    assert_eq!(fixture.wiped(), 0);
}

#[tokio::test]
async fn a_decision_is_made_once() {
    let fixture = Fixture::new().await;
    let id = fixture.asked(&local(), json!({"file": "a"})).await;
    fixture.engine.consent().decide(&local(), &id, false, None).await.unwrap();
    for approve in [true, false] {
        let refused = fixture.engine.consent().decide(&local(), &id, approve, None).await.unwrap_err();
        assert_eq!(
            (refused.kind, refused.public.as_ref()),
            (Kind::Conflict, "This request is already decided: it is denied.")
        );
    }
    let refused = fixture.call(&local(), "test_wipe", json!({"file": "a"})).await.unwrap_err();
    assert_eq!((refused.kind, fixture.wiped()), (Kind::Denied, 0));
}

#[tokio::test]
async fn a_denial_tells_the_caller_the_persons_reason_and_how_long_it_holds() {
    let fixture = Fixture::new().await;
    let agent = with_token("agent", "read delete");
    for (file, given) in [("a", Some("ask ann first")), ("b", None)] {
        let id = fixture.asked(&agent, json!({ "file": file })).await;
        fixture.engine.consent().decide(&local(), &id, false, given).await.unwrap();
        let refused = fixture.call(&agent, "test_wipe", json!({ "file": file })).await.unwrap_err();
        assert!(refused.public.contains(given.unwrap_or("No reason was given")), "{refused}");
        assert!(refused.public.contains("2027-01-15T08:30:00Z"), "{refused}");
        let Reason::ConsentDenied { id: of, reason, .. } = *refused.reason.unwrap() else { panic!("no reason") };
        assert_eq!((of, reason.as_deref()), (id, given));
    }
}

#[tokio::test]
async fn a_request_names_who_asks_and_tells_the_dry_run_to_those_who_could_make_it() {
    let fixture = Fixture::new().await;
    let ask = async |caller: &Caller, client: Option<&str>| {
        let mut call = Call::new(Arc::new(caller.clone()));
        call.client = client.map(Into::into);
        let refused = fixture.engine.call_tool("remove_item", json!({}), call, &fixture.engine.lane()).await;
        let id = consent_id(refused.unwrap_err());
        let shown = fixture.engine.consent().find(&local(), &id).await.unwrap();
        (shown.requester, shown.preview, shown.expires_in_seconds)
    };
    let dry = Some("removed".to_owned());
    assert_eq!(ask(&local(), None).await, ("A program on this machine".into(), dry.clone(), 1800));
    let named = Caller { name: Some("Build bot".into()), ..with_token("c-17", "read write") };
    assert_eq!(ask(&named, None).await, ("Build bot".into(), dry.clone(), 1800));
    let writer = with_token("ann", "write");
    assert_eq!(ask(&writer, Some("cli\u{202e}")).await.0, "ann (with cli\\u{202e})");
    let blind = with_token("bob", "write");
    assert_eq!(ask(&blind, None).await.1, None, "what the caller may not read is not in what it can see");
}

#[tokio::test]
async fn nobody_decides_on_their_own_request_or_without_the_scope() {
    let fixture = Fixture::new().await;
    let alice = with_token("alice", "read delete consent");
    let agent = with_token("agent", "read write delete");
    let boss = with_token("boss", "read consent");
    let own = fixture.asked(&alice, json!({"file": "a"})).await;
    let agents = fixture.asked(&agent, json!({"file": "a"})).await;
    for (caller, id) in [(&alice, &own), (&agent, &agents), (&with_token("agent", "delete admin"), &agents)] {
        let refused = fixture.engine.consent().decide(caller, id, true, None).await.unwrap_err();
        assert_eq!(refused.kind, Kind::Denied, "{refused}");
    }
    // To somebody who may neither see nor decide it, it is not there.
    let refused = fixture.engine.consent().decide(&agent, &own, true, None).await.unwrap_err();
    assert_eq!(refused.kind, Kind::NotFound, "{refused}");
    assert!(fixture.engine.consent().find(&agent, &own).await.is_err());
    assert_eq!(fixture.engine.consent().find(&agent, &agents).await.unwrap().status, ConsentState::Pending);
    for id in [&own, &agents] {
        assert!(fixture.engine.consent().decide(&boss, id, true, None).await.is_ok());
    }
    let allowed = fixture.again(consent(|c| c.self_approval = true)).await;
    let own = allowed.asked(&alice, json!({"file": "b"})).await;
    assert!(allowed.engine.consent().decide(&alice, &own, true, None).await.is_ok());
    let agents = allowed.asked(&agent, json!({"file": "b"})).await;
    assert!(allowed.engine.consent().decide(&agent, &agents, true, None).await.is_err(), "the scope is needed still");
}

#[tokio::test]
async fn where_commands_can_reach_the_server_a_request_without_a_token_does_not_decide() {
    let fixture = Fixture::new().await.again(consent(|c| c.without_token = false)).await;
    let id = fixture.asked(&local(), json!({"file": "a"})).await;
    let refused = fixture.engine.consent().decide(&local(), &id, true, None).await.unwrap_err();
    assert!(refused.to_string().contains("mainstay consent approve"), "{refused}");
    // Nor does a client over HTTP that says a person accepted.
    let claims = Person::who(false, AnswerAction::Accept);
    let refused = fixture.call_with(&local(), &claims, json!({"file": "a"})).await.unwrap_err();
    assert!(is_required(&refused) && claims.asked.lock().unwrap().is_empty(), "{refused}");
    let terminal = mainstay_core::Caller::local(None);
    assert!(fixture.engine.consent().decide(&terminal, &id, true, None).await.is_ok());
}

#[tokio::test]
async fn a_form_counts_for_the_person_at_this_machine_and_not_for_a_token() {
    let fixture = Fixture::new().await;
    let yes = Person::who(false, AnswerAction::Accept);
    assert!(fixture.call_with(&local(), &yes, json!({"file": "a"})).await.is_ok());
    assert_eq!((yes.asked.lock().unwrap().len(), fixture.wiped()), (1, 1));
    let agent = with_token("agent", "read delete");
    for agent in [agent.clone(), with_token("agent", "read delete consent")] {
        let refused = fixture.call_with(&agent, &yes, json!({"file": "a"})).await.unwrap_err();
        assert!(is_required(&refused), "{refused}");
    }
    assert_eq!((yes.asked.lock().unwrap().len(), fixture.wiped()), (1, 1));
}

#[tokio::test]
async fn a_page_that_was_opened_is_not_an_approval_and_one_that_was_not_is_no_refusal() {
    let fixture = Fixture::new().await.again(EngineSettings { deadline_seconds: 0, ..EngineSettings::default() }).await;
    fixture.engine.consent().set_origin("http://127.0.0.1:8099".into());
    let args = json!({"file": "a"});
    for answer in [AnswerAction::Accept, AnswerAction::Decline, AnswerAction::Cancel] {
        let person = Person::who(true, answer);
        let refused = fixture.call_with(&local(), &person, args.clone()).await.unwrap_err();
        assert!(
            is_required(&refused) && refused.public.contains("http://127.0.0.1:8099/api/mcp/consent/"),
            "{refused}"
        );
        let asked = person.asked.lock().unwrap();
        assert!(matches!(&asked[..], [Question::Page { url, id, .. }] if url.ends_with(id)), "{asked:?}");
    }
    assert_eq!(fixture.wiped(), 0);
}

#[tokio::test]
async fn a_call_goes_on_once_the_page_has_decided() {
    let fixture = Fixture::new().await;
    fixture.engine.consent().set_origin("http://127.0.0.1:8099".into());
    for (file, approve) in [("a", true), ("b", false)] {
        let args = json!({"file": file});
        let id = fixture.asked(&local(), args.clone()).await;
        let person = Person::who(true, AnswerAction::Accept);
        let caller = local();
        let call = fixture.call_with(&caller, &person, args);
        let decide = fixture.engine.consent().decide(&caller, &id, approve, None);
        let (outcome, decided) = tokio::join!(call, decide);
        decided.unwrap();
        assert_eq!(outcome.is_ok(), approve);
    }
    assert_eq!(fixture.wiped(), 1);
}

#[tokio::test]
async fn a_dangerous_word_asks_in_contract_001_and_not_elsewhere() {
    let fixture = Fixture::new().await;
    let refused = fixture.call(&local(), "remove_item", json!({})).await.unwrap_err();
    assert!(is_required(&refused) && refused.public.starts_with("Consent required for remove_item"), "{refused}");
    assert!(fixture.call(&local(), "test_take_away", json!({})).await.is_err(), "under every spelling");
    assert!(fixture.call(&local(), "remove_item", json!({"dry_run": true})).await.is_ok());
    assert!(fixture.call(&local(), "test_drop", json!({})).await.is_ok());
    let named = fixture.again(consent(|c| c.required_for_tools = vec!["test/drop".into()])).await;
    assert!(named.call(&local(), "test_drop", json!({})).await.is_err());
    let wordless = fixture.again(consent(|c| c.required_for_words.clear())).await;
    assert!(wordless.call(&local(), "remove_item", json!({})).await.is_ok());
}

#[tokio::test]
async fn everything_about_a_consent_is_on_record() {
    let fixture = Fixture::new().await;
    let (agent, boss) = (with_token("agent", "read delete"), with_token("boss", "consent"));
    let id = fixture.asked(&agent, json!({"file": "a"})).await;
    fixture.engine.consent().decide(&boss, &id, true, Some("it is\nold")).await.unwrap();
    let _ = fixture.engine.consent().decide(&boss, &id, false, None).await;
    fixture.call(&agent, "test_wipe", json!({"file": "a"})).await.unwrap();
    let rows = fixture.audit().await;
    let about: Vec<_> = rows.iter().filter(|row| *row.entry.target == format!("consent/{id}")).collect();
    let told: Vec<_> = about
        .iter()
        .map(|row| (row.entry.principal.rsplit(' ').next().unwrap(), row.entry.phase, &*row.entry.outcome))
        .collect();
    assert_eq!(
        told,
        [
            ("agent", Phase::Ended, "asked"),
            ("boss", Phase::Began, ""),
            ("boss", Phase::Ended, "approved: it is\nold"),
            ("boss", Phase::Began, ""),
            ("boss", Phase::Ended, "conflict"),
            ("agent", Phase::Ended, "used"),
        ]
    );
    let call = rows.iter().find(|row| &*row.entry.target == "test_wipe").unwrap();
    assert!(about.iter().all(|row| row.entry.args_digest == call.entry.args_digest));
    assert!(fixture.store.audit().verify().await.unwrap().fault.is_none());
}

#[tokio::test]
async fn a_reason_that_is_too_long_decides_nothing() {
    let fixture = Fixture::new().await;
    let id = fixture.asked(&local(), json!({"file": "a"})).await;
    assert!(fixture.engine.consent().decide(&local(), &id, true, Some(&"x".repeat(501))).await.is_err());
    assert_eq!(fixture.engine.consent().find(&local(), &id).await.unwrap().status, ConsentState::Pending);
    for strange in ["", "../x", "a b", &"a".repeat(65), "é"] {
        let refused = fixture.engine.consent().find(&local(), strange).await.unwrap_err();
        assert_eq!(refused.kind, Kind::NotFound, "{refused}");
    }
}
