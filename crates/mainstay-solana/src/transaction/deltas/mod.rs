//! How a transaction changes balances, from what a node reports about it.
//!
//! Amounts of tokens come as decimal text and lamports as whole numbers of 64 bits, so every figure is exact.

mod accounts;
mod balances;
mod fields;
mod meta;

pub use accounts::deltas_of_accounts;
pub use balances::{Deltas, TokenDelta};
pub use fields::DeltaError;
pub use meta::{deltas_of_meta, deltas_of_simulation, deltas_of_transaction};
