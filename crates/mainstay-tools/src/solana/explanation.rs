//! A transaction in words and figures: what it does, and what it has changed or would change.

use std::fmt::Write as _;
use std::str::FromStr as _;

use mainstay_core::{Error, Result};
use mainstay_solana::transaction::{
    Deltas, Description, Transaction, deltas_of_simulation, deltas_of_transaction, describe_loaded, format_amount,
    format_sol, program_name,
};
use serde_json::{Map, Value, json};
use solana_address::Address;

/// What is known about a transaction.
pub(super) struct Explanation {
    description: Description,
    /// `None` where the node did not list balances.
    deltas: Option<Deltas>,
    /// The error with which it failed, as the chain reports it.
    failure: Option<Value>,
}

impl Explanation {
    /// Of a transaction on the chain, from the result of `getTransaction` with the encoding `base64`.
    pub(super) fn of_executed(result: &Value) -> Result<Self> {
        let transaction = decode(result["transaction"][0].as_str().unwrap_or_default())?;
        let loaded = &result["meta"]["loadedAddresses"];
        let loaded: Vec<Address> = ["writable", "readonly"]
            .iter()
            .flat_map(|kind| loaded[kind].as_array().into_iter().flatten())
            .filter_map(|address| Address::from_str(address.as_str()?).ok())
            .collect();
        Ok(Self {
            description: describe_loaded(transaction.message(), &loaded),
            // Old transactions have no balances; what they do is told all the same.
            deltas: deltas_of_transaction(result).ok(),
            failure: Some(result["meta"]["err"].clone()).filter(|error| !error.is_null()),
        })
    }

    /// Of a transaction that was simulated, from the value of `simulateTransaction`.
    pub(super) fn of_simulated(transaction: &Transaction, value: &Value) -> Self {
        Self {
            description: describe_loaded(transaction.message(), &[]),
            deltas: deltas_of_simulation(transaction.message(), value).ok().flatten(),
            failure: Some(value["err"].clone()).filter(|error| !error.is_null()),
        }
    }

    /// With the changes that were found by other means than the node's own list of balances.
    pub(super) fn with_deltas(self, deltas: Option<Deltas>) -> Self {
        Self { deltas, ..self }
    }

    /// For programs. Amounts are text: they may exceed what a JavaScript number holds.
    pub(super) fn to_json(&self) -> Map<String, Value> {
        let mut members = self.description.to_json().as_object().cloned().unwrap_or_default();
        members.insert("error".to_owned(), self.failure.clone().unwrap_or_default());
        if let Some(deltas) = &self.deltas {
            members.insert("feeLamports".to_owned(), json!(deltas.fee.map(|fee| fee.to_string())));
            let sol = |(account, lamports): &(Address, i128)| json!({"account": account.to_string(), "lamports": lamports.to_string(), "sol": format_sol(*lamports)});
            members.insert("solDeltas".to_owned(), deltas.sol.iter().map(sol).collect());
            let tokens = deltas.tokens.iter().map(|delta| {
                json!({
                    "account": delta.account.to_string(),
                    "owner": delta.owner.map(|owner| owner.to_string()),
                    "mint": delta.mint.to_string(),
                    "amount": delta.amount.to_string(),
                    "uiAmount": delta.decimals.map(|decimals| format_amount(delta.amount, decimals)),
                })
            });
            members.insert("tokenDeltas".to_owned(), tokens.collect());
        }
        members
    }

    /// For people and models. `executed` is whether it happened, or would.
    pub(super) fn words(&self, executed: bool) -> String {
        let Description { fee_payer, signers, programs, instructions, warnings, .. } = &self.description;
        let mut text = String::new();
        // Writing to a string cannot fail.
        let mut line = |words: std::fmt::Arguments<'_>| _ = writeln!(text, "{words}");
        match (&self.failure, executed) {
            (None, true) => line(format_args!("The transaction succeeded.")),
            (None, false) => line(format_args!("The transaction would succeed.")),
            (Some(error), true) => line(format_args!("The transaction failed: {error}. Only the fee was taken.")),
            (Some(error), false) => line(format_args!("The transaction would fail: {error}.")),
        }
        let others: Vec<String> =
            signers.iter().filter(|signer| *signer != fee_payer).map(ToString::to_string).collect();
        line(format_args!("Signed and paid for by {fee_payer}."));
        if !others.is_empty() {
            line(format_args!("Also signed by {}.", others.join(", ")));
        }
        let names: Vec<String> = programs.iter().map(shown_program).collect();
        line(format_args!("Programs: {}.", names.join(", ")));
        for (number, instruction) in instructions.iter().enumerate() {
            line(format_args!("{number}. {instruction}"));
        }
        if let Some(deltas) = &self.deltas {
            if let Some(fee) = deltas.fee {
                line(format_args!("Fee: {} SOL.", format_sol(fee.into())));
            }
            for (account, lamports) in &deltas.sol {
                line(format_args!("{account}: {} SOL", signed(*lamports, 9)));
            }
            for delta in &deltas.tokens {
                let owner = delta.owner.map_or_else(|| "an unknown owner".to_owned(), |owner| owner.to_string());
                let amount = signed(delta.amount, delta.decimals.unwrap_or(0));
                line(format_args!("{owner}: {amount} of the token {}", delta.mint));
            }
        }
        for warning in warnings {
            line(format_args!("Warning: {warning}"));
        }
        text
    }
}

/// With its sign, also where it is positive.
fn signed(amount: i128, decimals: u8) -> String {
    let sign = if amount > 0 { "+" } else { "" };
    format!("{sign}{}", format_amount(amount, decimals))
}

fn shown_program(program: &Address) -> String {
    program_name(program).map_or_else(|| program.to_string(), str::to_owned)
}

/// A transaction that a caller or a node gave.
pub(super) fn decode(text: &str) -> Result<Transaction> {
    Transaction::from_base64(text).map_err(|error| Error::field("transaction", error.to_string()))
}
