//! Why bytes are not a transaction.

use solana_address::Address;

/// Why a text or bytes are not a transaction that a node would accept for execution.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("The transaction is not base64: {0}. Give the serialized transaction in standard base64 with padding.")]
    NotBase64(String),
    #[error(
        "The transaction has {bytes} bytes; the network carries at most {limit}. Use fewer instructions or accounts."
    )]
    TooLarge { bytes: usize, limit: usize },
    #[error("The bytes end at {at}, within {field}. The transaction was cut; give all of it.")]
    Truncated { at: usize, field: &'static str },
    #[error("{count} bytes follow the end of the transaction at {at}. Give one transaction and nothing after it.")]
    TrailingBytes { at: usize, count: usize },
    /// A number with a shorter form, or above 16 bits.
    #[error("The length at byte {at} is not a canonical compact-u16 number, so a node refuses the transaction.")]
    NonCanonicalLength { at: usize },
    /// The highest bit of the first byte is set, and the rest is not 0.
    #[error("The message has version {0}; legacy messages and version 0 are supported.")]
    UnsupportedVersion(u8),
    #[error("There are {found} signatures, but the header requires {required}.")]
    SignatureCount { found: usize, required: u8 },
    #[error(
        "The header does not fit {keys} account keys: {required} signatures, {readonly_signed} of them read-only, and \
         {readonly_unsigned} other read-only accounts."
    )]
    Header { keys: usize, required: u8, readonly_signed: u8, readonly_unsigned: u8 },
    #[error("The account {0} is listed twice among the account keys.")]
    DuplicateAccount(Address),
    #[error("The message has {0} accounts with those of lookup tables; an index of one byte reaches 256.")]
    TooManyAccounts(usize),
    #[error("The lookup table {0} is named without any index into it.")]
    EmptyLookup(Address),
    #[error("A legacy message has {0} lookup tables; only version 0 has them.")]
    LookupsInLegacy(usize),
    #[error("Instruction {instruction} has program index {index}; a program is one of the account keys 1 to {last}.")]
    ProgramIndex { instruction: usize, index: u8, last: usize },
    #[error("Instruction {instruction} names account {index}, but there are {accounts} accounts.")]
    AccountIndex { instruction: usize, index: u8, accounts: usize },
}
