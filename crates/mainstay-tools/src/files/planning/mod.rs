//! Planning and committing changes to files.
//!
//! A tool fills a [`plan::Plan`]; [`commit`] turns the plan into steps of the sandbox, [`preview`] into a unified diff,
//! [`report`] into the reply. A dry run stops before the commit and uses everything else.

pub(crate) mod commit;
pub(crate) mod destination;
pub(crate) mod errors;
pub(crate) mod memory_budget;
pub(crate) mod plan;
pub(crate) mod preview;
pub(crate) mod report;
pub(crate) mod subtree;
#[cfg(test)]
mod tests;
