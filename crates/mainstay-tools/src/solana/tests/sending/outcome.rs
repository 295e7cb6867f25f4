//! What nodes and the chain make of a transaction.

use super::super::ledger::{Fault, RATE_LIMITED, SIGNATURE_FEE, UNHEALTHY};
use super::*;

fn preflight_failure(err: &Value) -> Value {
    json!({"code": -32002, "message": "Transaction simulation failed", "data": {"err": err, "logs": []}})
}

#[tokio::test]
async fn a_refusal_of_the_first_node_is_final_and_the_transfer_may_be_made_again() {
    let world = World::wallet(Ledger::every(BLOCK)).await;
    world.ledger.fail("sendTransaction", preflight_failure(&json!({"InstructionError": [0, {"Custom": 1}]})));
    let rejected = world.send("transferSol", keyed(7, "key")).await;
    assert_eq!(rejected.structured.as_ref().unwrap()["value"]["status"], "rejected");
    let told = error(&rejected);
    assert_eq!((&told["code"], &told["data"]["err"]["InstructionError"][0]), (&json!(-32002), &json!(0)));
    assert_eq!(world.ledger.arrivals(&signature(&rejected)).len(), 1);
    assert_eq!(world.spent().await, 0, "what it would have spent is free again");

    world.ledger.heal("sendTransaction");
    tokio::time::sleep(2 * BLOCK).await;
    let sent = world.send("transferSol", keyed(7, "key")).await;
    assert_eq!(value(&sent)["status"], "confirmed");
    assert_ne!(signature(&sent), signature(&rejected));
}

#[tokio::test]
async fn a_relayed_transaction_that_was_rejected_may_be_sent_again_as_it_is() {
    let world = World::relay(Ledger::every(BLOCK)).await;
    let transaction = world.signed(7);
    world.ledger.fail("sendTransaction", preflight_failure(&json!("AccountNotFound")));
    assert!(world.send("sendTransaction", encoded(&transaction)).await.failed);
    world.ledger.heal("sendTransaction");
    let sent = world.send("sendTransaction", encoded(&transaction)).await;
    assert_eq!((signature(&sent), &value(&sent)["status"]), (id(&transaction), &json!("confirmed")));
}

/// Nodes that say this may not have seen the newest block yet, or have the transaction already.
#[tokio::test]
async fn refusals_that_pass_are_not_final() {
    for err in ["BlockhashNotFound", "AlreadyProcessed"] {
        let world = World::wallet(Ledger::every(BLOCK)).await;
        world.ledger.fail("sendTransaction", preflight_failure(&err.into()));
        let mut args = transfer(7);
        args["wait"] = "none".into();
        let reply = world.send("transferSol", args).await;
        assert_eq!(value(&reply)["status"], "pending", "{err}");
        assert!(value(&reply)["note"].as_str().unwrap().contains("sent again"), "{reply:?}");
        world.ledger.heal("sendTransaction");
        world.until(&signature(&reply), SendState::Finalized).await;
        assert_eq!(world.ledger.executed().len(), 1);
    }
}

/// Each of them on the first send, with and without the transaction being taken.
#[tokio::test]
async fn a_transaction_survives_every_fault_of_a_node() {
    let faults = [
        RATE_LIMITED,
        UNHEALTHY,
        Fault::Error { code: -32429, message: "Too many requests" },
        Fault::Status { status: 503, retry_after: None, taken: false },
        Fault::Status { status: 503, retry_after: None, taken: true },
        Fault::Closed { taken: false },
        Fault::Closed { taken: true },
        Fault::Silent { taken: false },
        Fault::Silent { taken: true },
        Fault::Truncated,
        Fault::Dropped,
        Fault::Later { blocks: 10 },
        Fault::Behind { blocks: 5 },
    ];
    for fault in faults {
        let ledger = Ledger::every(BLOCK);
        let world =
            World::with(ledger, 2, SendPace { request: Duration::from_millis(500), ..PACE }, wallet_settings).await;
        world.ledger.inject("sendTransaction", fault);
        let reply = world.send("transferSol", transfer(7)).await;
        assert!(
            value(&reply)["status"] == "confirmed" || value(&reply)["status"] == "finalized",
            "{fault:?} {reply:?}"
        );
        assert_eq!(world.ledger.executed().len(), 1, "{fault:?}");
    }
}

#[tokio::test]
async fn a_transaction_that_fails_on_the_chain_costs_its_fee() {
    let sending = |_: &Path| SolanaSending {
        level: SendLevel::Relay,
        max_lamports_per_day: Some(SOL),
        ..SolanaSending::default()
    };
    let world = World::with(Ledger::every(BLOCK), 1, PACE, sending).await;
    let transaction = world.signed(7);
    // What the simulation does not see yet.
    let (before, after) = ([SOL, 0, 1], [SOL - 7 - SIGNATURE_FEE, 7, 1]);
    let simulated =
        json!({"err": null, "logs": [], "fee": SIGNATURE_FEE, "preBalances": before, "postBalances": after});
    world.ledger.answer("simulateTransaction", json!({"context": {"slot": 1500}, "value": simulated}));
    world.ledger.fail_transfer(7, json!({"InstructionError": [0, {"Custom": 1}]}));
    let mut args = encoded(&transaction);
    args["skipPreflight"] = true.into();
    args["wait"] = "finalized".into();
    let reply = world.send("sendTransaction", args).await;
    assert_eq!(reply.structured.as_ref().unwrap()["value"]["status"], "failed");
    assert_eq!(error(&reply)["name"], "TransactionFailed");
    assert_eq!(error(&reply)["data"], json!({"InstructionError": [0, {"Custom": 1}]}));
    let account = other_wallet().address().to_string();
    let spent = world.store.sent_transactions().spent(NETWORK, &account, "SOL", 0).await.unwrap();
    assert_eq!(spent, SIGNATURE_FEE);
}

#[tokio::test]
async fn a_transaction_whose_fork_is_dropped_is_sent_again() {
    let world = World::wallet(Ledger::manual()).await;
    let mut args = transfer(7);
    args["wait"] = "none".into();
    let signature = signature(&world.send("transferSol", args).await);
    world.ledger.advance(3);
    world.until(&signature, SendState::Confirmed).await;
    let sent = world.ledger.arrivals(&signature).len();
    world.ledger.drop_all(true);
    world.ledger.forget(&signature);
    world.until(&signature, SendState::Pending).await;
    world.ledger.drop_all(false);
    eventually(|| !world.ledger.executed().is_empty()).await;
    assert!(world.ledger.arrivals(&signature).len() > sent);
    assert_eq!(world.ledger.arrivals(&signature).last().unwrap()["skipPreflight"], true);
    world.ledger.advance(30);
    world.until(&signature, SendState::Finalized).await;
}

/// It does not know the transaction, but it does not know the block either.
#[tokio::test]
async fn a_node_that_is_behind_does_not_take_back_a_confirmation() {
    let world = World::wallet(Ledger::manual()).await;
    let mut args = transfer(7);
    args["wait"] = "none".into();
    let signature = signature(&world.send("transferSol", args).await);
    world.ledger.advance(3);
    world.until(&signature, SendState::Confirmed).await;
    let (looks, sent) = (world.ledger.requests("getSignatureStatuses"), world.ledger.arrivals(&signature).len());
    world.nodes[0].set_behind(10);
    // A confirmation that was taken back is sent again at once.
    eventually(|| world.ledger.requests("getSignatureStatuses") >= looks + 5).await;
    assert_eq!(world.stored(&signature).await.unwrap().state, SendState::Confirmed);
    assert_eq!(world.ledger.arrivals(&signature).len(), sent);
}
