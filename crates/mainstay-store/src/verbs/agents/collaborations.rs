use super::{below, lost, states};
use crate::Result;
use crate::agents::{Changed, Collaboration, CollaborationQuery, NewCollaboration};
use crate::sql::{Conn, Param, Readers, Row};
use crate::writer::Deed;

/// The columns of a collaboration, in the order [`collaboration`] reads them.
macro_rules! select_collaboration {
    ($($rest:literal),*) => {
        concat!(
            "SELECT id, from_agent, to_agent, task, priority, status, note, created_at, answered_at \
             FROM collaborations WHERE ",
            $($rest),*
        )
    };
}

/// Newest first; `$1` is the bound, `$2` the limit.
macro_rules! page_of {
    ($filters:literal) => {
        select_collaboration!("id < $1", $filters, " ORDER BY id DESC LIMIT $2")
    };
}

const FIND: &str = select_collaboration!("id = $1");
const REQUEST: &str = "INSERT INTO collaborations (from_agent, to_agent, task, priority, created_at) \
     VALUES ($1, $2, $3, $4, $5) RETURNING id";
const ANSWER: &str = "UPDATE collaborations SET status = $3, note = COALESCE($4, note), answered_at = $5 \
     WHERE id = $1 AND to_agent = $2 AND status IN ('pending', 'accepted') AND status <> $3";

impl Deed for NewCollaboration {
    type Given = i64;

    async fn run(&self, db: &mut Conn<'_>) -> Result<i64> {
        states::seen(db, &self.from_agent, self.now_ms).await?;
        let values = [
            (&self.from_agent).into(),
            (&self.to_agent).into(),
            (&self.task).into(),
            (&self.priority).into(),
            self.now_ms.into(),
        ];
        db.row(REQUEST, &values).await?.ok_or_else(lost)?.int(0)
    }
}

pub(super) struct Answer {
    pub(super) id: i64,
    pub(super) agent: String,
    pub(super) status: String,
    pub(super) note: Option<String>,
    pub(super) now_ms: i64,
}

impl Deed for Answer {
    type Given = Changed<Collaboration>;

    async fn run(&self, db: &mut Conn<'_>) -> Result<Changed<Collaboration>> {
        let Some(before) = db.row(FIND, &[self.id.into()]).await? else { return Ok(Changed::NotFound) };
        let values = [
            self.id.into(),
            (&self.agent).into(),
            (&self.status).into(),
            self.note.as_ref().into(),
            self.now_ms.into(),
        ];
        if db.run(ANSWER, &values).await? == 0 {
            return collaboration(&before).map(Changed::Refused);
        }
        states::seen(db, &self.agent, self.now_ms).await?;
        let after = db.row(FIND, &[self.id.into()]).await?.ok_or_else(lost)?;
        collaboration(&after).map(Changed::Done)
    }
}

pub(super) async fn find(readers: &Readers, query: &CollaborationQuery) -> Result<Vec<Collaboration>> {
    let sql = match (query.from_agent.is_some(), query.to_agent.is_some(), query.status.is_some()) {
        (false, false, false) => page_of!(""),
        (true, false, false) => page_of!(" AND from_agent = $3"),
        (false, true, false) => page_of!(" AND to_agent = $3"),
        (false, false, true) => page_of!(" AND status = $3"),
        (true, true, false) => page_of!(" AND from_agent = $3 AND to_agent = $4"),
        (true, false, true) => page_of!(" AND from_agent = $3 AND status = $4"),
        (false, true, true) => page_of!(" AND to_agent = $3 AND status = $4"),
        (true, true, true) => page_of!(" AND from_agent = $3 AND to_agent = $4 AND status = $5"),
    };
    let bounds = [below(query.before).into(), i64::from(query.limit).into()];
    let filters = [&query.from_agent, &query.to_agent, &query.status].into_iter().flatten().map(Param::from);
    let values: Vec<Param> = bounds.into_iter().chain(filters).collect();
    readers.rows(sql, &values).await?.iter().map(collaboration).collect()
}

fn collaboration(row: &Row) -> Result<Collaboration> {
    Ok(Collaboration {
        id: row.int(0)?,
        from_agent: row.text(1)?,
        to_agent: row.text(2)?,
        task: row.text(3)?,
        priority: row.text(4)?,
        status: row.text(5)?,
        note: row.maybe_text(6)?,
        created_ms: row.int(7)?,
        answered_ms: row.maybe_int(8)?,
    })
}
