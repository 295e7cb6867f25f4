//! The part of a transaction that is signed.

use solana_address::Address;
use solana_hash::Hash;

/// The format of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// Without a version byte; every account is named in full.
    Legacy,
    /// Accounts may also be named by their index in a lookup table on the chain.
    V0,
}

/// How many of the account keys sign and how many are only read. Signers come first; in both groups the read-only ones come
/// last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub required_signatures: u8,
    pub readonly_signed: u8,
    pub readonly_unsigned: u8,
}

/// A call of a program. The numbers are indices: first of the account keys, then of the accounts from lookup tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    pub program_index: u8,
    pub accounts: Vec<u8>,
    pub data: Vec<u8>,
}

/// The accounts that a message takes from one lookup table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressTableLookup {
    pub table: Address,
    pub writable: Vec<u8>,
    pub readonly: Vec<u8>,
}

/// The content of a message, not yet checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageParts {
    pub version: Version,
    pub header: Header,
    pub account_keys: Vec<Address>,
    pub recent_blockhash: Hash,
    pub instructions: Vec<Instruction>,
    pub lookups: Vec<AddressTableLookup>,
}

/// A message that satisfies the rules of a node: every index is in range, and the transaction fits a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Written by the checked constructors alone.
    pub(super) parts: MessageParts,
}

/// Where an account of a message comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AccountSource {
    Key(Address),
    /// The entry of a lookup table; only the chain knows its address.
    Table {
        table: Address,
        index: u8,
    },
}

impl Message {
    pub fn version(&self) -> Version {
        self.parts.version
    }

    pub fn header(&self) -> Header {
        self.parts.header
    }

    /// The accounts that are named in full. Those of lookup tables come after them.
    pub fn account_keys(&self) -> &[Address] {
        &self.parts.account_keys
    }

    pub fn recent_blockhash(&self) -> Hash {
        self.parts.recent_blockhash
    }

    pub fn instructions(&self) -> &[Instruction] {
        &self.parts.instructions
    }

    pub fn lookups(&self) -> &[AddressTableLookup] {
        &self.parts.lookups
    }

    /// The accounts whose signatures the message requires, the fee payer first.
    pub fn signers(&self) -> &[Address] {
        let count = usize::from(self.parts.header.required_signatures);
        self.parts.account_keys.get(..count).unwrap_or_default()
    }

    /// The account that pays the fee. The checks ensure that there is one.
    pub fn fee_payer(&self) -> Address {
        self.signers().first().copied().unwrap_or_default()
    }

    /// Whether the message asks to write to an account. A node runs programs and reserved accounts read-only even if they are
    /// marked as writable.
    pub fn is_writable(&self, index: usize) -> bool {
        let Header { required_signatures, readonly_signed, readonly_unsigned } = self.parts.header;
        let keys = self.parts.account_keys.len();
        let signers = usize::from(required_signatures);
        if index < signers {
            index < signers - usize::from(readonly_signed)
        } else if index < keys {
            index < keys - usize::from(readonly_unsigned)
        } else {
            // The writable accounts of all tables come before the read-only ones.
            index - keys < self.parts.lookups.iter().map(|lookup| lookup.writable.len()).sum()
        }
    }

    /// The accounts that are named in full and that the message asks to write to.
    pub fn writable_keys(&self) -> Vec<Address> {
        let keys = self.parts.account_keys.iter().enumerate();
        keys.filter(|(index, _)| self.is_writable(*index)).map(|(_, key)| *key).collect()
    }

    /// The programs that are called, each once, in the order of the calls.
    pub fn programs(&self) -> Vec<Address> {
        let mut programs = Vec::new();
        for instruction in &self.parts.instructions {
            if let Some(program) = self.program(instruction)
                && !programs.contains(&program)
            {
                programs.push(program);
            }
        }
        programs
    }

    /// The program that an instruction of this message calls.
    pub(super) fn program(&self, instruction: &Instruction) -> Option<Address> {
        self.parts.account_keys.get(usize::from(instruction.program_index)).copied()
    }

    /// The account with an index, or the place where its address is.
    pub(super) fn account(&self, index: u8) -> Option<AccountSource> {
        let index = usize::from(index);
        if let Some(key) = self.parts.account_keys.get(index) {
            return Some(AccountSource::Key(*key));
        }
        let of = |table: Address, indices: &[u8]| {
            indices.iter().map(move |index| AccountSource::Table { table, index: *index }).collect::<Vec<_>>()
        };
        let writable = self.parts.lookups.iter().flat_map(|lookup| of(lookup.table, &lookup.writable));
        let readonly = self.parts.lookups.iter().flat_map(|lookup| of(lookup.table, &lookup.readonly));
        writable.chain(readonly).nth(index - self.parts.account_keys.len())
    }
}

impl MessageParts {
    /// How many accounts instructions can name.
    pub(super) fn account_count(&self) -> usize {
        let looked_up = |lookup: &AddressTableLookup| lookup.writable.len() + lookup.readonly.len();
        self.account_keys.len() + self.lookups.iter().map(looked_up).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u8) -> Address {
        Address::new_from_array([number; 32])
    }

    /// Two signers, one of them read-only; three others, two of them read-only; three of lookup tables, two writable.
    fn message() -> Message {
        let instruction = |program_index| Instruction { program_index, accounts: vec![0, 5, 7], data: Vec::new() };
        Message::from_parts(MessageParts {
            version: Version::V0,
            header: Header { required_signatures: 2, readonly_signed: 1, readonly_unsigned: 2 },
            account_keys: (1..=5).map(key).collect(),
            recent_blockhash: Hash::default(),
            instructions: vec![instruction(4), instruction(3), instruction(4)],
            lookups: vec![
                AddressTableLookup { table: key(100), writable: vec![9], readonly: vec![8] },
                AddressTableLookup { table: key(101), writable: vec![7], readonly: vec![] },
            ],
        })
        .unwrap()
    }

    #[test]
    fn signers_are_the_first_keys_and_the_first_of_them_pays() {
        assert_eq!(message().signers(), [key(1), key(2)]);
        assert_eq!(message().fee_payer(), key(1));
    }

    #[test]
    fn writable_accounts_follow_from_the_header_and_the_lookups() {
        let writable: Vec<_> = (0..9).map(|index| message().is_writable(index)).collect();
        assert_eq!(writable, [true, false, true, false, false, true, true, false, false]);
        assert_eq!(message().writable_keys(), [key(1), key(3)]);
    }

    #[test]
    fn programs_are_listed_once_in_the_order_of_calls() {
        assert_eq!(message().programs(), [key(5), key(4)]);
    }

    #[test]
    fn accounts_of_lookup_tables_come_after_the_keys_writable_ones_first() {
        let found: Vec<_> = (4..9).map(|index| message().account(index)).collect();
        let table = |number, index| Some(AccountSource::Table { table: key(number), index });
        assert_eq!(found, [Some(AccountSource::Key(key(5))), table(100, 9), table(101, 7), table(100, 8), None]);
    }
}
