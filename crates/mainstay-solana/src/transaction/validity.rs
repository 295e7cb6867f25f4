//! The rules that a node checks before it runs a message. A message that breaks one is never described or signed: a person
//! would consent to something that cannot run, or that other software reads differently.

use std::collections::HashSet;

use super::error::DecodeError;
use super::message::{MessageParts, Version};

/// An account is named by one byte.
const MAX_ACCOUNTS: usize = 256;

/// Checks everything but the size.
pub(super) fn check(parts: &MessageParts) -> Result<(), DecodeError> {
    check_header(parts)?;
    check_accounts(parts)?;
    check_instructions(parts)
}

fn check_header(parts: &MessageParts) -> Result<(), DecodeError> {
    let header = parts.header;
    let keys = parts.account_keys.len();
    let fits = usize::from(header.required_signatures) + usize::from(header.readonly_unsigned) <= keys;
    // The fee payer signs and is written to, so at least one signer is not read-only. With the highest bit of its first byte
    // set, a legacy message would read as one of a newer version.
    if !fits || header.readonly_signed >= header.required_signatures || header.required_signatures > 0x7f {
        return Err(DecodeError::Header {
            keys,
            required: header.required_signatures,
            readonly_signed: header.readonly_signed,
            readonly_unsigned: header.readonly_unsigned,
        });
    }
    Ok(())
}

/// A node refuses an account that is listed twice: it could be writable in one place and read-only in the other.
fn check_accounts(parts: &MessageParts) -> Result<(), DecodeError> {
    let mut seen = HashSet::new();
    if let Some(twice) = parts.account_keys.iter().find(|key| !seen.insert(**key)) {
        return Err(DecodeError::DuplicateAccount(*twice));
    }
    if parts.version == Version::Legacy && !parts.lookups.is_empty() {
        return Err(DecodeError::LookupsInLegacy(parts.lookups.len()));
    }
    if let Some(empty) = parts.lookups.iter().find(|lookup| lookup.writable.is_empty() && lookup.readonly.is_empty()) {
        return Err(DecodeError::EmptyLookup(empty.table));
    }
    let count = parts.account_count();
    if count > MAX_ACCOUNTS {
        return Err(DecodeError::TooManyAccounts(count));
    }
    Ok(())
}

/// Programs must be known before lookup tables are read; accounts may come from these.
fn check_instructions(parts: &MessageParts) -> Result<(), DecodeError> {
    let accounts = parts.account_count();
    let keys = parts.account_keys.len();
    for (number, instruction) in parts.instructions.iter().enumerate() {
        let index = instruction.program_index;
        // Account 0 pays the fee, and a program cannot; a program is never taken from a lookup table.
        if index == 0 || usize::from(index) >= keys {
            return Err(DecodeError::ProgramIndex { instruction: number, index, last: keys.saturating_sub(1) });
        }
        if let Some(index) = instruction.accounts.iter().find(|index| usize::from(**index) >= accounts) {
            return Err(DecodeError::AccountIndex { instruction: number, index: *index, accounts });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use solana_address::Address;
    use solana_hash::Hash;

    use super::super::message::{AddressTableLookup, Header, Instruction};
    use super::*;

    fn key(number: u8) -> Address {
        Address::new_from_array([number; 32])
    }

    fn parts() -> MessageParts {
        MessageParts {
            version: Version::V0,
            header: Header { required_signatures: 1, readonly_signed: 0, readonly_unsigned: 1 },
            account_keys: vec![key(1), key(2), key(3)],
            recent_blockhash: Hash::default(),
            instructions: vec![Instruction { program_index: 2, accounts: vec![0, 1, 4], data: vec![] }],
            lookups: vec![AddressTableLookup { table: key(9), writable: vec![0], readonly: vec![1] }],
        }
    }

    /// What is wrong after a change of correct parts.
    fn error_after(change: impl FnOnce(&mut MessageParts)) -> String {
        let mut parts = parts();
        assert_eq!(check(&parts), Ok(()));
        change(&mut parts);
        check(&parts).unwrap_err().to_string()
    }

    #[test]
    fn a_header_must_fit_the_keys() {
        let told = error_after(|parts| parts.header.readonly_unsigned = 3);
        assert_eq!(
            told,
            "The header does not fit 3 account keys: 1 signatures, 0 of them read-only, and 3 other read-only accounts."
        );
        assert!(error_after(|parts| parts.header.required_signatures = 0).contains("0 signatures"));
        assert!(error_after(|parts| parts.header.required_signatures = 3).contains("3 signatures"));
        assert!(error_after(|parts| parts.header.readonly_signed = 1).contains("1 of them read-only"));
        assert!(error_after(|parts| parts.account_keys.clear()).contains("0 account keys"));
        let many = error_after(|parts| {
            parts.header.required_signatures = 128;
            parts.account_keys = (0..200).map(key).collect();
        });
        assert!(many.contains("128 signatures"), "{many}");
    }

    #[test]
    fn an_account_must_be_listed_once() {
        let told = error_after(|parts| parts.account_keys[1] = key(3));
        assert_eq!(told, format!("The account {} is listed twice among the account keys.", key(3)));
    }

    #[test]
    fn lookups_belong_to_version_0_have_indices_and_stay_within_256_accounts() {
        assert!(
            error_after(|parts| parts.version = Version::Legacy).starts_with("A legacy message has 1 lookup tables")
        );
        let empty = error_after(|parts| {
            parts.lookups.push(AddressTableLookup { table: key(8), writable: vec![], readonly: vec![] });
        });
        assert_eq!(empty, format!("The lookup table {} is named without any index into it.", key(8)));
        assert!(error_after(|parts| parts.lookups[0].writable = (0..=252).collect()).contains("257 accounts"));
        let mut full = parts();
        full.lookups[0].writable = (0..252).collect();
        assert_eq!(check(&full), Ok(()), "256 accounts");
    }

    #[test]
    fn a_program_is_a_key_and_not_the_fee_payer() {
        let told = error_after(|parts| parts.instructions[0].program_index = 0);
        assert_eq!(told, "Instruction 0 has program index 0; a program is one of the account keys 1 to 2.");
        // The index of an account from a lookup table.
        assert!(error_after(|parts| parts.instructions[0].program_index = 3).contains("program index 3"));
    }

    #[test]
    fn an_account_index_must_be_in_range() {
        let told = error_after(|parts| parts.instructions[0].accounts.push(5));
        assert_eq!(told, "Instruction 0 names account 5, but there are 5 accounts.");
    }
}
