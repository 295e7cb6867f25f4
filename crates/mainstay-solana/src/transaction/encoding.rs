//! Messages as bytes.
//!
//! There is one encoding for each message: lengths have one form, and nothing may follow the end. So a message that was read
//! is written back as the same bytes, and its signatures stay valid.

use sha2::{Digest, Sha256};
use solana_hash::Hash;

use super::error::DecodeError;
use super::message::{AddressTableLookup, Header, Instruction, Message, MessageParts, Version};
use super::validity::check;
use super::wire::{Reader, write_counted_bytes, write_length};

/// The most bytes of a transaction: the smallest packet that IPv6 carries everywhere (1,280) less 48 for the headers.
pub const MAX_TRANSACTION_BYTES: usize = 1232;

/// The highest bit of the first byte marks a message with a version; the others are the version.
const VERSION_MARK: u8 = 0x80;

const SIGNATURE_BYTES: usize = 64;

impl Message {
    /// A message with these parts, if a node would accept it.
    pub fn from_parts(parts: MessageParts) -> Result<Self, DecodeError> {
        check(&parts)?;
        let signatures = usize::from(parts.header.required_signatures);
        // At most 127 signatures pass the check, so their number takes one byte.
        let bytes = 1 + signatures * SIGNATURE_BYTES + write(&parts).len();
        if bytes > MAX_TRANSACTION_BYTES {
            return Err(DecodeError::TooLarge { bytes, limit: MAX_TRANSACTION_BYTES });
        }
        Ok(Self { parts })
    }

    /// Reads a message that fills all of the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        Self::read_to_end(&mut reader)
    }

    /// Reads a message that fills the rest of the bytes.
    pub(super) fn read_to_end(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let parts = read(reader)?;
        match reader.rest().len() {
            0 => Self::from_parts(parts),
            count => Err(DecodeError::TrailingBytes { at: reader.position(), count }),
        }
    }

    /// The bytes that are signed.
    pub fn to_bytes(&self) -> Vec<u8> {
        write(&self.parts)
    }

    /// SHA-256 of the bytes that are signed. A consent is bound to it: any change to the message changes the hash, and a
    /// signature does not.
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.to_bytes()).into()
    }

    /// The hash of everything but the blockhash, which says until when the message is valid and not what it does. A consent
    /// to a message that is built here is bound to this one: a person takes longer to decide than a blockhash lasts.
    pub fn hash_without_blockhash(&self) -> [u8; 32] {
        Sha256::digest(write(&MessageParts { recent_blockhash: Hash::default(), ..self.parts.clone() })).into()
    }
}

/// The order of the fields is the chain's. A legacy message ends after its instructions.
fn write(parts: &MessageParts) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(MAX_TRANSACTION_BYTES);
    if parts.version == Version::V0 {
        bytes.push(VERSION_MARK);
    }
    let Header { required_signatures, readonly_signed, readonly_unsigned } = parts.header;
    bytes.extend_from_slice(&[required_signatures, readonly_signed, readonly_unsigned]);
    write_length(&mut bytes, parts.account_keys.len());
    for key in &parts.account_keys {
        bytes.extend_from_slice(key.as_array());
    }
    bytes.extend_from_slice(parts.recent_blockhash.as_bytes());
    write_length(&mut bytes, parts.instructions.len());
    for instruction in &parts.instructions {
        bytes.push(instruction.program_index);
        write_counted_bytes(&mut bytes, &instruction.accounts);
        write_counted_bytes(&mut bytes, &instruction.data);
    }
    if parts.version == Version::V0 {
        write_length(&mut bytes, parts.lookups.len());
        for lookup in &parts.lookups {
            bytes.extend_from_slice(lookup.table.as_array());
            write_counted_bytes(&mut bytes, &lookup.writable);
            write_counted_bytes(&mut bytes, &lookup.readonly);
        }
    }
    bytes
}

/// Reads without checking what the numbers mean.
fn read(reader: &mut Reader<'_>) -> Result<MessageParts, DecodeError> {
    let version = read_version(reader)?;
    let [required_signatures, readonly_signed, readonly_unsigned] = reader.array("the message header")?;
    let header = Header { required_signatures, readonly_signed, readonly_unsigned };
    // Collecting stops at the first error, so a large count without content allocates nothing.
    let keys = reader.length("the number of account keys")?;
    let account_keys = (0..keys).map(|_| reader.address("the account keys")).collect::<Result<_, _>>()?;
    let recent_blockhash = Hash::new_from_array(reader.array("the recent blockhash")?);
    let count = reader.length("the number of instructions")?;
    let instructions = (0..count).map(|_| read_instruction(reader)).collect::<Result<_, _>>()?;
    let lookups = match version {
        Version::Legacy => Vec::new(),
        Version::V0 => {
            let count = reader.length("the number of lookup tables")?;
            (0..count).map(|_| read_lookup(reader)).collect::<Result<_, _>>()?
        }
    };
    Ok(MessageParts { version, header, account_keys, recent_blockhash, instructions, lookups })
}

/// A legacy message begins with its number of signatures, which is below the mark.
fn read_version(reader: &mut Reader<'_>) -> Result<Version, DecodeError> {
    match reader.peek() {
        Some(VERSION_MARK) => reader.byte("the message version").map(|_| Version::V0),
        Some(byte) if byte > VERSION_MARK => Err(DecodeError::UnsupportedVersion(byte - VERSION_MARK)),
        Some(_) | None => Ok(Version::Legacy),
    }
}

fn read_instruction(reader: &mut Reader<'_>) -> Result<Instruction, DecodeError> {
    Ok(Instruction {
        program_index: reader.byte("a program index")?,
        accounts: reader.counted_bytes("the accounts of an instruction")?.to_vec(),
        data: reader.counted_bytes("the data of an instruction")?.to_vec(),
    })
}

fn read_lookup(reader: &mut Reader<'_>) -> Result<AddressTableLookup, DecodeError> {
    Ok(AddressTableLookup {
        table: reader.address("the address of a lookup table")?,
        writable: reader.counted_bytes("the indices of a lookup table")?.to_vec(),
        readonly: reader.counted_bytes("the indices of a lookup table")?.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use solana_address::Address;

    use super::super::signed::Transaction;
    use super::super::testing;
    use super::*;

    /// Parts that satisfy every rule; at most 1,121 bytes as a transaction.
    fn parts() -> impl Strategy<Value = MessageParts> {
        let shape = (any::<bool>(), 1_u8..=4, 0_u8..=6, vec((vec(any::<u8>(), 0..3), vec(any::<u8>(), 0..3)), 0..3));
        let content = (vec((any::<u8>(), vec(any::<u8>(), 0..8), vec(any::<u8>(), 0..120)), 0..4), any::<[u8; 32]>());
        (shape, content, any::<(u8, u8)>()).prop_map(|((is_v0, signers, others, tables), (calls, hash), readonly)| {
            let keys = signers + others + 1;
            let lookup = |(number, (writable, readonly)): (u8, (Vec<u8>, Vec<u8>))| AddressTableLookup {
                table: Address::new_from_array([number; 32]),
                writable,
                readonly: [readonly, vec![number]].concat(),
            };
            let mut parts = MessageParts {
                version: if is_v0 { Version::V0 } else { Version::Legacy },
                header: Header {
                    required_signatures: signers,
                    readonly_signed: readonly.0 % signers,
                    readonly_unsigned: readonly.1 % (others + 2),
                },
                account_keys: (0..keys).map(|number| Address::new_from_array([number; 32])).collect(),
                recent_blockhash: Hash::new_from_array(hash),
                instructions: Vec::new(),
                lookups: if is_v0 { (100..).zip(tables).map(lookup).collect() } else { Vec::new() },
            };
            let accounts = u8::try_from(parts.account_count()).unwrap();
            let instruction = |(program, accounts_of_call, data): (u8, Vec<u8>, Vec<u8>)| Instruction {
                program_index: 1 + program % (keys - 1),
                accounts: accounts_of_call.iter().map(|index| index % accounts).collect(),
                data,
            };
            parts.instructions = calls.into_iter().map(instruction).collect();
            parts
        })
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_back(parts in parts()) {
            let message = Message::from_parts(parts.clone()).unwrap();
            prop_assert_eq!(&message.parts, &parts);
            prop_assert_eq!(Message::from_bytes(&message.to_bytes()), Ok(message.clone()));
            let transaction = Transaction::unsigned(message);
            prop_assert_eq!(Transaction::from_base64(&transaction.to_base64()), Ok(transaction));
        }

        #[test]
        fn any_accepted_bytes_are_written_back_as_they_were(
            parts in parts(),
            changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        ) {
            let mut bytes = Transaction::unsigned(Message::from_parts(parts).unwrap()).to_bytes();
            for (place, value) in changes {
                let place = place.index(bytes.len());
                bytes[place] = value;
            }
            if let Ok(transaction) = Transaction::from_bytes(&bytes) {
                prop_assert_eq!(transaction.to_bytes(), bytes);
            }
        }

        #[test]
        fn bytes_without_meaning_are_refused_without_a_panic(bytes in vec(any::<u8>(), 0..1400), text in ".{0,60}") {
            if let Ok(transaction) = Transaction::from_bytes(&bytes) {
                prop_assert_eq!(transaction.to_bytes(), bytes.clone());
            }
            if let Ok(message) = Message::from_bytes(&bytes) {
                prop_assert_eq!(message.to_bytes(), bytes);
            }
            prop_assert!(Transaction::from_base64(&text).is_err());
        }
    }

    #[test]
    fn a_change_of_any_field_changes_the_hash() {
        let original = testing::transaction(testing::WITH_LOOKUP).message().clone();
        let changes: [fn(&mut MessageParts); 6] = [
            |parts| parts.header.readonly_unsigned = 1,
            |parts| parts.account_keys[3] = Address::new_from_array([1; 32]),
            |parts| parts.recent_blockhash = Hash::default(),
            |parts| parts.instructions[0].data[4] += 1,
            |parts| parts.instructions[0].accounts[1] = 5,
            |parts| parts.lookups[0].writable[0] = 3,
        ];
        for change in changes {
            let mut parts = original.parts.clone();
            change(&mut parts);
            assert_ne!(parts, original.parts);
            assert_ne!(Message::from_parts(parts).unwrap().hash(), original.hash());
        }
    }

    #[test]
    fn a_count_without_content_is_refused_at_once() {
        // 65,535 account keys announced, none given.
        let told = Message::from_bytes(&[1, 0, 0, 0xff, 0xff, 0x03]).unwrap_err();
        assert_eq!(told, DecodeError::Truncated { at: 6, field: "the account keys" });
    }
}
