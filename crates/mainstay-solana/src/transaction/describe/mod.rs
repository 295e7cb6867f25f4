//! What a transaction does, in words and figures.
//!
//! Nothing that a program could run goes unmentioned: what is not decoded is named with its size and is a warning. Only the
//! instructions of the message are seen; those that a program calls in turn appear in a simulation.

mod compute_budget;
mod instruction;
mod system;
mod token;

#[cfg(test)]
mod tests;

use mainstay_core::quoted;
use serde_json::{Value, json};
use solana_address::Address;

pub use compute_budget::max_priority_fee;

use self::instruction::{Accounts, Explained};
use super::amounts::format_sol;
use super::message::{Instruction, Message};
use super::programs::{ASSOCIATED_TOKEN, COMPUTE_BUDGET, MEMO_V1, MEMO_V2, SYSTEM, TOKEN, TOKEN_2022, program_name};
use super::wire::Reader;

/// From this priority fee on there is a warning: 2,000 times the fee of a signature.
const HIGH_PRIORITY_FEE: u64 = 10_000_000;

/// What a message does. Instructions and warnings number instructions from 0, as nodes do in their errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    pub fee_payer: Address,
    pub signers: Vec<Address>,
    pub programs: Vec<Address>,
    /// One line for each instruction, in their order.
    pub instructions: Vec<String>,
    /// What a person should look at before consenting.
    pub warnings: Vec<String>,
    /// In lamports, beside the fee for each signature.
    pub max_priority_fee: u64,
}

impl Description {
    /// For a tool's reply. The fee is text, as it may exceed 2^53.
    pub fn to_json(&self) -> Value {
        let program = |program: &Address| json!({"address": program.to_string(), "name": program_name(program)});
        json!({
            "feePayer": self.fee_payer.to_string(),
            "signers": self.signers.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "programs": self.programs.iter().map(program).collect::<Vec<_>>(),
            "instructions": self.instructions,
            "warnings": self.warnings,
            "maxPriorityFeeLamports": self.max_priority_fee.to_string(),
        })
    }
}

/// Describes a message. Accounts of lookup tables are named by their place in the table.
pub fn describe(message: &Message) -> Description {
    describe_loaded(message, &[])
}

/// Describes a message whose lookups are known: `loaded` are all writable addresses of its lookup tables, then all read-only
/// ones, as a node lists them in `loadedAddresses`.
pub fn describe_loaded(message: &Message, loaded: &[Address]) -> Description {
    let mut warnings = message_warnings(message);
    let mut instructions = Vec::new();
    for (number, instruction) in message.instructions().iter().enumerate() {
        let explained = explain(message, loaded, instruction);
        instructions.push(explained.text);
        warnings.extend(explained.warnings.into_iter().map(|warning| format!("Instruction {number} {warning}.")));
    }
    Description {
        fee_payer: message.fee_payer(),
        signers: message.signers().to_vec(),
        programs: message.programs(),
        instructions,
        warnings,
        max_priority_fee: max_priority_fee(message),
    }
}

/// Warnings about the message as a whole.
fn message_warnings(message: &Message) -> Vec<String> {
    let mut warnings = Vec::new();
    if uses_durable_nonce(message) {
        warnings.push(
            "The transaction uses a durable nonce: once signed, it can be sent at any later time until the nonce is advanced."
                .to_owned(),
        );
    }
    for lookup in message.lookups() {
        let count = lookup.writable.len() + lookup.readonly.len();
        warnings.push(format!(
            "The transaction takes {count} accounts from the lookup table {}; the chain says which.",
            lookup.table
        ));
    }
    let fee = max_priority_fee(message);
    if fee >= HIGH_PRIORITY_FEE {
        warnings.push(format!("The priority fee is up to {} SOL.", format_sol(fee.into())));
    }
    warnings
}

/// Whether the message is valid until a nonce on the chain is advanced, and not for some minutes. A node takes the blockhash
/// for a nonce if the first instruction advances one.
pub fn uses_durable_nonce(message: &Message) -> bool {
    message.instructions().first().is_some_and(|first| {
        message.program(first) == Some(SYSTEM)
            && Reader::new(&first.data).u32("instruction") == Ok(system::ADVANCE_NONCE)
    })
}

/// One instruction: its program's name, then what the decoder of that program says.
fn explain(message: &Message, loaded: &[Address], instruction: &Instruction) -> Explained {
    let program = message.program(instruction).unwrap_or_default();
    let mut accounts = Accounts::of(message, loaded, &instruction.accounts);
    let count = accounts.len();
    let mut data = Reader::new(&instruction.data);
    let size = format!("{} bytes of data and {count} accounts", instruction.data.len());
    let Some(name) = program_name(&program) else {
        return Explained::new(format!("{program}: instruction with {size}"))
            .warn(format!("calls the program {program}, which is not a well-known one; what it does is not known"));
    };
    let decoded = match program {
        SYSTEM => system::explain(&mut data, &accounts),
        TOKEN | TOKEN_2022 => token::explain(&mut data, &mut accounts),
        ASSOCIATED_TOKEN => explain_associated(&mut data, &accounts),
        COMPUTE_BUDGET => compute_budget::explain(&mut data),
        MEMO_V1 | MEMO_V2 => explain_memo(&mut data),
        _ => None,
    };
    let Some(mut explained) = decoded else {
        return Explained::new(format!("{name}: instruction with {size}"))
            .warn(format!("of the program {name} could not be decoded; what it does is not known"));
    };
    explained.text = format!("{name}: {}", explained.text);
    match data.rest().len() {
        0 => explained,
        // Most programs run the instruction and ignore the rest, so it is described all the same.
        extra => explained.warn(format!("has {extra} bytes of data after what is described")),
    }
}

/// The Associated Token program: no data means the oldest instruction, which fails if the account exists.
fn explain_associated(data: &mut Reader<'_>, accounts: &Accounts) -> Option<Explained> {
    let name = |place| accounts.name(place);
    let create = |when: &str| {
        let text =
            format!("create token account {} of mint {} for {}, paid by {}{when}", name(1), name(3), name(2), name(0));
        let explained = Explained::new(text);
        match accounts.address(2) {
            // Tokens sent to the token account of a token account are hard to recover.
            Some(owner) if !owner.is_on_curve() => explained
                .warn(format!("creates a token account for {owner}, which is no wallet but an address of a program")),
            Some(_) | None => explained,
        }
    };
    if data.rest().is_empty() {
        return Some(create(""));
    }
    Some(match data.byte("instruction").ok()? {
        0 => create(""),
        1 => create(", unless it exists"),
        2 => Explained::new(format!(
            "move the tokens of nested account {} to {} and close it, owner {}",
            name(0),
            name(2),
            name(5)
        ))
        .warn(format!("closes account {}", name(0))),
        _ => return None,
    })
}

/// The text is a sender's own: it is quoted and cut.
fn explain_memo(data: &mut Reader<'_>) -> Option<Explained> {
    let bytes = data.take(data.rest().len(), "memo").ok()?;
    Some(Explained::new(quoted(std::str::from_utf8(bytes).ok()?)))
}
