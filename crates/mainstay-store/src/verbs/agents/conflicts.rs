use super::{below, lost};
use crate::agents::{Changed, Conflict, Dispute};
use crate::sql::{Conn, Param, Readers, Row};
use crate::writer::Deed;
use crate::{Result, StoreError};

/// The columns of a conflict, in the order [`conflict`] reads them.
macro_rules! select_conflict {
    ($rest:literal) => {
        concat!(
            "SELECT id, agents, component, kind, severity, resolved, resolution, created_at, resolved_at \
             FROM conflicts ",
            $rest
        )
    };
}

const FIND: &str = select_conflict!("WHERE id = $1");
const OPEN: &str = select_conflict!("WHERE resolved = 0 AND id < $1 ORDER BY id DESC LIMIT $2");
const ALL: &str = select_conflict!("WHERE id < $1 ORDER BY id DESC LIMIT $2");
// What was worse or better than this when it was found is so now.
const KNOWN: &str = "UPDATE conflicts SET severity = $4 \
     WHERE resolved = 0 AND component = $1 AND kind = $2 AND agents = $3";
const ADD: &str = "INSERT INTO conflicts (component, kind, agents, severity, created_at) VALUES ($1, $2, $3, $4, $5)";
const RESOLVE: &str = "UPDATE conflicts SET resolved = 1, resolution = $2, resolved_at = $3 \
     WHERE id = $1 AND resolved = 0";

pub(super) struct Add {
    pub(super) found: Vec<Dispute>,
    pub(super) now_ms: i64,
}

impl Deed for Add {
    type Given = u64;

    async fn run(&self, db: &mut Conn<'_>) -> Result<u64> {
        let mut added = 0;
        for Dispute { component, kind, severity, agents } in &self.found {
            let agents = serde_json::to_string(agents).map_err(StoreError::failed)?;
            let mut values: Vec<Param> = vec![component.into(), kind.into(), agents.into(), severity.into()];
            if db.run(KNOWN, &values).await? == 0 {
                values.push(self.now_ms.into());
                added += db.run(ADD, &values).await?;
            }
        }
        Ok(added)
    }
}

pub(super) struct Resolve {
    pub(super) id: i64,
    pub(super) resolution: Option<String>,
    pub(super) now_ms: i64,
}

impl Deed for Resolve {
    type Given = Changed<Conflict>;

    async fn run(&self, db: &mut Conn<'_>) -> Result<Changed<Conflict>> {
        let Some(before) = db.row(FIND, &[self.id.into()]).await? else { return Ok(Changed::NotFound) };
        if db.run(RESOLVE, &[self.id.into(), self.resolution.as_ref().into(), self.now_ms.into()]).await? == 0 {
            return conflict(&before).map(Changed::Refused);
        }
        let after = db.row(FIND, &[self.id.into()]).await?.ok_or_else(lost)?;
        conflict(&after).map(Changed::Done)
    }
}

pub(super) async fn page(readers: &Readers, all: bool, before: Option<i64>, limit: u32) -> Result<Vec<Conflict>> {
    let sql = if all { ALL } else { OPEN };
    readers.rows(sql, &[below(before).into(), i64::from(limit).into()]).await?.iter().map(conflict).collect()
}

fn conflict(row: &Row) -> Result<Conflict> {
    Ok(Conflict {
        id: row.int(0)?,
        dispute: Dispute {
            agents: serde_json::from_str(&row.text(1)?).map_err(StoreError::failed)?,
            component: row.text(2)?,
            kind: row.text(3)?,
            severity: row.text(4)?,
        },
        resolved: row.int(5)? != 0,
        resolution: row.maybe_text(6)?,
        created_ms: row.int(7)?,
        resolved_ms: row.maybe_int(8)?,
    })
}
