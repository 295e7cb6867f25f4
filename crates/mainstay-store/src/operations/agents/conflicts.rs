//! Conflicts between agents that work on the same thing.

use super::{Agents, ChangeOutcome, below, change_row};
use crate::sql::{Row, params};
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

/// The columns of a conflict, in the order [`read_conflict`] reads them.
macro_rules! select_conflict {
    ($rest:literal) => {
        concat!(
            "SELECT id, agents, component, kind, severity, resolved, resolution, created_at, resolved_at \
             FROM conflicts WHERE ",
            $rest
        )
    };
}

const FIND: &str = select_conflict!("id = $1");
const OPEN: &str = select_conflict!("resolved = 0 AND id < $1 ORDER BY id DESC LIMIT $2");
const ALL: &str = select_conflict!("id < $1 ORDER BY id DESC LIMIT $2");
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
        let transaction = self.0.writer.transaction_in(mode, (found, now_ms), |db, (found, now_ms)| {
            Box::pin(async move {
                let mut added = 0;
                for DetectedConflict { component, kind, severity, agents } in found {
                    let agents = serde_json::to_string(agents).map_err(StoreError::failed)?;
                    if db.execute(UPDATE, &params![component, kind, agents, severity]).await? == 0 {
                        added += db.execute(INSERT, &params![component, kind, agents, severity, now_ms]).await?;
                    }
                }
                Ok(added)
            })
        });
        transaction.await
    }

    /// Newest first; with those that are resolved only if `all`.
    pub async fn conflicts(self, all: bool, before: Option<i64>, limit: u32) -> Result<Vec<Conflict>> {
        let sql = if all { ALL } else { OPEN };
        self.0.readers.all(sql, &params![below(before), limit], read_conflict).await
    }

    /// Rejected if it is resolved already.
    pub async fn resolve_conflict(
        self,
        id: i64,
        resolution: Option<String>,
        now_ms: i64,
        mode: WriteMode,
    ) -> Result<ChangeOutcome<Conflict>> {
        let transaction =
            self.0.writer.transaction_in(mode, (id, resolution, now_ms), |db, (id, resolution, now_ms)| {
                Box::pin(async move {
                    change_row(db, *id, (FIND, read_conflict), (RESOLVE, &params![id, resolution, now_ms])).await
                })
            });
        transaction.await
    }
}

fn read_conflict(row: &Row) -> Result<Conflict> {
    Ok(Conflict {
        id: row.get(0)?,
        detected: DetectedConflict {
            agents: serde_json::from_str(&row.get::<String>(1)?).map_err(StoreError::failed)?,
            component: row.get(2)?,
            kind: row.get(3)?,
            severity: row.get(4)?,
        },
        resolved: row.flag(5)?,
        resolution: row.get(6)?,
        created_ms: row.get(7)?,
        resolved_ms: row.get(8)?,
    })
}
