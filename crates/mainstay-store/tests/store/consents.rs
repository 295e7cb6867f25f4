use std::sync::Arc;

use mainstay_store::{
    Approval, Binding, Consent, ConsentRequest, ConsentState, Consents, Decision, DecisionOutcome, Store, StoreError,
};

use crate::testing::{TestDatabase, at_once};

on_both_engines![
    a_request_is_stored_and_found,
    a_second_request_returns_the_pending_one,
    an_expired_request_is_not_returned_for_a_new_one,
    a_request_id_that_is_in_use_is_rejected,
    the_fifty_first_pending_request_of_a_principal_is_rejected,
    pending_requests_come_oldest_first,
    a_decision_is_recorded_once,
    a_request_that_is_unknown_or_expired_cannot_be_decided,
    an_approval_is_used_up_by_one_call,
    an_approval_is_valid_for_its_own_binding_only,
    an_expired_approval_is_not_used,
    a_denial_holds_until_there_is_a_new_request,
    of_many_calls_with_one_approval_one_gets_it,
    of_two_replicas_with_one_approval_one_gets_it,
    of_many_decisions_at_once_one_is_recorded,
    sweeping_deletes_expired_requests,
];

fn binding() -> Binding {
    Binding { principal: "ann".into(), target: "files_delete".into(), args_digest: "d".into(), policy: "v1".into() }
}

fn request(id: &str, now_ms: i64) -> Consent {
    Consent {
        id: id.into(),
        binding: binding(),
        summary: "Delete a.txt".into(),
        requester: "ann".into(),
        preview: Some("a.txt".into()),
        arguments: "{}".into(),
        state: ConsentState::Pending,
        decided_by: None,
        reason: None,
        created_ms: now_ms,
        expires_ms: 1000,
    }
}

fn ruling(id: &str, by: &str, approve: bool, now_ms: i64) -> Decision {
    Decision { id: id.into(), by: by.into(), approve, reason: (!approve).then(|| "too much".into()), now_ms }
}

async fn filed(store: &Store, new: Consent) -> Consent {
    match store.consents().request(new).await.unwrap() {
        ConsentRequest::Pending(consent) => *consent,
        ConsentRequest::TooMany { limit, .. } => panic!("{limit} wait"),
    }
}

async fn approved(consents: Consents<'_>, id: &str) {
    consents.request(request(id, 10)).await.unwrap();
    assert_eq!(consents.decide(ruling(id, "boss", true, 20)).await.unwrap(), DecisionOutcome::Recorded);
}

async fn a_request_is_stored_and_found(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let filed = filed(&store, request("c1", 10)).await;
    assert_eq!(
        (filed.id.as_str(), filed.state, filed.created_ms, filed.expires_ms),
        ("c1", ConsentState::Pending, 10, 1000)
    );
    assert_eq!((filed.binding.clone(), filed.summary.as_str()), (binding(), "Delete a.txt"));
    assert_eq!((filed.requester.as_str(), filed.preview.as_deref()), ("ann", Some("a.txt")));
    assert_eq!(store.consents().find("c1").await.unwrap(), Some(filed));
    assert_eq!(store.consents().find("c2").await.unwrap(), None);
}

async fn a_second_request_returns_the_pending_one(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let first = filed(&store, request("c1", 10)).await;
    assert_eq!(filed(&store, request("c2", 11)).await, first);
    assert_eq!(store.consents().use_approval(binding(), 12).await.unwrap(), Approval::None);
    let mut other = request("c3", 12);
    other.binding.args_digest = "e".into();
    assert_eq!(filed(&store, other).await.id, "c3");
}

async fn an_expired_request_is_not_returned_for_a_new_one(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.consents().request(request("c1", 10)).await.unwrap();
    assert_eq!(store.consents().use_approval(binding(), 1000).await.unwrap(), Approval::None);
    let second = Consent { expires_ms: 2000, ..request("c2", 1000) };
    assert_eq!(filed(&store, second).await.id, "c2");
}

async fn a_request_id_that_is_in_use_is_rejected(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.consents().request(request("c1", 10)).await.unwrap();
    let mut other = request("c1", 11);
    other.binding.principal = "bob".into();
    let rejected = store.consents().request(other).await.unwrap_err();
    assert!(matches!(&rejected, StoreError::Failed(why) if why.contains("exists already")), "{rejected}");
}

async fn the_fifty_first_pending_request_of_a_principal_is_rejected(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let numbered = |principal: &str, number: usize, now_ms: i64| {
        let mut new = Consent { expires_ms: now_ms + 100, ..request(&format!("{principal}{number}"), now_ms) };
        (new.binding.principal, new.binding.args_digest) = (principal.into(), number.to_string());
        new
    };
    let at_once = at_once(60, |number| {
        let (store, new) = (store.clone(), numbered("ann", number, 10));
        async move { store.consents().request(new).await.unwrap() }
    });
    let (waiting, rejected): (Vec<_>, Vec<_>) =
        at_once.await.into_iter().partition(|filed| matches!(filed, ConsentRequest::Pending(_)));
    assert_eq!((waiting.len(), rejected.len()), (50, 10));
    // All were made at the same time, so the first by id is the oldest. What is rejected names it.
    let pending = store.consents().pending(10, 100).await.unwrap();
    for filed in rejected {
        let ConsentRequest::TooMany { limit, oldest } = filed else { panic!("{filed:?}") };
        assert!(limit == 50 && pending.contains(&oldest), "{oldest:?}");
    }
    let ConsentRequest::Pending(one) = &waiting[0] else { panic!("{waiting:?}") };
    assert_eq!(store.consents().find("ann60").await.unwrap(), None);
    // The same request, one of another principal, and one after a decision or when the others have expired: all are stored.
    assert_eq!(filed(&store, Consent { binding: one.binding.clone(), ..request("again", 20) }).await, **one);
    filed(&store, numbered("bob", 1, 20)).await;
    assert_eq!(store.consents().decide(ruling(&one.id, "boss", false, 30)).await.unwrap(), DecisionOutcome::Recorded);
    filed(&store, numbered("ann", 61, 30)).await;
    let next = store.consents().request(numbered("ann", 62, 40)).await.unwrap();
    let ConsentRequest::TooMany { limit: 50, oldest } = next else { panic!("{next:?}") };
    let anns = store.consents().pending(40, 100).await.unwrap().into_iter().find(|one| one.binding.principal == "ann");
    assert_eq!(Some(*oldest), anns);
    filed(&store, numbered("ann", 63, 110)).await;
}

async fn pending_requests_come_oldest_first(database: Arc<TestDatabase>) {
    let store = database.open().await;
    for (id, now_ms, expires_ms) in [("c2", 20, 900), ("c3", 30, 40), ("c1", 10, 900), ("c4", 40, 900)] {
        let mut new = Consent { expires_ms, ..request(id, now_ms) };
        new.binding.args_digest = id.into();
        store.consents().request(new).await.unwrap();
    }
    store.consents().decide(ruling("c4", "boss", false, 50)).await.unwrap();
    let ids = |found: Vec<Consent>| found.into_iter().map(|c| c.id).collect::<Vec<_>>();
    assert_eq!(ids(store.consents().pending(40, 10).await.unwrap()), ["c1", "c2"]);
    assert_eq!(ids(store.consents().pending(39, 10).await.unwrap()), ["c1", "c2", "c3"]);
    assert_eq!(ids(store.consents().pending(40, 1).await.unwrap()), ["c1"]);
}

async fn a_decision_is_recorded_once(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.consents().request(request("c1", 10)).await.unwrap();
    assert_eq!(store.consents().decide(ruling("c1", "boss", false, 20)).await.unwrap(), DecisionOutcome::Recorded);
    let again = store.consents().decide(ruling("c1", "other", true, 30)).await.unwrap();
    assert_eq!(again, DecisionOutcome::Rejected(ConsentState::Denied));
    let found = store.consents().find("c1").await.unwrap().unwrap();
    assert_eq!((found.state, found.decided_by.as_deref()), (ConsentState::Denied, Some("boss")));
    assert_eq!((found.arguments.as_str(), found.reason.as_deref()), ("{}", Some("too much")));
}

async fn a_request_that_is_unknown_or_expired_cannot_be_decided(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.consents().request(request("c1", 10)).await.unwrap();
    assert_eq!(
        store.consents().decide(ruling("c1", "boss", true, 1000)).await.unwrap(),
        DecisionOutcome::Rejected(ConsentState::Expired)
    );
    assert_eq!(store.consents().decide(ruling("c2", "boss", true, 20)).await.unwrap(), DecisionOutcome::NotFound);
    assert_eq!(store.consents().find("c1").await.unwrap().unwrap().state, ConsentState::Pending);
}

async fn an_approval_is_used_up_by_one_call(database: Arc<TestDatabase>) {
    let store = database.open().await;
    approved(store.consents(), "c1").await;
    assert_eq!(store.consents().use_approval(binding(), 30).await.unwrap(), Approval::Approved { id: "c1".into() });
    assert_eq!(store.consents().use_approval(binding(), 31).await.unwrap(), Approval::None);
    assert_eq!(store.consents().find("c1").await.unwrap().unwrap().state, ConsentState::Used);
    let again = store.consents().decide(ruling("c1", "boss", true, 40)).await.unwrap();
    assert_eq!(again, DecisionOutcome::Rejected(ConsentState::Used));
}

async fn an_approval_is_valid_for_its_own_binding_only(database: Arc<TestDatabase>) {
    let store = database.open().await;
    approved(store.consents(), "c1").await;
    for other in [
        Binding { principal: "bob".into(), ..binding() },
        Binding { target: "files_write".into(), ..binding() },
        Binding { args_digest: "D".into(), ..binding() },
        Binding { policy: "v2".into(), ..binding() },
        Binding { principal: "ann ".into(), ..binding() },
    ] {
        assert_eq!(store.consents().use_approval(other.clone(), 30).await.unwrap(), Approval::None, "{other:?}");
    }
    assert_eq!(store.consents().use_approval(binding(), 30).await.unwrap(), Approval::Approved { id: "c1".into() });
}

async fn an_expired_approval_is_not_used(database: Arc<TestDatabase>) {
    let store = database.open().await;
    approved(store.consents(), "c1").await;
    assert_eq!(store.consents().use_approval(binding(), 1000).await.unwrap(), Approval::None);
    assert_eq!(store.consents().use_approval(binding(), 999).await.unwrap(), Approval::Approved { id: "c1".into() });
}

async fn a_denial_holds_until_there_is_a_new_request(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.consents().request(request("c1", 10)).await.unwrap();
    store.consents().decide(ruling("c1", "boss", false, 20)).await.unwrap();
    let Approval::Denied(denied) = store.consents().use_approval(binding(), 30).await.unwrap() else {
        panic!("allowed")
    };
    assert_eq!((denied.id.as_str(), denied.reason.as_deref()), ("c1", Some("too much")));
    store.consents().request(request("c2", 30)).await.unwrap();
    assert_eq!(store.consents().use_approval(binding(), 31).await.unwrap(), Approval::None);
    assert_eq!(store.consents().use_approval(binding(), 1000).await.unwrap(), Approval::None);
}

async fn of_many_calls_with_one_approval_one_gets_it(database: Arc<TestDatabase>) {
    let store = database.open().await;
    approved(store.consents(), "c1").await;
    let approvals = at_once(200, |_| {
        let store = store.clone();
        async move { store.consents().use_approval(binding(), 30).await.unwrap() }
    });
    let (got, left): (Vec<_>, Vec<_>) = approvals.await.into_iter().partition(|approval| *approval != Approval::None);
    assert_eq!((got, left.len()), (vec![Approval::Approved { id: "c1".into() }], 199));
}

async fn of_two_replicas_with_one_approval_one_gets_it(database: Arc<TestDatabase>) {
    let stores = [database.open().await, database.open().await];
    approved(stores[0].consents(), "c1").await;
    let approvals = at_once(100, |number| {
        let store = stores[number % 2].clone();
        async move { store.consents().use_approval(binding(), 30).await.unwrap() }
    });
    assert_eq!(approvals.await.into_iter().filter(|approval| *approval != Approval::None).count(), 1);
}

async fn of_many_decisions_at_once_one_is_recorded(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.consents().request(request("c1", 10)).await.unwrap();
    let decided = at_once(100, |number| {
        let store = store.clone();
        async move { store.consents().decide(ruling("c1", &number.to_string(), number % 2 == 0, 20)).await.unwrap() }
    });
    assert_eq!(decided.await.into_iter().filter(|decided| *decided == DecisionOutcome::Recorded).count(), 1);
}

async fn sweeping_deletes_expired_requests(database: Arc<TestDatabase>) {
    let store = database.open().await;
    store.consents().request(request("c1", 10)).await.unwrap();
    assert_eq!(store.sweep(999).await.unwrap(), 0);
    assert_eq!(store.sweep(1000).await.unwrap(), 1);
    assert_eq!(store.consents().find("c1").await.unwrap(), None);
}
