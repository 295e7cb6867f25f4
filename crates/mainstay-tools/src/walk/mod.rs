//! Walking a directory tree of the workspace: over handles of the sandbox, on all cores, with results in path order
//! (paths compared name by name).
//!
//! Links are not followed, protected entries and `.git` are skipped, and so is what the project ignores unless the
//! caller wants it. A directory that cannot be read is reported, and the walk goes on.
//!
//! `ignore`'s parallel walker is not used: it opens paths, not handles, and returns entries in the order in which threads
//! find them, so a page could only be cut after the whole tree was walked.

mod build_output;
mod globs;
mod ignore_rules;
mod ordered_queue;
pub(crate) mod page;
mod selection;
#[cfg(test)]
mod tests;
mod traversal;
mod visitor;

pub(crate) use globs::{EntryFilter, Globs};
pub(crate) use ignore_rules::IgnoreRules;
pub(crate) use selection::{enters_directory, visits_file};
pub(crate) use traversal::Walk;
pub(crate) use visitor::{Collected, PathBuffer, PathCollector, ResumePoint, StopSignal, Unread, Visitor, WalkEntry};
