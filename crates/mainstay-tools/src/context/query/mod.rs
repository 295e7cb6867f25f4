//! Answering a query: counting its terms in every document, from memory (`index.rs`, `shard.rs`) or from disk
//! (`scan.rs`), and selecting what fits the budget (`select.rs`).

pub(crate) mod index;
pub(crate) mod scan;
pub(crate) mod select;
mod shard;
mod terms;
