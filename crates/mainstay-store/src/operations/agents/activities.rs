//! The activity log. Activities are only added, and their numbers are the cursor of those who follow the log.

use super::{Agents, below, no_row, states};
use crate::sql::{Select, from_columns, params};
use crate::writer::transaction;
use crate::{Result, WriteMode};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activity {
    /// Assigned when it is logged; ignored before.
    pub id: i64,
    pub agent: String,
    pub at_ms: i64,
    pub activity: String,
    pub category: String,
    pub status: Option<String>,
    pub details: Option<String>,
}

/// Activities that match every filter that is set, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ActivityQuery {
    pub agent: Option<String>,
    pub category: Option<String>,
    pub status: Option<String>,
    /// Only those with a higher number.
    pub after: Option<i64>,
    /// Only those with a lower number.
    pub before: Option<i64>,
    pub limit: u32,
}

const INSERT: &str = "INSERT INTO activities (agent, timestamp, activity, category, status, details) \
     VALUES ($1, $2, $3, $4, $5, $6) RETURNING id";

impl Agents<'_> {
    /// Resolves with the activity's number; numbers rise in the order in which calls are answered.
    pub async fn log(self, activity: Activity, mode: WriteMode) -> Result<i64> {
        let outcome = transaction!(self.0.writer, mode, activity, |db, new| {
            let Activity { id: _, agent, at_ms, activity, category, status, details } = new;
            states::mark_seen(db, agent, *at_ms).await?;
            let values = params![agent, at_ms, activity, category, status, details];
            db.one(INSERT, &values).await
        })?;
        outcome.ok_or_else(no_row)
    }

    pub async fn activities(self, query: ActivityQuery) -> Result<Vec<Activity>> {
        let sql = "SELECT id, agent, timestamp, activity, category, status, details FROM activities \
             WHERE id > $1 AND id < $2";
        let newest_first = select(sql, &query).then(" ORDER BY id DESC").limit(query.limit);
        newest_first.all(&self.0.readers).await
    }

    /// How many match the query, whatever its limit.
    pub async fn count_activities(self, query: ActivityQuery) -> Result<i64> {
        let sql = "SELECT COUNT(*) FROM activities WHERE id > $1 AND id < $2";
        let counted = select(sql, &query).all(&self.0.readers).await?;
        counted.into_iter().next().ok_or_else(no_row)
    }
}

/// `$1` and `$2` are the bounds.
fn select(sql: &'static str, query: &ActivityQuery) -> Select {
    Select::new(sql, params![query.after.unwrap_or(i64::MIN), below(query.before)])
        .filter("agent", query.agent.as_deref())
        .filter("category", query.category.as_deref())
        .filter("status", query.status.as_deref())
}

from_columns!(Activity { id, agent, at_ms, activity, category, status, details });
