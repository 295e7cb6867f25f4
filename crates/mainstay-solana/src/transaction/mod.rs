//! Transactions: reading, building, signing and describing them.
//!
//! The chain's own client libraries are not used. Only the types of addresses, hashes and signatures are theirs; the wire
//! format and the layouts of instructions are read and written here. A [`Message`] in memory satisfies every rule that a node
//! checks before it runs one, so that what is described and signed is what would run.

mod amounts;
mod build;
mod deltas;
mod describe;
mod encoding;
mod error;
mod message;
mod programs;
mod signed;
mod validity;
mod wallet;
mod wire;

#[cfg(test)]
mod testing;

pub use amounts::{format_amount, format_sol};
pub use build::{BuildError, TokenTransfer, associated_token_address, transfer_sol, transfer_token};
pub use deltas::{
    DeltaError, Deltas, TokenDelta, deltas_of_accounts, deltas_of_meta, deltas_of_simulation, deltas_of_transaction,
};
pub use describe::{Description, describe, describe_loaded, max_priority_fee, uses_durable_nonce};
pub use error::DecodeError;
pub use message::{AddressTableLookup, Header, Instruction, Message, MessageParts, Version};
pub use programs::program_name;
pub use signed::{MAX_TRANSACTION_BYTES, Transaction};
pub use wallet::{SignError, Wallet, WalletError, check_key_file_mode};
