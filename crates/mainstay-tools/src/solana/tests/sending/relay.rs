//! Transactions that others have signed.

use mainstay_core::{Effect, Kind, hex};
use mainstay_solana::transaction::{Header, Instruction, Message, MessageParts, Version};
use solana_hash::Hash;

use super::*;

const SETTING: &str = "solana.networks.localnet.sending.level";

#[tokio::test]
async fn sending_is_off_by_default() {
    let world = World::with(Ledger::every(BLOCK), 1, PACE, |_| SolanaSending::default()).await;
    let mut args = encoded(&world.signed(7));
    let reply = world.call("sendTransaction", args.clone(), &unapproved()).await.unwrap();
    assert!(refusal(&reply).contains(SETTING), "{reply:?}");
    args["dry_run"] = true.into();
    let reply = world.call("sendTransaction", args, &unapproved()).await.unwrap();
    assert_eq!(value(&reply)["verdict"], "refused");
    assert!(value(&reply)["reasons"][0].as_str().unwrap().contains(SETTING), "{reply:?}");
    assert_eq!(world.ledger.all_requests(), 0);
    assert!(world.registry.tool("transferSol").is_none() && world.registry.tool("transferToken").is_none());
}

#[tokio::test]
async fn relay_has_no_wallet() {
    let world = World::relay(Ledger::every(BLOCK)).await;
    assert!(world.registry.tool("transferSol").is_none(), "the key of a wallet that is not used stays where it is");
}

#[tokio::test]
async fn a_dry_run_tells_what_would_happen_and_sends_nothing() {
    let world = World::relay(Ledger::every(BLOCK)).await;
    let transaction = world.signed(2 * SOL);
    let mut args = encoded(&transaction);
    args["dry_run"] = true.into();
    // Not even if there is an approval.
    let hash = hex(&transaction.message().hash());
    let reply = world.call("sendTransaction", args, &approved(&hash)).await.unwrap();
    let verdict = value(&reply);
    assert_eq!((&verdict["verdict"], &verdict["messageHash"]), (&json!("allowed"), &json!(hash)));
    assert!(verdict["summary"].to_string().contains("+2.000000000 SOL"), "{verdict}");
    world.assert_nothing_sent().await;
}

#[tokio::test]
async fn without_approval_the_plan_is_returned_and_nothing_is_stored() {
    let world = World::relay(Ledger::every(BLOCK)).await;
    let transaction = world.signed(7);
    let error = world.call("sendTransaction", encoded(&transaction), &unapproved()).await.unwrap_err();
    let plan = plan_of(&error);
    assert_eq!(plan.state, hex(&transaction.message().hash()));
    assert!(plan.ask && plan.effect == Effect::Destroys && plan.notice.as_ref().unwrap().contains(NETWORK), "{plan:?}");
    world.assert_nothing_sent().await;
}

#[tokio::test]
async fn an_approved_transaction_is_recorded_sent_and_confirmed() {
    let world = World::relay(Ledger::every(BLOCK)).await;
    let transaction = world.signed(7);
    let reply = world.send("sendTransaction", encoded(&transaction)).await;
    assert_eq!(reply.structured.as_ref().unwrap()["network"], NETWORK);
    let (value, stored) = (value(&reply), world.stored(&id(&transaction)).await.unwrap());
    assert_eq!((&value["signature"], &value["status"]), (&json!(id(&transaction)), &json!("confirmed")));
    assert_eq!(value["messageHash"], hex(&transaction.message().hash()));
    assert_eq!(value["lastValidBlockHeight"], stored.last_valid_height);
    assert_eq!(value["slot"], json!(stored.slot.unwrap()));
    assert_eq!((stored.principal.as_str(), stored.transaction), ("local", transaction.to_base64()));
    assert_eq!(world.ledger.executed().len(), 1);
    let options = &world.ledger.arrivals(&id(&transaction))[0];
    assert_eq!(
        options,
        &json!({"encoding": "base64", "skipPreflight": false, "preflightCommitment": "confirmed", "maxRetries": 0}),
        "the node checks it too"
    );
    world.until(&id(&transaction), SendState::Finalized).await;
}

#[tokio::test]
async fn the_approval_of_another_message_does_not_count() {
    let world = World::relay(Ledger::every(BLOCK)).await;
    let other = hex(&world.signed(8).message().hash());
    let args = encoded(&world.signed(7));
    let error = world.call("sendTransaction", args, &approved(&other)).await.unwrap_err();
    assert_ne!(plan_of(&error).state, other);
    world.assert_nothing_sent().await;
}

#[tokio::test]
async fn the_same_transaction_again_is_told_without_approval_and_not_executed_again() {
    let world = World::relay(Ledger::every(BLOCK)).await;
    let transaction = world.signed(7);
    let first = world.send("sendTransaction", encoded(&transaction)).await;
    let mut again = encoded(&transaction);
    again["idempotency_key"] = "a key that the first call did not have".into();
    for args in [encoded(&transaction), again] {
        let reply = world.call("sendTransaction", args, &unapproved()).await.unwrap();
        assert_eq!(value(&reply)["signature"], value(&first)["signature"]);
    }
    let error = world.call("sendTransaction", encoded(&transaction), &by_other(unapproved())).await.unwrap_err();
    assert_eq!(error.kind, Kind::Conflict, "others are not told what somebody has sent");
    assert_eq!(world.ledger.executed().len(), 1);
    assert_eq!(world.ledger.arrivals(&id(&transaction)).len(), 1);
}

/// Each refusal has its reason, and comes before a person is asked.
#[tokio::test]
async fn what_cannot_or_must_not_run_is_refused() {
    let world = World::relay(Ledger::every(BLOCK)).await;
    let mut bytes = world.signed(7).to_bytes();
    bytes[5] ^= 1;
    let forged = Transaction::from_bytes(&bytes).unwrap();
    let unsigned = Transaction::unsigned(world.signed(7).message().clone());
    let signed = |message: &Message| other_wallet().sign(message).unwrap();
    let from = other_wallet().address();
    let stale = Hash::new_from_array([9; 32]);
    let expired = signed(&transfer_sol(from, recipient(), 7, stale).unwrap());
    let nonce = signed(&with_durable_nonce(world.ledger.blockhash()));
    world.ledger.fail_transfer(13, json!({"InstructionError": [0, {"Custom": 1}]}));
    for (transaction, reason) in [
        (&forged, "The signature is missing or does not fit the message"),
        (&unsigned, "The signature is missing or does not fit the message"),
        (&expired, "The blockhash "),
        (&nonce, "durable nonce"),
        (&world.signed(13), "insufficient lamports"),
    ] {
        let reply = world.call("sendTransaction", encoded(transaction), &unapproved()).await.unwrap();
        assert!(refusal(&reply).contains(reason), "{reason}: {reply:?}");
        let mut args = encoded(transaction);
        args["dry_run"] = true.into();
        let reply = world.call("sendTransaction", args, &unapproved()).await.unwrap();
        assert_eq!(value(&reply)["verdict"], "refused");
        assert!(value(&reply)["reasons"].to_string().contains(reason), "{reason}: {reply:?}");
    }
    world.assert_nothing_sent().await;
}

/// A transfer after an instruction of the System program that advances a nonce (number 4).
fn with_durable_nonce(blockhash: Hash) -> Message {
    let from = other_wallet().address();
    let transfer = transfer_sol(from, recipient(), 7, blockhash).unwrap();
    let mut instructions = vec![Instruction { program_index: 2, accounts: vec![1, 2, 0], data: vec![4, 0, 0, 0] }];
    instructions.extend(transfer.instructions().iter().cloned());
    let parts = MessageParts {
        version: Version::Legacy,
        header: Header { required_signatures: 1, readonly_signed: 0, readonly_unsigned: 1 },
        account_keys: transfer.account_keys().to_vec(),
        recent_blockhash: blockhash,
        instructions,
        lookups: Vec::new(),
    };
    Message::from_parts(parts).unwrap()
}
