//! Answering a query: the terms are counted in every document, from memory (`index.rs`, kept by `index_cache.rs`) or by
//! reading the documents (`scan`); `select.rs` then picks what fits the budget. Both ways give the same bytes.

mod index;
mod index_cache;
mod select;
mod shard;

pub(crate) use index::{Index, IsSettled, MaybeIndexed};
pub(crate) use index_cache::IndexCache;
pub use select::Format;
pub(crate) use select::{Query, scan};
#[cfg(test)]
pub(crate) use select::{WordCount, select};
