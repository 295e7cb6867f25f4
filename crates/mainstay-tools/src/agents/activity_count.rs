//! A cached count of all activities, so that clients can ask for it every second without a scan of a million rows.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mainstay_core::Result;
use mainstay_store::{ActivityQuery, Agents};

/// How long a count is extended before it is taken anew. Replicas on one PostgreSQL insert concurrently, so a row may
/// become visible below the highest id that was counted; after this time it is counted, too.
const MAX_AGE_MS: i64 = 60_000;

/// The count of this process; clones share it. Two calls that update it at once do double work and no harm.
#[derive(Debug, Clone, Default)]
pub(crate) struct ActivityCount(Arc<Mutex<Option<CachedCount>>>);

#[derive(Debug, Clone, Copy)]
struct CachedCount {
    /// The highest id that was counted.
    newest: i64,
    rows: i64,
    /// When all rows were last counted.
    counted_ms: i64,
}

impl ActivityCount {
    /// The number of activities. Usually counts only the rows that are newer than the cached count.
    pub(crate) async fn total(&self, agents: Agents<'_>, now_ms: i64) -> Result<i64> {
        let cached = *self.cached();
        let cached = cached.filter(|cached| (0..MAX_AGE_MS).contains(&now_ms.saturating_sub(cached.counted_ms)));
        let Some(newest) = newest_id(agents, None).await? else { return Ok(0) };
        let count = match cached {
            // Activities are only ever deleted all at once and ids are not used again: while the newest counted row
            // exists, so do the others.
            Some(cached) if newest_id(agents, cached.newest.checked_add(1)).await? == Some(cached.newest) => {
                let rows = cached.rows + count(agents, Some(cached.newest), newest).await?;
                CachedCount { newest: newest.max(cached.newest), rows, ..cached }
            }
            Some(_) | None => CachedCount { newest, rows: count(agents, None, newest).await?, counted_ms: now_ms },
        };
        *self.cached() = Some(count);
        Ok(count.rows)
    }

    fn cached(&self) -> MutexGuard<'_, Option<CachedCount>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The highest id below `before`, or of all.
async fn newest_id(agents: Agents<'_>, before: Option<i64>) -> Result<Option<i64>> {
    let newest = agents.activities(ActivityQuery { before, limit: 1, ..ActivityQuery::default() }).await?;
    Ok(newest.first().map(|row| row.id))
}

/// Rows with an id above `after`, up to and including `until`.
async fn count(agents: Agents<'_>, after: Option<i64>, until: i64) -> Result<i64> {
    let query = ActivityQuery { after, before: until.checked_add(1), ..ActivityQuery::default() };
    Ok(agents.count_activities(query).await?)
}

#[cfg(test)]
mod tests {
    use super::super::testing::Team;
    use super::*;
    use mainstay_store::WriteMode;
    use serde_json::json;

    #[tokio::test]
    async fn cached_count_is_extended_until_it_is_old_or_the_data_is_deleted() {
        let team = Team::new().await;
        let (tools, activity_count) = (team.tools(), ActivityCount::default());
        let total = async |now_ms| activity_count.total(tools.agents(), now_ms).await.unwrap();
        let log = async || {
            drop(team.call("log_activity", json!({"agent": "a", "activity": "x", "category": "task"})).await.unwrap())
        };
        assert_eq!(total(0).await, 0);
        log().await;
        log().await;
        assert_eq!(total(0).await, 2);
        // Only new rows are counted: a cached count that is off by ten stays off by ten.
        let falsify = |cached: &mut Option<CachedCount>| cached.iter_mut().for_each(|cached| cached.rows += 10);
        falsify(&mut activity_count.cached());
        log().await;
        assert_eq!((total(1).await, total(MAX_AGE_MS - 1).await), (13, 13));
        assert_eq!(total(MAX_AGE_MS).await, 3, "the cached count is too old");
        falsify(&mut activity_count.cached());
        tools.agents().delete_all(WriteMode::Commit).await.unwrap();
        assert_eq!(total(MAX_AGE_MS).await, 0);
        log().await;
        assert_eq!(total(MAX_AGE_MS).await, 1, "the counted rows are gone");
    }
}
