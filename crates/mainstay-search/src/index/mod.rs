//! The index of a workspace: segments in a directory, and the manifest that says which of them count.
//!
//! Segments are never changed. An update writes a new one and then replaces the manifest in one step, so a process that is
//! killed leaves the index as it was before, and readers in other processes go on with what they have open. Everything in
//! the directory can be made anew: what is damaged, or of another version, is thrown away and built again.

mod directory;
mod manifest;
mod merging;
mod snapshot;
mod statistics;
#[cfg(test)]
mod tests;
mod update;

pub use directory::{BuildLock, IndexDirectory, IndexError, MapFile};
pub use snapshot::{DocumentPlace, Part, Snapshot};
pub use statistics::{Statistics, TermCounts};
pub use update::{Index, Update};
