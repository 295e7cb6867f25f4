//! Planning and committing changes to files, for every family whose tools change files of the workspace.
//!
//! [`Planner`] makes a change from start to end.
//! A tool fills a [`plan::Plan`]; [`commit`] turns the plan into steps of the sandbox, [`preview`] into a unified diff,
//! [`report`] into the reply. A dry run stops before the commit and uses everything else; [`approval`] stops a plan that
//! the call is not approved to carry out.

mod approval;
mod commit;
mod destination;
mod errors;
mod limits;
mod memory_budget;
mod plan;
mod planner;
mod preview;
mod report;
mod subtree;

pub(crate) use commit::DiffInReply;
pub(crate) use destination::{check_free, check_not_into_itself};
pub(crate) use errors::{
    MAX_WHOLE_FILE, already_exists, conflict, inside_changed_tree, not_found, too_large, with_field,
};
pub(crate) use limits::ChangeLimits;
#[cfg(test)]
pub(crate) use memory_budget::{MemoryBudget, MemoryReservation};
pub(crate) use plan::{LinkHandling, NewState, Plan, is_within};
pub(crate) use planner::Planner;
pub(crate) use report::{ChangeKind, FileReply, Report};
pub(crate) use subtree::{check_contains_no_root, summarize_for_copy, walk_tree};
