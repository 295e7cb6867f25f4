//! A simulation before sending: whether the transaction would succeed, and what it takes from whom.

use mainstay_core::Context;
use mainstay_solana::transaction::{Deltas, Transaction, deltas_of_accounts, deltas_of_simulation, max_priority_fee};
use serde_json::{Value, json};
use solana_address::Address;

use super::super::chain::Chain;
use super::super::describe::ask;
use super::stop::Stop;

/// Lamports for each signature.
const SIGNATURE_FEE: u64 = 5000;

/// How many of the last lines of a failed simulation's log are told.
const TOLD_LOGS: usize = 5;

/// How often a transaction is simulated to have the accounts of the same slot before it. A slot lasts 0.4 seconds, the two
/// requests much less.
const SAME_SLOT_TRIES: u32 = 5;

/// What a simulation found.
pub(super) struct Simulation {
    /// As the node answered it.
    pub(super) value: Value,
    /// `None` if the node tells no balances, or not those of all accounts.
    pub(super) deltas: Option<Deltas>,
    pub(super) fee: u64,
}

/// The most that the chain takes for a transaction, whether it succeeds or not.
pub(super) fn highest_fee(transaction: &Transaction) -> u64 {
    let signatures = u64::try_from(transaction.signatures().len()).unwrap_or(u64::MAX);
    SIGNATURE_FEE.saturating_mul(signatures).saturating_add(max_priority_fee(transaction.message()))
}

impl Simulation {
    /// Runs a transaction at a node as it is. Signatures are verified by then, so the node need not.
    pub(super) async fn of(
        chain: &Chain,
        network: &str,
        transaction: &Transaction,
        context: &Context,
    ) -> Result<Self, Stop> {
        let message = transaction.message();
        let written = message.writable_keys();
        let addresses: Vec<String> = written.iter().map(Address::to_string).collect();
        let args = json!({
            "transaction": transaction.to_base64(),
            "sigVerify": false,
            "accounts": {"addresses": addresses, "encoding": "base64"},
            "network": network,
        });
        let mut tries = SAME_SLOT_TRIES;
        loop {
            tries -= 1;
            let (slot, value) = ask(chain, "simulateTransaction", &args, context).await??;
            let fee = value["fee"].as_u64().unwrap_or_else(|| highest_fee(transaction));
            let found = |value, deltas| Self { value, deltas, fee };
            match deltas_of_simulation(message, &value) {
                Ok(Some(deltas)) => return Ok(found(value, Some(deltas))),
                // Accounts of lookup tables are not among those that were asked for, and a failed simulation has none.
                Ok(None) if message.lookups().is_empty() && value["err"].is_null() => {}
                Ok(None) | Err(_) => return Ok(found(value, None)),
            }
            let args = json!({"pubkeys": addresses, "encoding": "base64", "minContextSlot": slot, "network": network});
            let (before_slot, before) = ask(chain, "getMultipleAccounts", &args, context).await??;
            // Whatever arrives between the two answers would hide as much of what the transaction takes.
            if before_slot == slot {
                let (before, after) = (before.as_array(), value["accounts"].as_array());
                let deltas =
                    before.zip(after).and_then(|(before, after)| deltas_of_accounts(&written, before, after).ok());
                return Ok(found(value, deltas));
            }
            if tries == 0 {
                return Ok(found(value, None));
            }
        }
    }

    /// Why the transaction would fail, with the end of its log.
    pub(super) fn failure(&self) -> Option<String> {
        let error = Some(&self.value["err"]).filter(|error| !error.is_null())?;
        let logs = self.value["logs"].as_array().map(Vec::as_slice).unwrap_or_default();
        let last = logs.get(logs.len().saturating_sub(TOLD_LOGS)..).unwrap_or_default();
        let last: Vec<&str> = last.iter().filter_map(Value::as_str).collect();
        let log = if last.is_empty() { String::new() } else { format!(" Its log ends with: {}", last.join("; ")) };
        Some(format!("The transaction would fail: {error}.{log}"))
    }
}
