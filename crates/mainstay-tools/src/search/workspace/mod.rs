//! The indexes of the workspace's files, one for each root.
//!
//! [`RootIndex`] keeps one up to date: the first search builds it, later ones look at what has changed. Changes are seen by
//! watching directories ([`Watch`](watch::Watch)); where that is impossible, all files are looked at. [`Indexer`](indexer)
//! compares files with what the index knows, and reads those that differ.

mod failure;
mod head;
mod indexer;
mod root_index;
mod watch;

pub(super) use failure::{index_failure, provider_failure};
pub(super) use head::{Commit, Head};
pub(super) use root_index::{RootIndex, WatchStatus, map_segment};
