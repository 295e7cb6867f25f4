//! A thousand transfers under all faults: each intention is executed once.

use std::collections::HashMap;

use futures::StreamExt as _;

use super::super::ledger::RandomFaults;
use super::*;
use crate::testing::TestRandom;

const SEED: u64 = 20_260_214;
const INTENTIONS: u64 = 1000;
const AT_ONCE: usize = 50;

/// A blockhash is valid for 1.5 seconds.
const QUICK_BLOCK: Duration = Duration::from_millis(10);
const QUICK: SendPace = SendPace {
    first: Duration::from_millis(30),
    slowest: Duration::from_millis(200),
    resend: Duration::from_millis(150),
    request: Duration::from_millis(400),
    alone: Duration::from_secs(5),
};

/// Whose first transaction the chain never takes.
fn is_doomed(lamports: u64) -> bool {
    lamports.is_multiple_of(40)
}

/// What a client was told of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Executed,
    Expired,
}

/// A client that wants to pay once: it repeats what failed with the same key, and begins again when it is told that the
/// transaction has expired. Returns all that it was told.
async fn pay(world: &World, lamports: u64) -> Vec<(String, Outcome)> {
    let mut random = TestRandom::new(SEED ^ lamports);
    let message = transfer_sol(wallet().address(), recipient(), lamports, solana_hash::Hash::default()).unwrap();
    let context = approved(&mainstay_core::hex(&message.hash_without_blockhash()));
    let mut told = Vec::new();
    for attempt in 0.. {
        let key = format!("{lamports}-{attempt}");
        loop {
            let call = world.call("transferSol", keyed(lamports, &key), &context);
            // Some clients lose patience, and come back.
            let patience = if random.below(10) == 0 { 20 } else { 60_000 };
            let Ok(reply) = tokio::time::timeout(Duration::from_millis(patience), call).await else { continue };
            let Ok(reply) = reply else { continue };
            let value = &reply.structured.as_ref().unwrap()["value"];
            match value["status"].as_str() {
                Some("confirmed" | "finalized") => {
                    told.push((signature(&reply), Outcome::Executed));
                    return told;
                }
                Some("expired") => {
                    told.push((signature(&reply), Outcome::Expired));
                    break;
                }
                // Refused, rejected, or not known yet: the same key again.
                Some(_) | None => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_transfers_under_faults_are_each_executed_once() {
    let sending =
        |directory: &Path| SolanaSending { max_lamports_per_day: Some(100_000 * SOL), ..wallet_settings(directory) };
    let world = World::with(Ledger::every(QUICK_BLOCK), 2, QUICK, sending).await;
    world.ledger.inject_at_random(RandomFaults::new(SEED, is_doomed));

    let calls = (1..=INTENTIONS).map(|lamports| pay(&world, lamports));
    let told: Vec<_> = futures::stream::iter(calls).buffer_unordered(AT_ONCE).collect().await;
    let told: HashMap<String, Outcome> = told.into_iter().flatten().collect();

    // What is still open gets its outcome, whoever waits for it.
    for _ in 0..1000 {
        if world.store.sent_transactions().unfinished(1).await.unwrap().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let executed = world.ledger.executed();
    let mut paid: HashMap<u64, usize> = HashMap::new();
    for transaction in executed.values() {
        *paid.entry(transaction.lamports).or_default() += 1;
    }
    let duplicates: Vec<_> = paid.iter().filter(|(_, times)| **times > 1).collect();
    assert!(duplicates.is_empty(), "paid more than once: {duplicates:?}");
    assert_eq!(paid.len() as u64, INTENTIONS);
    for (signature, told) in &told {
        let is_executed = executed.contains_key(signature);
        assert_eq!(is_executed, *told == Outcome::Executed, "{signature}: told {told:?}");
    }
    for signature in world.ledger.signatures() {
        let stored = world.stored(&signature).await.unwrap();
        let expected = if executed.contains_key(&signature) { SendState::Finalized } else { SendState::Expired };
        assert_eq!(stored.state, expected, "{signature}");
    }
    let expired = told.values().filter(|told| **told == Outcome::Expired).count() as u64;
    assert!(expired >= INTENTIONS / 40, "{expired}");
}
