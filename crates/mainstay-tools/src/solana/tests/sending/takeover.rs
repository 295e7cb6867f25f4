//! Transactions that another process has recorded: one that was stopped, or another replica.

use mainstay_core::{Clock as _, SystemClock};
use mainstay_store::{NewSend, Recorded, SendUpdate};

use super::super::super::chain::Chain;
use super::super::super::sending::{Sender, Wait};
use super::super::ledger::{FINALIZED_AFTER, VALID_BLOCKS};
use super::*;

/// A transaction as another process records it.
async fn recorded(world: &World, lamports: u64, created_ms: i64) -> SentTransaction {
    let signed = world.signed(lamports);
    let transaction = SentTransaction {
        network: NETWORK.to_owned(),
        signature: id(&signed),
        principal: "local".to_owned(),
        key: None,
        args_digest: String::new(),
        message_hash: String::new(),
        transaction: signed.to_base64(),
        last_valid_height: world.ledger.height() + VALID_BLOCKS,
        state: SendState::Pending,
        slot: None,
        error: None,
        created_ms,
        expires_ms: i64::MAX,
    };
    let new = NewSend { transaction: transaction.clone(), spends: Vec::new(), spends_expire_ms: 0 };
    assert_eq!(world.store.sent_transactions().record(new).await.unwrap(), Recorded::New);
    transaction
}

/// Another process on the same store begins, and finds what is unfinished.
fn begin(world: &World, pace: SendPace) -> Registry {
    Registry::new(vec![paced_family(&world.settings, &world.store, pace).unwrap()]).unwrap()
}

#[tokio::test]
async fn what_a_stopped_process_has_left_is_sent_and_finished() {
    let world = World::relay(Ledger::every(BLOCK)).await;
    let left = recorded(&world, 7, 0).await;
    let _registry = begin(&world, PACE);
    world.until(&left.signature, SendState::Finalized).await;
    assert_eq!(world.ledger.executed().len(), 1);
    let arrivals = world.ledger.arrivals(&left.signature);
    assert_eq!(arrivals[0]["skipPreflight"], true, "it may have been executed, which a check calls a failure");
}

/// Long after, when only the history of a node has it.
#[tokio::test]
async fn what_was_executed_while_nobody_looked_is_found() {
    let world = World::relay(Ledger::manual()).await;
    let (taken, lost) = (recorded(&world, 7, 0).await, recorded(&world, 8, 0).await);
    let sent = world.signed(7);
    assert_eq!(id(&sent), taken.signature);
    world.ledger.take(&sent);
    world.ledger.advance(1000);
    let _registry = begin(&world, PACE);
    world.until(&taken.signature, SendState::Finalized).await;
    world.until(&lost.signature, SendState::Expired).await;
    assert_eq!(world.ledger.executed().len(), 1);
}

/// The process that has recorded it may be about to learn that a node refuses it.
#[tokio::test]
async fn a_transaction_is_left_to_its_recorder_at_first() {
    let world = World::relay(Ledger::every(BLOCK)).await;
    let left = recorded(&world, 7, SystemClock.now_ms()).await;
    let _registry = begin(&world, SendPace { alone: Duration::from_millis(600), ..PACE });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(world.ledger.arrivals(&left.signature).len(), 0);
    world.until(&left.signature, SendState::Finalized).await;
    assert_eq!(world.ledger.executed().len(), 1);
}

/// By then another process may have sent it.
#[tokio::test]
async fn a_late_refusal_is_not_final() {
    let relay = |_: &Path| SolanaSending { level: SendLevel::Relay, ..SolanaSending::default() };
    let pace = SendPace { alone: Duration::ZERO, ..PACE };
    let world = World::with(Ledger::manual(), 1, pace, relay).await;
    let data = json!({"err": "AccountNotFound", "logs": []});
    world.ledger.fail("sendTransaction", json!({"code": -32002, "message": "Simulation failed", "data": data}));
    let transaction = world.signed(7);
    let mut args = encoded(&transaction);
    args["wait"] = "none".into();
    let reply = world.send("sendTransaction", args).await;
    assert_eq!(value(&reply)["status"], "pending");
    world.ledger.advance(VALID_BLOCKS + FINALIZED_AFTER + 1);
    world.until(&id(&transaction), SendState::Expired).await;
}

/// A call has read the record just before the transaction was rejected.
#[tokio::test]
async fn what_is_rejected_is_not_sent_by_a_call_that_knew_it_before() {
    let world = World::relay(Ledger::every(BLOCK)).await;
    let stale = recorded(&world, 7, 0).await;
    let SentTransaction { network, signature, .. } = stale.clone();
    let update = SendUpdate { network, signature, state: SendState::Rejected, slot: None, error: None, fee: None };
    assert!(world.store.sent_transactions().update(update).await.unwrap());
    let chain = Chain::new(&world.settings).unwrap();
    let sender = Sender::new(&world.settings, &chain, &world.store, PACE).unwrap();
    let reply = sender.follow(stale.clone(), None, Wait::Confirmed, &unapproved()).await.unwrap();
    assert_eq!(reply.structured.as_ref().unwrap()["value"]["status"], "rejected");
    assert_eq!(world.ledger.arrivals(&stale.signature).len(), 0);
}
