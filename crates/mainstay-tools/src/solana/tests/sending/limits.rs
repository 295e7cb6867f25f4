//! Limits on what a transaction and a day may take.

use super::super::super::SolanaTokenLimit;
use super::super::ledger::{SIGNATURE_FEE, Tells};
use super::*;

const SECTION: &str = "solana.networks.localnet.sending";

async fn verdict(world: &World, lamports: u64) -> Value {
    let args = json!({"to": recipient().to_string(), "lamports": lamports, "dry_run": true});
    value(&world.call("transferSol", args, &unapproved()).await.unwrap()).clone()
}

#[tokio::test]
async fn a_transaction_takes_at_most_its_limit_with_the_fee() {
    let world = World::wallet(Ledger::every(BLOCK)).await;
    assert_eq!(verdict(&world, SOL - SIGNATURE_FEE).await["verdict"], "allowed");
    let refused = verdict(&world, SOL - SIGNATURE_FEE + 1).await;
    assert_eq!(refused["verdict"], "refused");
    let reason = refused["reasons"][0].as_str().unwrap();
    assert!(reason.contains("1.000000001 SOL") && reason.contains(&format!("{SECTION}.max_lamports")), "{reason}");
    let reply = world.call("transferSol", transfer(SOL), &unapproved()).await.unwrap();
    assert!(refusal(&reply).contains("max_lamports"), "{reply:?}");
    world.assert_nothing_sent().await;
}

/// Those who sign a relayed transaction are limited as well.
#[tokio::test]
async fn limits_are_for_everybody_who_signs() {
    let sending = |_: &Path| SolanaSending {
        level: SendLevel::Relay,
        max_lamports_per_day: Some(SOL),
        ..SolanaSending::default()
    };
    let world = World::with(Ledger::every(BLOCK), 1, PACE, sending).await;
    world.send("sendTransaction", encoded(&world.signed(SOL / 2))).await;
    let reply = world.call("sendTransaction", encoded(&world.signed(SOL / 2)), &unapproved()).await.unwrap();
    assert!(refusal(&reply).contains("24 hours"), "{reply:?}");
    assert_eq!(world.ledger.executed().len(), 1);
}

/// Both are within the limit when they are checked; what is recorded first has reserved it.
#[tokio::test]
async fn of_two_transfers_at_once_only_what_fits_a_day_is_sent() {
    let sending =
        |directory: &Path| SolanaSending { max_lamports_per_day: Some(SOL + SOL / 2), ..wallet_settings(directory) };
    let world = World::with(Ledger::every(BLOCK), 1, PACE, sending).await;
    let mut contexts = Vec::new();
    for lamports in [SOL * 8 / 10, SOL * 9 / 10] {
        let error = world.call("transferSol", transfer(lamports), &unapproved()).await.unwrap_err();
        contexts.push((transfer(lamports), approved(&plan_of(&error).state)));
    }
    let calls = contexts.iter().map(|(args, context)| world.call("transferSol", args.clone(), context));
    let replies: Vec<Reply> = futures::future::join_all(calls).await.into_iter().map(Result::unwrap).collect();
    let (refused, sent): (Vec<_>, Vec<_>) = replies.iter().partition(|reply| reply.failed);
    assert_eq!((refused.len(), sent.len()), (1, 1), "{replies:?}");
    assert!(refusal(refused[0]).contains("24 hours"), "{refused:?}");
    assert_eq!(world.ledger.executed().len(), 1);
}

#[tokio::test]
async fn a_day_later_the_limit_is_free_again() {
    let sending = |directory: &Path| SolanaSending { max_lamports_per_day: Some(SOL), ..wallet_settings(directory) };
    let world = World::with(Ledger::every(BLOCK), 1, PACE, sending).await;
    let clock = Arc::new(mainstay_core::ManualClock::at_ms(1_700_000_000_000));
    let at = |mut context: Context| {
        context.clock = clock.clone();
        context
    };
    let error = world.call("transferSol", keyed(SOL / 2, "1"), &at(unapproved())).await.unwrap_err();
    let state = plan_of(&error).state.clone();
    value(&world.call("transferSol", keyed(SOL / 2, "1"), &at(approved(&state))).await.unwrap());
    clock.advance(Duration::from_hours(24) - Duration::from_secs(1));
    let reply = world.call("transferSol", keyed(SOL / 2, "2"), &at(approved(&state))).await.unwrap();
    assert!(refusal(&reply).contains("24 hours"), "{reply:?}");
    clock.advance(Duration::from_secs(1));
    value(&world.call("transferSol", keyed(SOL / 2, "2"), &at(approved(&state))).await.unwrap());
}

/// The answer of a simulation that takes tokens from the wallet.
fn with_tokens(world: &World, mint: Address, amount: u64) {
    let balance = |amount: u64| {
        json!([{
            "accountIndex": 1, "mint": mint.to_string(), "owner": wallet().address().to_string(),
            "uiTokenAmount": {"amount": amount.to_string(), "decimals": 6},
        }])
    };
    let lamports = vec![SOL; 8];
    let value = json!({
        "err": null, "logs": [], "fee": SIGNATURE_FEE, "preBalances": lamports, "postBalances": lamports,
        "preTokenBalances": balance(amount), "postTokenBalances": balance(0),
    });
    world.ledger.answer("simulateTransaction", json!({"context": {"slot": 1500}, "value": value}));
    let token_program = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
    let parsed = json!({"type": "mint", "info": {"decimals": 6}});
    let account = json!({"lamports": 1, "owner": token_program, "data": {"program": "spl-token", "parsed": parsed}});
    world.ledger.answer("getAccountInfo", json!({"context": {"slot": 1500}, "value": account}));
}

#[tokio::test]
async fn the_wallet_moves_only_tokens_that_are_listed_and_only_within_their_limits() {
    let (listed, other) = (Address::new_from_array([50; 32]), Address::new_from_array([51; 32]));
    let sending = |directory: &Path| SolanaSending {
        tokens: [(listed.to_string(), SolanaTokenLimit { max_amount: 10, max_amount_per_day: 15 })].into(),
        ..wallet_settings(directory)
    };
    let world = World::with(Ledger::every(BLOCK), 1, PACE, sending).await;
    let verdict = async |mint: Address, amount: u64| {
        with_tokens(&world, mint, amount);
        let to = recipient().to_string();
        let args = json!({"to": to, "mint": mint.to_string(), "amount": amount.to_string(), "dry_run": true});
        value(&world.call("transferToken", args, &unapproved()).await.unwrap()).clone()
    };
    assert_eq!(verdict(listed, 10).await["verdict"], "allowed");
    for (mint, amount) in [(listed, 11), (other, 1)] {
        let refused = verdict(mint, amount).await;
        assert_eq!(refused["verdict"], "refused");
        let setting = format!("{SECTION}.tokens.{mint}.max_amount");
        assert!(refused["reasons"][0].as_str().unwrap().contains(&setting), "{refused}");
    }
}

#[tokio::test]
async fn without_balances_accounts_are_compared() {
    let world = World::wallet(Ledger::manual()).await;
    world.ledger.tell(Tells::Accounts);
    // The accounts may or may not have paid the fee, so it counts on top.
    assert_eq!(verdict(&world, SOL - 2 * SIGNATURE_FEE).await["verdict"], "allowed");
    assert_eq!(verdict(&world, SOL - SIGNATURE_FEE).await["verdict"], "refused");
    assert!(world.ledger.requests("getMultipleAccounts") > 0);
}

/// What arrives between the two answers would hide as much of what the transaction takes.
#[tokio::test]
async fn accounts_of_different_slots_are_not_compared() {
    let world = World::wallet(Ledger::manual()).await;
    world.ledger.tell(Tells::Accounts);
    let account =
        |lamports: u64| json!({"lamports": lamports, "owner": Address::default().to_string(), "data": ["", "base64"]});
    let later = json!({"context": {"slot": 9_999}, "value": [account(0), account(0)]});
    world.ledger.answer("getMultipleAccounts", later);
    let refused = verdict(&world, 5 * SOL).await;
    assert!(refused["reasons"][0].as_str().unwrap().contains("cannot be compared with the limits"), "{refused}");
}

#[tokio::test]
async fn what_cannot_be_compared_with_limits_is_refused() {
    let world = World::wallet(Ledger::every(BLOCK)).await;
    world.ledger.tell(Tells::Nothing);
    let refused = verdict(&world, 1).await;
    assert!(refused["reasons"][0].as_str().unwrap().contains("cannot be compared with the limits"), "{refused}");
    let reply = world.call("transferSol", transfer(1), &unapproved()).await.unwrap();
    assert!(refusal(&reply).contains("limits"), "{reply:?}");
    world.assert_nothing_sent().await;
    // Without limits there is nothing to compare.
    let world = World::relay(Ledger::every(BLOCK)).await;
    world.ledger.tell(Tells::Nothing);
    assert_eq!(value(&world.send("sendTransaction", encoded(&world.signed(7))).await)["status"], "confirmed");
}
