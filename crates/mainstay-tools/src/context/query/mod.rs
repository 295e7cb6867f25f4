//! Answering a query: the terms are counted in every document, from memory (`index.rs`, kept by `index_cache.rs`) or by
//! reading the documents (`scan.rs`); `select.rs` then picks what fits the budget. Both ways give the same bytes.

mod index;
mod index_cache;
mod scan;
mod select;
mod shard;
mod terms;

pub(crate) use index::{Index, IsSettled, MaybeIndexed};
pub(crate) use index_cache::IndexCache;
pub(crate) use scan::scan;
pub use select::Format;
pub(crate) use select::Query;
#[cfg(test)]
pub(crate) use select::{WordCount, select};
