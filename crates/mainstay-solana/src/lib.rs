//! The Solana chain: its RPC methods as a table, a client for its nodes, and transactions.
//!
//! Nothing here knows tools, dialects or the store. JSON of a node is passed through as it came: a newer node's fields are
//! kept, and numbers above 2^53 stay exact.

pub mod methods;
pub mod rpc;
pub mod subscriptions;
pub mod transaction;
