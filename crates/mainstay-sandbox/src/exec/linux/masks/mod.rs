//! Finds the protected names in the roots, and in the paths that a setting adds, so that they can be hidden from a
//! command. `scan.rs` decides what to search and when a result can be trusted; `walk.rs` reads the directories.

mod scan;
#[cfg(test)]
mod tests;
mod walk;

pub(super) use scan::ProtectedScan;
