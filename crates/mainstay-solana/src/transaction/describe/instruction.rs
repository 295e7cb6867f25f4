//! What the decoders of all programs work with: the accounts of an instruction, and its description.

use solana_address::Address;

use super::super::message::{AccountSource, Message};
use super::super::programs::program_name;

/// The accounts of one instruction, in its own order.
pub(super) struct Accounts {
    sources: Vec<AccountSource>,
}

impl Accounts {
    /// `loaded` are the addresses behind the message's lookups, where they are known.
    pub(super) fn of(message: &Message, loaded: &[Address], indices: &[u8]) -> Self {
        let resolve = |index: &u8| {
            let place = usize::from(*index).checked_sub(message.account_keys().len());
            match place.and_then(|place| loaded.get(place)) {
                Some(address) => Some(AccountSource::Key(*address)),
                None => message.account(*index),
            }
        };
        Self { sources: indices.iter().filter_map(resolve).collect() }
    }

    pub(super) fn len(&self) -> usize {
        self.sources.len()
    }

    /// The address, if it is known without the chain.
    pub(super) fn address(&self, place: usize) -> Option<Address> {
        match self.sources.get(place)? {
            AccountSource::Key(address) => Some(*address),
            AccountSource::Table { .. } => None,
        }
    }

    /// The account as text. An instruction with too few accounts fails when it runs.
    pub(super) fn name(&self, place: usize) -> String {
        match self.sources.get(place) {
            Some(AccountSource::Key(address)) => address.to_string(),
            Some(AccountSource::Table { table, index }) => format!("entry {index} of lookup table {table}"),
            None => "(no account given)".to_owned(),
        }
    }

    /// Splits the first accounts off, for an instruction within an instruction.
    pub(super) fn split_off_first(&mut self, count: usize) -> Option<Self> {
        if count > self.sources.len() {
            return None;
        }
        let rest = self.sources.split_off(count);
        Some(Self { sources: std::mem::replace(&mut self.sources, rest) })
    }
}

/// What an instruction does, and what of it deserves a second look.
pub(super) struct Explained {
    pub(super) text: String,
    pub(super) warnings: Vec<String>,
}

impl Explained {
    pub(super) fn new(text: String) -> Self {
        Self { text, warnings: Vec::new() }
    }

    /// Warnings continue the sentence "Instruction 3 …" and have no full stop.
    pub(super) fn warn(mut self, warning: String) -> Self {
        self.warnings.push(warning);
        self
    }
}

/// A program with its name, if it has a well-known one.
pub(super) fn program_text(program: &Address) -> String {
    match program_name(program) {
        Some(name) => format!("{name} ({program})"),
        None => program.to_string(),
    }
}
