//! Transfers of the wallet: what an approval is for, and what happens with and without one.

use mainstay_core::hex;

use super::super::ledger::VALID_BLOCKS;
use super::*;

async fn plan(world: &World, args: Value) -> String {
    let error = world.call("transferSol", args, &unapproved()).await.unwrap_err();
    plan_of(&error).state.clone()
}

/// A person takes longer to decide than a blockhash lasts.
#[tokio::test]
async fn an_approval_is_for_the_transfer_and_not_for_its_blockhash() {
    let world = World::wallet(Ledger::manual()).await;
    let state = plan(&world, transfer(7)).await;
    let message = transfer_sol(wallet().address(), recipient(), 7, world.ledger.blockhash()).unwrap();
    assert_eq!(state, hex(&message.hash_without_blockhash()));
    world.ledger.advance(VALID_BLOCKS + 1);
    assert_eq!(plan(&world, transfer(7)).await, state);
    assert_ne!(plan(&world, transfer(8)).await, state);
    let other = json!({"to": other_wallet().address().to_string(), "lamports": 7});
    assert_ne!(plan(&world, other.clone()).await, state);
    let error = world.call("transferSol", other, &approved(&state)).await.unwrap_err();
    assert_ne!(plan_of(&error).state, state);
    world.assert_nothing_sent().await;

    let args = json!({"to": recipient().to_string(), "lamports": 7, "wait": "none"});
    let reply = world.call("transferSol", args, &approved(&state)).await.unwrap();
    assert_eq!(value(&reply)["messageHash"], state.as_str());
}

#[tokio::test]
async fn without_approval_nothing_is_signed() {
    let world = World::wallet(Ledger::every(BLOCK)).await;
    let error = world.call("transferSol", keyed(7, "key"), &unapproved()).await.unwrap_err();
    assert!(plan_of(&error).ask);
    let found = world.store.sent_transactions().find_key("local", "key").await.unwrap();
    assert_eq!(found, None, "a signature would be on record before it is used");
    world.assert_nothing_sent().await;
    assert_eq!(world.spent().await, 0);
}

#[tokio::test]
async fn a_transfer_moves_what_was_approved() {
    let world = World::wallet(Ledger::every(BLOCK)).await;
    let reply = world.send("transferSol", transfer(7)).await;
    assert_eq!(value(&reply)["status"], "confirmed");
    let executed = world.ledger.executed();
    assert_eq!(executed[&signature(&reply)].lamports, 7);
    // A node that checked it against a final state would not know its blockhash for many blocks.
    let arrivals = world.ledger.arrivals(&signature(&reply));
    assert_eq!((arrivals.len(), &arrivals[0]["preflightCommitment"]), (1, &json!("processed")));
    assert_ne!(arrivals[0]["skipPreflight"], true);
    assert_eq!(world.spent().await, 7 + super::super::ledger::SIGNATURE_FEE);
}

#[tokio::test]
async fn a_call_waits_as_long_as_it_says() {
    let world = World::wallet(Ledger::manual()).await;
    let with = |lamports: u64, wait: &str| json!({"to": recipient().to_string(), "lamports": lamports, "wait": wait});
    let reply = world.send("transferSol", with(1, "none")).await;
    assert_eq!(value(&reply)["status"], "pending");
    assert_eq!(world.ledger.arrivals(&signature(&reply)).len(), 1, "a node was asked to take it");

    for (lamports, wait, blocks) in [(2, "confirmed", 2), (3, "finalized", 20)] {
        let args = with(lamports, wait);
        let state = plan(&world, args.clone()).await;
        let context = approved(&state);
        let mut call = pin!(world.call("transferSol", args, &context));
        run_until(call.as_mut(), || world.ledger.has_executed(lamports)).await;
        world.ledger.advance(blocks - 1);
        let looks = world.ledger.requests("getSignatureStatuses");
        run_until(call.as_mut(), || world.ledger.requests("getSignatureStatuses") >= looks + 10).await;
        world.ledger.advance(1);
        assert_eq!(value(&call.await.unwrap())["status"], wait);
    }
}

/// With one blockhash they would be one transaction, which the chain executes once.
#[tokio::test]
async fn two_equal_transfers_are_two_transactions() {
    let world = World::wallet(Ledger::manual()).await;
    let state = plan(&world, transfer(7)).await;
    let context = approved(&state);
    let (first, second) = (keyed(7, "first"), keyed(7, "second"));
    let blocks = async {
        loop {
            tokio::time::sleep(Duration::from_millis(300)).await;
            world.ledger.advance(1);
        }
    };
    let both = async {
        let one = world.call("transferSol", first, &context);
        let two = world.call("transferSol", second, &context);
        tokio::join!(one, two)
    };
    let (one, two) = tokio::select! {
        replies = both => replies,
        () = blocks => unreachable!("there is no last block"),
    };
    assert_ne!(signature(&one.unwrap()), signature(&two.unwrap()));
    let executed = world.ledger.executed();
    assert_eq!(executed.values().map(|executed| executed.lamports).collect::<Vec<_>>(), [7, 7]);
}

#[tokio::test]
async fn the_key_is_in_no_reply_error_or_debug_output() {
    let world = World::wallet(Ledger::every(BLOCK)).await;
    let error = world.call("transferSol", transfer(7), &unapproved()).await.unwrap_err();
    let reply = world.send("transferSol", transfer(7)).await;
    let refused = world.call("transferSol", transfer(5 * SOL), &unapproved()).await.unwrap();
    let networks = world.call("solanaNetworks", json!({"network": NETWORK}), &unapproved()).await.unwrap();
    let stored = world.stored(&signature(&reply)).await;
    let told = format!("{error:?} {reply:?} {refused:?} {networks:?} {stored:?} {:?} {:?}", wallet(), world.settings);
    let secret = std::fs::read_to_string(key_path(world.directory.path())).unwrap();
    assert!(secret.contains("1,1,1,1"), "{secret}");
    for form in ["1,1,1,1", "1, 1, 1, 1", &"01".repeat(16)] {
        assert!(!told.contains(form), "{told}");
    }
    assert!(told.contains(&wallet().address().to_string()), "the address is no secret");
}
