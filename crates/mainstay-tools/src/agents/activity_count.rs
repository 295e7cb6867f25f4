//! How many activities there are, without counting a million of them each time somebody asks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mainstay_core::Result;
use mainstay_store::{ActivityQuery, Agents};

/// How long a count is built upon. Replicas number their rows at once, so one may appear below the last that was
/// counted; after this time it is in the count, too.
const LIFE_MS: i64 = 60_000;

#[derive(Debug, Clone, Default)]
pub(crate) struct Tally(Arc<Mutex<Option<Counted>>>);

#[derive(Debug, Clone, Copy)]
struct Counted {
    /// The newest that was counted.
    newest: i64,
    rows: i64,
    since_ms: i64,
}

impl Tally {
    pub(crate) async fn total(&self, agents: Agents<'_>, now_ms: i64) -> Result<i64> {
        let known = *self.counted();
        let known = known.filter(|known| (0..LIFE_MS).contains(&now_ms.saturating_sub(known.since_ms)));
        let Some(newest) = agents.activities(one(None)).await?.first().map(|row| row.id) else { return Ok(0) };
        // Activities go all at once or not at all, and no number is given twice: while the one that was counted last is
        // there, so are the others.
        let counted = match known {
            Some(known) if is_there(agents, known.newest).await? => {
                let rows = known.rows + count(agents, Some(known.newest), newest).await?;
                Counted { newest: newest.max(known.newest), rows, ..known }
            }
            Some(_) | None => Counted { newest, rows: count(agents, None, newest).await?, since_ms: now_ms },
        };
        *self.counted() = Some(counted);
        Ok(counted.rows)
    }

    fn counted(&self) -> MutexGuard<'_, Option<Counted>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn one(before: Option<i64>) -> ActivityQuery {
    ActivityQuery { before, limit: 1, ..ActivityQuery::default() }
}

async fn is_there(agents: Agents<'_>, id: i64) -> Result<bool> {
    let found = agents.activities(one(id.checked_add(1))).await?;
    Ok(found.first().is_some_and(|row| row.id == id))
}

async fn count(agents: Agents<'_>, after: Option<i64>, until: i64) -> Result<i64> {
    let query = ActivityQuery { after, before: until.checked_add(1), ..ActivityQuery::default() };
    Ok(agents.count_activities(query).await?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::testing::Team;
    use mainstay_store::WriteMode;
    use serde_json::json;

    #[tokio::test]
    async fn what_was_counted_is_built_upon_until_it_is_old_or_deleted() {
        let team = Team::new().await;
        let (desk, tally) = (team.desk(), Tally::default());
        let total = async |now_ms| tally.total(desk.agents(), now_ms).await.unwrap();
        let log = async || {
            drop(team.call("log_activity", json!({"agent": "a", "activity": "x", "category": "task"})).await.unwrap())
        };
        assert_eq!(total(0).await, 0);
        log().await;
        log().await;
        assert_eq!(total(0).await, 2);
        // Only what is new is counted: a count that is off by ten stays so.
        let wrong = |counted: &mut Option<Counted>| counted.iter_mut().for_each(|counted| counted.rows += 10);
        wrong(&mut tally.counted());
        log().await;
        assert_eq!((total(1).await, total(LIFE_MS - 1).await), (13, 13));
        assert_eq!(total(LIFE_MS).await, 3, "it is old");
        wrong(&mut tally.counted());
        desk.agents().delete_all(WriteMode::Commit).await.unwrap();
        assert_eq!(total(LIFE_MS).await, 0);
        log().await;
        assert_eq!(total(LIFE_MS).await, 1, "what was counted is gone");
    }
}
