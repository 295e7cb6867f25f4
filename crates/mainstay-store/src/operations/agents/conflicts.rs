//! Conflicts between agents that work on the same thing.

use super::{Agents, ChangeOutcome, below, change_row};
use crate::sql::{Select, from_columns, params, read_json};
use crate::writer::transaction;
use crate::{Result, StoreError, WriteMode};

/// What a conflict is about. The same component, kind and agents are the same conflict as long as it is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetectedConflict {
    pub component: String,
    pub kind: String,
    pub severity: String,
    /// Sorted.
    pub agents: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    pub id: i64,
    pub detected: DetectedConflict,
    pub resolved: bool,
    pub resolution: Option<String>,
    pub created_ms: i64,
    pub resolved_ms: Option<i64>,
}

const FIND: &str = "SELECT id, component, kind, severity, agents, resolved, resolution, created_at, resolved_at \
     FROM conflicts WHERE id = $1";
const LIST: &str = "SELECT id, component, kind, severity, agents, resolved, resolution, created_at, resolved_at \
     FROM conflicts WHERE id < $1";
// The severity may have changed since the conflict was detected first.
const UPDATE: &str = "UPDATE conflicts SET severity = $4 \
     WHERE resolved = 0 AND component = $1 AND kind = $2 AND agents = $3";
const INSERT: &str =
    "INSERT INTO conflicts (component, kind, agents, severity, created_at) VALUES ($1, $2, $3, $4, $5)";
const RESOLVE: &str = "UPDATE conflicts SET resolved = 1, resolution = $2, resolved_at = $3 \
     WHERE id = $1 AND resolved = 0";

impl Agents<'_> {
    /// Stores those that are not open already; resolves with their number.
    pub async fn add_conflicts(self, found: Vec<DetectedConflict>, now_ms: i64, mode: WriteMode) -> Result<u64> {
        transaction!(self.0.writer, mode, (found, now_ms), |db, (found, now_ms)| {
            let mut added = 0;
            for DetectedConflict { component, kind, severity, agents } in found {
                let agents = serde_json::to_string(agents).map_err(StoreError::failed)?;
                if db.execute(UPDATE, &params![component, kind, agents, severity]).await? == 0 {
                    added += db.execute(INSERT, &params![component, kind, agents, severity, now_ms]).await?;
                }
            }
            Ok(added)
        })
    }

    /// Newest first; with those that are resolved only if `all`.
    pub async fn conflicts(self, all: bool, before: Option<i64>, limit: u32) -> Result<Vec<Conflict>> {
        let resolved = if all { "" } else { " AND resolved = 0" };
        let select = Select::new(LIST, params![below(before)]).then(resolved).then(" ORDER BY id DESC").limit(limit);
        select.all(&self.0.readers).await
    }

    /// Rejected if it is resolved already.
    pub async fn resolve_conflict(
        self,
        id: i64,
        resolution: Option<String>,
        now_ms: i64,
        mode: WriteMode,
    ) -> Result<ChangeOutcome<Conflict>> {
        transaction!(self.0.writer, mode, (id, resolution, now_ms), |db, (id, resolution, now_ms)| {
            change_row(db, *id, FIND, (RESOLVE, &params![id, resolution, now_ms])).await
        })
    }
}

from_columns!(DetectedConflict { component, kind, severity, agents: read_json });
from_columns!(Conflict { id, detected, resolved, resolution, created_ms, resolved_ms });
