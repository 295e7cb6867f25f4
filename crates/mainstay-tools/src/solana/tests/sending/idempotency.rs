//! Calls made again with an idempotency key.

use mainstay_core::Kind;

use super::*;

#[tokio::test]
async fn the_same_key_is_the_same_transaction() {
    let world = World::wallet(Ledger::every(BLOCK)).await;
    let first = world.send("transferSol", keyed(7, "key")).await;
    for _ in 0..2 {
        let again = world.call("transferSol", keyed(7, "key"), &unapproved()).await.unwrap();
        assert_eq!(signature(&again), signature(&first));
    }
    assert_eq!(world.ledger.executed().len(), 1);
}

#[tokio::test]
async fn the_same_key_for_another_transfer_is_a_conflict() {
    let world = World::wallet(Ledger::every(BLOCK)).await;
    world.send("transferSol", keyed(7, "key")).await;
    let mut other = keyed(7, "key");
    other["to"] = other_wallet().address().to_string().into();
    let mut relayed = encoded(&world.signed(7));
    relayed["idempotency_key"] = "key".into();
    for (name, args) in [("transferSol", keyed(8, "key")), ("transferSol", other), ("sendTransaction", relayed)] {
        let error = world.call(name, args, &unapproved()).await.unwrap_err();
        assert_eq!(error.kind, Kind::Conflict, "{error:?}");
        assert!(error.public.contains("\"key\""), "{error:?}");
    }
    assert_eq!(world.ledger.executed().len(), 1);
}

#[tokio::test]
async fn the_keys_of_two_principals_are_apart() {
    let world = World::wallet(Ledger::every(BLOCK)).await;
    let first = world.send("transferSol", keyed(7, "key")).await;
    let error = world.call("transferSol", keyed(8, "key"), &by_other(unapproved())).await.unwrap_err();
    let context = by_other(approved(&plan_of(&error).state));
    let second = world.call("transferSol", keyed(8, "key"), &context).await.unwrap();
    assert_ne!(signature(&first), signature(&second));
    assert_eq!(world.ledger.executed().len(), 2);
}

/// Both pass every check before one of them is on record.
#[tokio::test]
async fn two_calls_at_once_with_one_key_send_once() {
    let world = World::wallet(Ledger::every(BLOCK)).await;
    let error = world.call("transferSol", keyed(7, "key"), &unapproved()).await.unwrap_err();
    let context = approved(&plan_of(&error).state);
    let calls = (0..5).map(|_| world.call("transferSol", keyed(7, "key"), &context));
    let replies = futures::future::join_all(calls).await;
    let signatures: Vec<String> = replies.into_iter().map(|reply| signature(&reply.unwrap())).collect();
    assert!(signatures.iter().all(|one| *one == signatures[0]), "{signatures:?}");
    assert_eq!(world.ledger.executed().len(), 1);
    assert_eq!(world.ledger.signatures().len(), 1);
}

/// A client that went away finds the transaction under its key.
#[tokio::test]
async fn a_call_that_was_cut_off_is_finished_without_its_caller() {
    let world = World::wallet(Ledger::manual()).await;
    let error = world.call("transferSol", keyed(7, "key"), &unapproved()).await.unwrap_err();
    let context = approved(&plan_of(&error).state);
    {
        let mut call = pin!(world.call("transferSol", keyed(7, "key"), &context));
        run_until(call.as_mut(), || world.ledger.has_executed(7)).await;
    }
    world.ledger.advance(30);
    let stored = world.store.sent_transactions().find_key("local", "key").await.unwrap().unwrap();
    world.until(&stored.signature, SendState::Finalized).await;
    let reply = world.call("transferSol", keyed(7, "key"), &unapproved()).await.unwrap();
    assert_eq!((signature(&reply), &value(&reply)["status"]), (stored.signature, &json!("finalized")));
}
