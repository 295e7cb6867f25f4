use super::{below, lost, states};
use crate::Result;
use crate::agents::{Activity, ActivityQuery, NewActivity};
use crate::sql::{Conn, Param, Readers, Row};
use crate::writer::Deed;

const LOG: &str = "INSERT INTO activities (agent, timestamp, activity, category, status, details) \
     VALUES ($1, $2, $3, $4, $5, $6) RETURNING id";

impl Deed for NewActivity {
    type Given = i64;

    async fn run(&self, db: &mut Conn<'_>) -> Result<i64> {
        states::seen(db, &self.agent, self.now_ms).await?;
        let values = [
            (&self.agent).into(),
            self.now_ms.into(),
            (&self.activity).into(),
            (&self.category).into(),
            self.status.as_ref().into(),
            self.details.as_ref().into(),
        ];
        db.row(LOG, &values).await?.ok_or_else(lost)?.int(0)
    }
}

/// A text for each set of filters, so that each is answered from an index. `$1` and `$2` are the bounds, `$3` the limit.
macro_rules! filtered {
    ($what:literal, $order:literal, $query:expr) => {
        match ($query.agent.is_some(), $query.category.is_some(), $query.status.is_some()) {
            (false, false, false) => filtered!(@ $what, "", $order),
            (true, false, false) => filtered!(@ $what, "AND agent = $4 ", $order),
            (false, true, false) => filtered!(@ $what, "AND category = $4 ", $order),
            (false, false, true) => filtered!(@ $what, "AND status = $4 ", $order),
            (true, true, false) => filtered!(@ $what, "AND agent = $4 AND category = $5 ", $order),
            (true, false, true) => filtered!(@ $what, "AND agent = $4 AND status = $5 ", $order),
            (false, true, true) => filtered!(@ $what, "AND category = $4 AND status = $5 ", $order),
            (true, true, true) => filtered!(@ $what, "AND agent = $4 AND category = $5 AND status = $6 ", $order),
        }
    };
    (@ $what:literal, $filters:literal, $order:literal) => {
        concat!("SELECT ", $what, " FROM activities WHERE id > $1 AND id < $2 ", $filters, $order, "LIMIT $3")
    };
}

fn values(query: &ActivityQuery, limit: u32) -> Vec<Param> {
    let bounds = [query.after.unwrap_or(i64::MIN).into(), below(query.before).into(), i64::from(limit).into()];
    let filters = [&query.agent, &query.category, &query.status];
    bounds.into_iter().chain(filters.into_iter().flatten().map(Param::from)).collect()
}

pub(super) async fn find(readers: &Readers, query: &ActivityQuery) -> Result<Vec<Activity>> {
    let sql = filtered!("id, agent, timestamp, activity, category, status, details", "ORDER BY id DESC ", query);
    readers.rows(sql, &values(query, query.limit)).await?.iter().map(activity).collect()
}

pub(super) async fn count(readers: &Readers, query: &ActivityQuery) -> Result<i64> {
    let sql = filtered!("COUNT(*)", "", query);
    readers.row(sql, &values(query, 1)).await?.ok_or_else(lost)?.int(0)
}

fn activity(row: &Row) -> Result<Activity> {
    Ok(Activity {
        id: row.int(0)?,
        agent: row.text(1)?,
        at_ms: row.int(2)?,
        activity: row.text(3)?,
        category: row.text(4)?,
        status: row.maybe_text(5)?,
        details: row.maybe_text(6)?,
    })
}
