//! What the agents of a team share, a file for each table: activities, states, components, conflicts,
//! collaborations and decisions.
//!
//! Every change takes a [`WriteMode`](crate::WriteMode): a dry run executes the same statements and rolls them back,
//! so it cannot promise what the change would reject. Every change by an agent also updates when it was last seen.
//! `details` and every `metadata` are JSON, which the store does not look into.

mod activities;
mod collaborations;
mod components;
mod conflicts;
mod proposals;
mod states;
mod tables;

pub use activities::{Activity, ActivityQuery};
pub use collaborations::{Collaboration, CollaborationQuery, NewCollaboration};
pub use components::{Component, ComponentQuery, NewComponent, Registration};
pub use conflicts::{Conflict, DetectedConflict};
pub use proposals::{NewProposal, Proposal, Vote};
pub use states::AgentState;
pub use tables::Column;

use super::Database;
use crate::sql::{Conn, FromColumns, Param, params};
use crate::{Result, StoreError};

/// The tables of a team of agents.
#[derive(Clone, Copy)]
pub struct Agents<'s>(pub(crate) &'s Database);

/// The outcome of changing something that is addressed by its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeOutcome<T> {
    /// It was changed; this is its new state.
    Done(T),
    /// Its state does not allow the change; this is the state, unchanged.
    Rejected(T),
    NotFound,
}

/// Changes the row that `find` finds by its number, and reads it again. `update` has a condition on the state it may
/// change; where that does not hold it changes no row, and the change is rejected.
async fn change_row<T: FromColumns>(
    db: &mut Conn<'_>,
    id: i64,
    find: &'static str,
    (update, values): (&'static str, &[Param]),
) -> Result<ChangeOutcome<T>> {
    let Some(before) = db.one(find, &params![id]).await? else { return Ok(ChangeOutcome::NotFound) };
    if db.execute(update, values).await? == 0 {
        return Ok(ChangeOutcome::Rejected(before));
    }
    let after = db.one(find, &params![id]).await?;
    after.map(ChangeOutcome::Done).ok_or_else(no_row)
}

/// The error for a statement that has to return a row and returned none.
fn no_row() -> StoreError {
    StoreError::failed("a row that was written cannot be read")
}

/// The upper bound of a list that runs from the newest number down.
fn below(before: Option<i64>) -> i64 {
    before.unwrap_or(i64::MAX)
}
