//! Transactions: reading, building, signing and describing them.
