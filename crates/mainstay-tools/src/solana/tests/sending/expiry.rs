//! When a transaction is given up: not before no block can have it any more.

use mainstay_core::Kind;

use super::super::ledger::{FINALIZED_AFTER, Fault, VALID_BLOCKS};
use super::*;

/// Long enough for several looks at the chain.
const LOOKS: Duration = Duration::from_millis(400);

async fn pending(world: &World, args: Value) -> String {
    let mut args = args;
    args["wait"] = "none".into();
    signature(&world.send("transferSol", args).await)
}

#[tokio::test]
async fn what_the_chain_never_takes_expires_once_its_last_block_is_final() {
    let world = World::wallet(Ledger::manual()).await;
    world.ledger.drop_all(true);
    let signature = pending(&world, keyed(7, "key")).await;
    assert!(world.spent().await > 7);
    // The last block that could have it is the newest final one.
    let last = world.stored(&signature).await.unwrap().last_valid_height;
    world.ledger.advance(last + FINALIZED_AFTER - world.ledger.height());
    tokio::time::sleep(LOOKS).await;
    assert_eq!(world.stored(&signature).await.unwrap().state, SendState::Pending);
    world.ledger.advance(1);
    world.until(&signature, SendState::Expired).await;
    assert_eq!(world.spent().await, 0, "what it would have spent is free again");
    assert!(world.ledger.arrivals(&signature).len() > 2, "it was sent again and again");

    let reply = world.call("transferSol", keyed(7, "key"), &unapproved()).await.unwrap();
    assert_eq!((&error(&reply)["name"], &error(&reply)["retryable"]), (&json!("Expired"), &json!(true)));
    assert_eq!(reply.structured.as_ref().unwrap()["value"]["status"], "expired");
    let arrived = world.ledger.arrivals(&signature).len();
    tokio::time::sleep(LOOKS).await;
    assert_eq!(world.ledger.arrivals(&signature).len(), arrived, "it is not sent any more");
}

/// The chain takes it with the last block that can have it, and every answer about it is older than that block.
#[tokio::test]
async fn a_node_that_is_behind_does_not_let_a_transaction_expire() {
    let world = World::wallet(Ledger::manual()).await;
    // The blockhash is that of the newest confirmed block, so the transaction is valid for two blocks less.
    for _ in 0..20 {
        world.ledger.inject("sendTransaction", Fault::Later { blocks: VALID_BLOCKS - 2 });
    }
    let signature = pending(&world, transfer(7)).await;
    for _ in 0..20 {
        world.ledger.inject("getSignatureStatuses", Fault::Behind { blocks: 30 });
    }
    let looks = world.ledger.requests("getSignatureStatuses");
    world.ledger.advance(VALID_BLOCKS + FINALIZED_AFTER + 5);
    assert_eq!(world.ledger.executed().len(), 1);
    eventually(|| world.ledger.requests("getSignatureStatuses") >= looks + 10).await;
    assert_eq!(world.stored(&signature).await.unwrap().state, SendState::Pending);
    world.until(&signature, SendState::Finalized).await;
}

/// Nor does the finalized height of a node that is behind count for more than it says.
#[tokio::test]
async fn two_nodes_that_differ_agree_before_a_transaction_expires() {
    let world = World::with(Ledger::manual(), 2, PACE, wallet_settings).await;
    world.ledger.drop_all(true);
    let signature = pending(&world, transfer(7)).await;
    world.nodes[0].set_behind(40);
    world.ledger.advance(VALID_BLOCKS + FINALIZED_AFTER + 1);
    tokio::time::sleep(LOOKS).await;
    assert_eq!(world.stored(&signature).await.unwrap().state, SendState::Pending, "the first node is the one asked");
    world.nodes[0].set_behind(0);
    world.until(&signature, SendState::Expired).await;
}

/// A transaction of others is valid for 150 blocks from now at most, and "now" must not be the past.
#[tokio::test]
async fn the_height_of_a_node_that_is_behind_is_not_the_end_of_a_transaction() {
    let world = World::relay(Ledger::manual()).await;
    let args = encoded(&world.signed(7));
    world.ledger.inject("getEpochInfo", Fault::Behind { blocks: 100 });
    let failed = world.call("sendTransaction", args.clone(), &unapproved()).await.unwrap_err();
    assert_eq!(failed.kind, Kind::Unavailable, "{failed:?}");
    world.assert_nothing_sent().await;
    let mut args = args;
    args["wait"] = "none".into();
    let reply = world.send("sendTransaction", args).await;
    assert_eq!(value(&reply)["lastValidBlockHeight"], world.ledger.height() + VALID_BLOCKS);
}

#[tokio::test]
async fn without_history_the_outcome_stays_open() {
    let world = World::wallet(Ledger::manual()).await;
    world
        .ledger
        .fail("getSignatureStatuses", json!({"code": -32011, "message": "Transaction history is not available"}));
    let reply = world.send("transferSol", transfer(7)).await;
    assert_eq!(value(&reply)["status"], "pending");
    assert!(value(&reply)["note"].as_str().unwrap().contains("history"), "{reply:?}");
}
