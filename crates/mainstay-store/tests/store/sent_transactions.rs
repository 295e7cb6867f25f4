//! Transactions that are recorded before they are sent, and what they may spend.

use std::sync::Arc;

use mainstay_store::{NewSend, Recorded, SendState, SendUpdate, SentTransaction, Spend, Store};

use crate::testing::{TestDatabase, at_once};

on_both_engines![
    a_recorded_transaction_is_found_after_reopening,
    a_new_transaction_is_pending_whatever_is_given,
    the_same_signature_is_known,
    the_same_signature_on_another_network_is_new,
    the_same_key_is_known_under_another_signature,
    keys_are_private_to_their_principal,
    a_rejected_transaction_may_be_recorded_again,
    a_rejected_transaction_gives_up_its_key,
    a_rejected_signature_does_not_hide_a_known_key,
    a_limit_can_be_spent_exactly,
    what_exceeds_a_limit_is_not_stored,
    a_rejected_transaction_stays_when_its_repetition_exceeds_a_limit,
    spends_of_one_transaction_add_up,
    limits_are_apart_by_network_account_and_asset,
    spends_count_until_they_expire,
    of_two_transactions_at_once_only_one_fits,
    replicas_together_never_spend_more_than_the_limit,
    of_two_replicas_that_record_a_key_at_once_one_succeeds,
    expired_and_rejected_transactions_release_their_spends,
    a_failed_transaction_keeps_only_its_fee,
    a_failed_transaction_without_a_known_fee_releases_tokens_only,
    a_fee_above_the_reserved_amount_reserves_no_more,
    unfinished_and_successful_transactions_keep_their_spends,
    an_update_replaces_what_was_known,
    a_final_state_never_changes,
    unfinished_transactions_are_listed_oldest_first,
    a_sweep_keeps_unfinished_transactions,
    a_transaction_recorded_again_after_a_sweep_counts_once,
    amounts_beyond_the_column_are_over_any_limit,
    sums_beyond_the_column_do_not_wrap,
    heights_and_slots_beyond_the_column_are_stored_as_the_largest,
];

const NOW_MS: i64 = 1000;

/// Without a key, and without spends.
fn transaction(signature: &str) -> SentTransaction {
    SentTransaction {
        network: "devnet".into(),
        signature: signature.into(),
        principal: "ann".into(),
        key: None,
        args_digest: "digest".into(),
        message_hash: "hash".into(),
        transaction: "AQID".into(),
        last_valid_height: 150,
        state: SendState::Pending,
        slot: None,
        error: None,
        created_ms: NOW_MS,
        expires_ms: 9000,
    }
}

fn with_key(signature: &str, key: &str) -> SentTransaction {
    SentTransaction { key: Some(key.into()), ..transaction(signature) }
}

fn new_send(transaction: SentTransaction, spends: impl Into<Vec<Spend>>) -> NewSend {
    NewSend { transaction, spends: spends.into(), spends_expire_ms: 5000 }
}

fn spend(asset: &str, amount: u64) -> Spend {
    Spend { account: "wallet".into(), asset: asset.into(), amount, limit: 100 }
}

async fn record(store: &Store, transaction: SentTransaction, spends: impl Into<Vec<Spend>>) -> Recorded {
    store.sent_transactions().record(new_send(transaction, spends)).await.unwrap()
}

async fn find(store: &Store, signature: &str) -> Option<SentTransaction> {
    store.sent_transactions().find("devnet", signature).await.unwrap()
}

fn known(transaction: SentTransaction) -> Recorded {
    Recorded::Known(Box::new(transaction))
}

fn over_limit(asset: &str, limit: u64, spent: u64) -> Recorded {
    Recorded::OverLimit { asset: asset.into(), limit, spent }
}

fn now(signature: &str, state: SendState) -> SendUpdate {
    SendUpdate { network: "devnet".into(), signature: signature.into(), state, slot: None, error: None, fee: None }
}

fn failed(signature: &str, fee: Option<u64>) -> SendUpdate {
    SendUpdate { error: Some("{}".into()), fee, ..now(signature, SendState::Finalized) }
}

async fn update(store: &Store, update: SendUpdate) -> bool {
    store.sent_transactions().update(update).await.unwrap()
}

/// What is spent or reserved of an asset, as a transaction that asks for too much is told.
async fn spent(store: &Store, asset: &str) -> u64 {
    match record(store, transaction("too much"), [spend(asset, 101)]).await {
        Recorded::OverLimit { spent, .. } => spent,
        other @ (Recorded::New | Recorded::Known(_)) => panic!("it is over the limit: {other:?}"),
    }
}

async fn a_recorded_transaction_is_found_after_reopening(database: Arc<TestDatabase>) {
    let store = database.open().await;
    assert_eq!(record(&store, with_key("a", "k"), [spend("SOL", 40)]).await, Recorded::New);
    store.close().await.unwrap();

    let store = database.open().await;
    assert_eq!(find(&store, "a").await, Some(with_key("a", "k")));
    assert_eq!(store.sent_transactions().find_key("ann", "k").await.unwrap(), Some(with_key("a", "k")));
    assert_eq!(spent(&store, "SOL").await, 40);
    assert_eq!(find(&store, "b").await, None);
    assert_eq!(store.sent_transactions().find("mainnet", "a").await.unwrap(), None);
    assert_eq!(store.sent_transactions().find_key("bob", "k").await.unwrap(), None);
}

async fn a_new_transaction_is_pending_whatever_is_given(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let finished =
        SentTransaction { state: SendState::Finalized, slot: Some(7), error: Some("{}".into()), ..transaction("a") };
    assert_eq!(record(&store, finished, []).await, Recorded::New);
    assert_eq!(find(&store, "a").await, Some(transaction("a")));
}

async fn the_same_signature_is_known(database: Arc<TestDatabase>) {
    let store = database.open().await;
    record(&store, transaction("a"), [spend("SOL", 100)]).await;
    let again = SentTransaction { created_ms: 2000, ..with_key("a", "k") };
    // That it is known comes before what it would spend: it is counted already.
    assert_eq!(record(&store, again.clone(), [spend("SOL", 100)]).await, known(transaction("a")));
    assert_eq!(find(&store, "a").await, Some(transaction("a")));
    for state in [SendState::Confirmed, SendState::Expired] {
        update(&store, now("a", state)).await;
        assert_eq!(record(&store, again.clone(), []).await, known(SentTransaction { state, ..transaction("a") }));
    }
}

async fn the_same_signature_on_another_network_is_new(database: Arc<TestDatabase>) {
    let store = database.open().await;
    record(&store, transaction("a"), []).await;
    let other = SentTransaction { network: "mainnet".into(), ..transaction("a") };
    assert_eq!(record(&store, other, []).await, Recorded::New);
}

async fn the_same_key_is_known_under_another_signature(database: Arc<TestDatabase>) {
    let store = database.open().await;
    record(&store, with_key("a", "k"), []).await;
    assert_eq!(record(&store, with_key("b", "k"), []).await, known(with_key("a", "k")));
    let other = SentTransaction { network: "mainnet".into(), ..with_key("b", "k") };
    assert_eq!(record(&store, other, []).await, known(with_key("a", "k")));
    assert_eq!(find(&store, "b").await, None);
    update(&store, now("a", SendState::Expired)).await;
    let expired = SentTransaction { state: SendState::Expired, ..with_key("a", "k") };
    assert_eq!(record(&store, with_key("b", "k"), []).await, known(expired));
}

async fn keys_are_private_to_their_principal(database: Arc<TestDatabase>) {
    let store = database.open().await;
    record(&store, with_key("a", "k"), []).await;
    let bobs = SentTransaction { principal: "bob".into(), ..with_key("b", "k") };
    assert_eq!(record(&store, bobs.clone(), []).await, Recorded::New);
    assert_eq!(store.sent_transactions().find_key("bob", "k").await.unwrap(), Some(bobs));
    // Without a key there is nothing to have in common.
    assert_eq!(record(&store, transaction("c"), []).await, Recorded::New);
    assert_eq!(record(&store, transaction("d"), []).await, Recorded::New);
}

async fn a_rejected_transaction_may_be_recorded_again(database: Arc<TestDatabase>) {
    let store = database.open().await;
    record(&store, transaction("a"), [spend("SOL", 60)]).await;
    assert!(update(&store, SendUpdate { error: Some("{}".into()), ..now("a", SendState::Rejected) }).await);
    let again = SentTransaction { created_ms: 2000, ..transaction("a") };
    assert_eq!(record(&store, again.clone(), [spend("SOL", 60)]).await, Recorded::New);
    assert_eq!(find(&store, "a").await, Some(again));
    assert_eq!(spent(&store, "SOL").await, 60);
}

async fn a_rejected_transaction_gives_up_its_key(database: Arc<TestDatabase>) {
    let store = database.open().await;
    record(&store, with_key("a", "k"), []).await;
    update(&store, now("a", SendState::Rejected)).await;
    let bobs = SentTransaction { principal: "bob".into(), ..with_key("c", "k") };
    assert_eq!(record(&store, bobs, []).await, Recorded::New);
    assert!(find(&store, "a").await.is_some(), "the key of another principal is another key");
    assert_eq!(record(&store, with_key("b", "k"), []).await, Recorded::New);
    assert_eq!((find(&store, "a").await, find(&store, "b").await), (None, Some(with_key("b", "k"))));
}

async fn a_rejected_signature_does_not_hide_a_known_key(database: Arc<TestDatabase>) {
    let store = database.open().await;
    record(&store, transaction("a"), []).await;
    update(&store, now("a", SendState::Rejected)).await;
    record(&store, with_key("b", "k"), []).await;
    assert_eq!(record(&store, with_key("a", "k"), []).await, known(with_key("b", "k")));
    let rejected = SentTransaction { state: SendState::Rejected, ..transaction("a") };
    assert_eq!(find(&store, "a").await, Some(rejected));
}

async fn a_limit_can_be_spent_exactly(database: Arc<TestDatabase>) {
    let store = database.open().await;
    assert_eq!(record(&store, transaction("a"), [spend("SOL", 60)]).await, Recorded::New);
    assert_eq!(record(&store, transaction("b"), [spend("SOL", 41)]).await, over_limit("SOL", 100, 60));
    assert_eq!(record(&store, transaction("b"), [spend("SOL", 40)]).await, Recorded::New);
    assert_eq!(record(&store, transaction("c"), [spend("SOL", 1)]).await, over_limit("SOL", 100, 100));
    assert_eq!(record(&store, transaction("c"), [spend("SOL", 0)]).await, Recorded::New);
}

async fn what_exceeds_a_limit_is_not_stored(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let spends = [spend("SOL", 10), spend("mint", 101)];
    assert_eq!(record(&store, with_key("a", "k"), spends).await, over_limit("mint", 100, 0));
    assert_eq!(find(&store, "a").await, None);
    assert_eq!(store.sent_transactions().find_key("ann", "k").await.unwrap(), None);
    assert_eq!((spent(&store, "SOL").await, spent(&store, "mint").await), (0, 0));
    assert_eq!(record(&store, with_key("a", "k"), []).await, Recorded::New);
}

async fn a_rejected_transaction_stays_when_its_repetition_exceeds_a_limit(database: Arc<TestDatabase>) {
    let store = database.open().await;
    record(&store, transaction("a"), []).await;
    update(&store, now("a", SendState::Rejected)).await;
    assert_eq!(record(&store, transaction("a"), [spend("SOL", 101)]).await, over_limit("SOL", 100, 0));
    assert_eq!(find(&store, "a").await.map(|found| found.state), Some(SendState::Rejected));
}

async fn spends_of_one_transaction_add_up(database: Arc<TestDatabase>) {
    let store = database.open().await;
    record(&store, transaction("a"), [spend("SOL", 10)]).await;
    let twice = |amount| [spend("SOL", amount), spend("mint", 1), spend("SOL", 45)];
    assert_eq!(record(&store, transaction("b"), twice(46)).await, over_limit("SOL", 100, 10));
    let lower = [spend("SOL", 20), Spend { limit: 50, ..spend("SOL", 21) }];
    assert_eq!(record(&store, transaction("b"), lower).await, over_limit("SOL", 50, 10));
    assert_eq!(record(&store, transaction("b"), twice(45)).await, Recorded::New);
    assert_eq!((spent(&store, "SOL").await, spent(&store, "mint").await), (100, 1));
    let huge = [spend("other", u64::MAX), Spend { limit: u64::MAX, ..spend("other", 2) }];
    assert_eq!(record(&store, transaction("c"), huge).await, over_limit("other", 100, 0));
}

async fn limits_are_apart_by_network_account_and_asset(database: Arc<TestDatabase>) {
    let store = database.open().await;
    record(&store, transaction("a"), [spend("SOL", 100)]).await;
    let other_network = SentTransaction { network: "mainnet".into(), ..transaction("a") };
    assert_eq!(record(&store, other_network, [spend("SOL", 100)]).await, Recorded::New);
    let other_account = Spend { account: "other".into(), ..spend("SOL", 100) };
    assert_eq!(record(&store, transaction("b"), [other_account]).await, Recorded::New);
    assert_eq!(record(&store, transaction("c"), [spend("mint", 100)]).await, Recorded::New);
    // A limit is that of an account, whoever uses it.
    let bobs = SentTransaction { principal: "bob".into(), ..transaction("d") };
    assert_eq!(record(&store, bobs, [spend("SOL", 1)]).await, over_limit("SOL", 100, 100));
}

async fn spends_count_until_they_expire(database: Arc<TestDatabase>) {
    let store = database.open().await;
    record(&store, transaction("a"), [spend("SOL", 100)]).await;
    let at = |created_ms| SentTransaction { created_ms, ..transaction("b") };
    assert_eq!(record(&store, at(4999), [spend("SOL", 1)]).await, over_limit("SOL", 100, 100));
    assert_eq!(record(&store, at(5000), [spend("SOL", 100)]).await, Recorded::New);
}

async fn of_two_transactions_at_once_only_one_fits(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let recorded = at_once(2, |number| {
        let store = store.clone();
        async move { record(&store, transaction(&number.to_string()), [spend("SOL", 51)]).await }
    });
    let recorded = recorded.await;
    assert!(recorded.contains(&Recorded::New), "{recorded:?}");
    assert!(recorded.contains(&over_limit("SOL", 100, 51)), "{recorded:?}");
    assert_eq!(store.sent_transactions().unfinished(9).await.unwrap().len(), 1);
}

async fn replicas_together_never_spend_more_than_the_limit(database: Arc<TestDatabase>) {
    let stores = [database.open().await, database.open().await];
    let recorded = at_once(200, |number| {
        let store = stores[number % 2].clone();
        async move { record(&store, transaction(&number.to_string()), [spend("SOL", 3)]).await }
    });
    let recorded = recorded.await;
    assert_eq!(recorded.iter().filter(|recorded| **recorded == Recorded::New).count(), 33);
    assert_eq!(recorded.iter().filter(|recorded| **recorded == over_limit("SOL", 100, 99)).count(), 167);
    assert_eq!(stores[0].sent_transactions().unfinished(200).await.unwrap().len(), 33);
}

async fn of_two_replicas_that_record_a_key_at_once_one_succeeds(database: Arc<TestDatabase>) {
    let stores = [database.open().await, database.open().await];
    let recorded = at_once(100, |number| {
        let store = stores[number % 2].clone();
        let (signature, key) = (number.to_string(), (number / 2 % 10).to_string());
        async move { record(&store, with_key(&signature, &key), []).await }
    });
    assert_eq!(recorded.await.into_iter().filter(|recorded| *recorded == Recorded::New).count(), 10);
}

async fn expired_and_rejected_transactions_release_their_spends(database: Arc<TestDatabase>) {
    let store = database.open().await;
    for state in [SendState::Expired, SendState::Rejected] {
        let signature = state.as_str();
        record(&store, transaction(signature), [spend("SOL", 30), spend("mint", 40)]).await;
        record(&store, transaction(&format!("beside {signature}")), [spend("SOL", 1)]).await;
        assert!(update(&store, now(signature, state)).await);
    }
    assert_eq!((spent(&store, "SOL").await, spent(&store, "mint").await), (2, 0), "the others stay");
}

async fn a_failed_transaction_keeps_only_its_fee(database: Arc<TestDatabase>) {
    let store = database.open().await;
    record(&store, transaction("a"), [spend("SOL", 30), spend("mint", 40)]).await;
    record(&store, transaction("b"), [spend("SOL", 20), spend("mint", 50)]).await;
    assert!(update(&store, failed("a", Some(5))).await);
    assert_eq!((spent(&store, "SOL").await, spent(&store, "mint").await), (25, 50));
    // It failed only if it is final: until then the chain may execute it on another fork.
    let confirmed = SendUpdate { state: SendState::Confirmed, ..failed("b", Some(5)) };
    assert!(update(&store, confirmed).await);
    assert_eq!((spent(&store, "SOL").await, spent(&store, "mint").await), (25, 50));
}

async fn a_failed_transaction_without_a_known_fee_releases_tokens_only(database: Arc<TestDatabase>) {
    let store = database.open().await;
    record(&store, transaction("a"), [spend("SOL", 30), spend("mint", 40)]).await;
    assert!(update(&store, failed("a", None)).await);
    assert_eq!((spent(&store, "SOL").await, spent(&store, "mint").await), (30, 0));
}

async fn a_fee_above_the_reserved_amount_reserves_no_more(database: Arc<TestDatabase>) {
    let store = database.open().await;
    record(&store, transaction("a"), [spend("SOL", 30)]).await;
    assert!(update(&store, failed("a", Some(u64::MAX))).await);
    assert_eq!(spent(&store, "SOL").await, 30);
}

async fn unfinished_and_successful_transactions_keep_their_spends(database: Arc<TestDatabase>) {
    let store = database.open().await;
    record(&store, transaction("a"), [spend("SOL", 30), spend("mint", 40)]).await;
    for state in [SendState::Pending, SendState::Confirmed, SendState::Finalized] {
        assert!(update(&store, SendUpdate { fee: Some(5), ..now("a", state) }).await);
        assert_eq!((spent(&store, "SOL").await, spent(&store, "mint").await), (30, 40), "{state:?}");
    }
}

async fn an_update_replaces_what_was_known(database: Arc<TestDatabase>) {
    let store = database.open().await;
    record(&store, transaction("a"), []).await;
    let other_network = SentTransaction { network: "mainnet".into(), ..transaction("a") };
    record(&store, other_network.clone(), []).await;
    let error = Some("{\"InstructionError\":[0,\"Custom\"]}".to_owned());
    let known = SendUpdate { slot: Some(77), error: error.clone(), ..now("a", SendState::Confirmed) };
    assert!(update(&store, known).await);
    let confirmed = SentTransaction { state: SendState::Confirmed, slot: Some(77), error, ..transaction("a") };
    assert_eq!(find(&store, "a").await, Some(confirmed));
    // A fork can be given up, and with it what was confirmed.
    assert!(update(&store, now("a", SendState::Pending)).await);
    assert_eq!(find(&store, "a").await, Some(transaction("a")));
    assert_eq!(store.sent_transactions().find("mainnet", "a").await.unwrap(), Some(other_network));
    assert!(!update(&store, now("unknown", SendState::Confirmed)).await);
}

async fn a_final_state_never_changes(database: Arc<TestDatabase>) {
    let store = database.open().await;
    for last in SendState::ALL.into_iter().filter(|state| state.is_final()) {
        let signature = last.as_str();
        record(&store, transaction(signature), [spend(signature, 30)]).await;
        assert!(update(&store, SendUpdate { slot: Some(1), ..now(signature, last) }).await);
        let stored = find(&store, signature).await.unwrap();
        assert_eq!(stored.state, last);
        let spent_before = spent(&store, signature).await;
        for state in SendState::ALL {
            let late = SendUpdate { slot: Some(2), error: Some("{}".into()), fee: Some(1), ..now(signature, state) };
            assert!(!update(&store, late).await, "{last:?} to {state:?}");
        }
        assert_eq!(find(&store, signature).await, Some(stored));
        assert_eq!(spent(&store, signature).await, spent_before);
    }
    assert_eq!(spent(&store, "finalized").await, 30);
}

async fn unfinished_transactions_are_listed_oldest_first(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let newest_first =
        [(104, SendState::Pending), (103, SendState::Expired), (102, SendState::Confirmed), (101, SendState::Rejected)];
    for (created_ms, state) in newest_first {
        record(&store, SentTransaction { created_ms, ..transaction(state.as_str()) }, []).await;
        update(&store, now(state.as_str(), state)).await;
    }
    record(&store, SentTransaction { created_ms: 1, ..transaction("oldest") }, []).await;
    record(&store, SentTransaction { created_ms: 1, ..transaction("finalized") }, []).await;
    update(&store, now("finalized", SendState::Finalized)).await;
    let listed = async |limit| {
        let unfinished = store.sent_transactions().unfinished(limit).await.unwrap();
        unfinished.into_iter().map(|transaction| transaction.signature).collect::<Vec<_>>()
    };
    assert_eq!(listed(9).await, ["oldest", "confirmed", "pending"]);
    assert_eq!(listed(2).await, ["oldest", "confirmed"]);
}

async fn a_sweep_keeps_unfinished_transactions(database: Arc<TestDatabase>) {
    let store = database.open().await;
    for state in SendState::ALL {
        let expires_ms = 2000;
        record(&store, SentTransaction { expires_ms, ..transaction(state.as_str()) }, [spend("SOL", 10)]).await;
        update(&store, now(state.as_str(), state)).await;
    }
    record(&store, transaction("later"), []).await;
    update(&store, now("later", SendState::Finalized)).await;
    assert_eq!(store.sweep(1999).await.unwrap(), 0);
    assert_eq!(store.sweep(2000).await.unwrap(), 3);
    for state in SendState::ALL {
        assert_eq!(find(&store, state.as_str()).await.is_some(), !state.is_final(), "{state:?}");
    }
    assert!(find(&store, "later").await.is_some());
    assert_eq!(spent(&store, "SOL").await, 30, "what was spent counts longer than the transaction is kept");
    assert_eq!(store.sweep(4999).await.unwrap(), 0);
    assert_eq!(store.sweep(5000).await.unwrap(), 3);
    assert_eq!(spent(&store, "SOL").await, 0);
    assert_eq!(store.sent_transactions().unfinished(9).await.unwrap().len(), 2);
}

async fn a_transaction_recorded_again_after_a_sweep_counts_once(database: Arc<TestDatabase>) {
    let store = database.open().await;
    record(&store, SentTransaction { expires_ms: 2000, ..transaction("a") }, [spend("SOL", 60)]).await;
    update(&store, now("a", SendState::Finalized)).await;
    assert_eq!(store.sweep(2000).await.unwrap(), 1);
    let again = SentTransaction { created_ms: 2000, ..transaction("a") };
    assert_eq!(record(&store, again, [spend("SOL", 60)]).await, Recorded::New);
    assert_eq!(spent(&store, "SOL").await, 60);
}

const LARGEST: u64 = i64::MAX.unsigned_abs();

fn unlimited(amount: u64) -> Spend {
    Spend { limit: u64::MAX, ..spend("SOL", amount) }
}

async fn amounts_beyond_the_column_are_over_any_limit(database: Arc<TestDatabase>) {
    let store = database.open().await;
    for amount in [LARGEST + 1, u64::MAX] {
        assert_eq!(record(&store, transaction("a"), [unlimited(amount)]).await, over_limit("SOL", u64::MAX, 0));
    }
    let together = [unlimited(LARGEST), unlimited(1)];
    assert_eq!(record(&store, transaction("a"), together).await, over_limit("SOL", u64::MAX, 0));
    let wraps_to_1 = [unlimited(u64::MAX), unlimited(2)];
    assert_eq!(record(&store, transaction("a"), wraps_to_1).await, over_limit("SOL", u64::MAX, 0));
    assert_eq!(find(&store, "a").await, None);
    assert_eq!(record(&store, transaction("a"), [unlimited(LARGEST)]).await, Recorded::New);
    assert_eq!(record(&store, transaction("b"), [unlimited(1)]).await, over_limit("SOL", u64::MAX, LARGEST));
    assert_eq!(record(&store, transaction("b"), [unlimited(u64::MAX)]).await, over_limit("SOL", u64::MAX, LARGEST));
}

async fn sums_beyond_the_column_do_not_wrap(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let mut total = 0;
    // Each is recorded when those before it have expired, so all together are more than the column can hold.
    for number in 1..=3 {
        let expires_ms = 1000 * (number + 1);
        let later = SentTransaction { created_ms: 1000 * number, ..transaction(&number.to_string()) };
        let new = NewSend { spends_expire_ms: expires_ms, ..new_send(later, [unlimited(LARGEST)]) };
        assert_eq!(store.sent_transactions().record(new).await.unwrap(), Recorded::New);
        total = u64::saturating_add(total, LARGEST);
        let early = record(&store, transaction("early"), [unlimited(1)]).await;
        assert_eq!(early, over_limit("SOL", u64::MAX, total));
    }
    assert_eq!(total, u64::MAX);
}

async fn heights_and_slots_beyond_the_column_are_stored_as_the_largest(database: Arc<TestDatabase>) {
    let store = database.open().await;
    let new = SentTransaction { last_valid_height: u64::MAX, ..transaction("a") };
    assert_eq!(record(&store, new, []).await, Recorded::New);
    assert!(update(&store, SendUpdate { slot: Some(u64::MAX), ..now("a", SendState::Confirmed) }).await);
    let stored = find(&store, "a").await.unwrap();
    assert_eq!((stored.last_valid_height, stored.slot), (LARGEST, Some(LARGEST)));
}
