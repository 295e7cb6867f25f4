//! `agents_activities`: list logged activities.
//!
//! Ids increase in the order in which calls are answered, so a client that polls with `since_id` misses nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mainstay_store::{Activity, ActivityQuery, Agents};

use super::prelude::*;

pub(crate) struct Activities(pub(super) AgentTools);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Only activities of this agent.
    agent: Option<String>,
    /// Only activities of this category.
    category: Option<ActivityCategory>,
    /// Only activities with this status.
    status: Option<ActivityStatus>,
    /// Only activities with a higher id: those logged since.
    since_id: Option<i64>,
    /// Only activities with a lower id.
    before_id: Option<i64>,
    /// Also return the total number of matching activities; slower the more there are.
    #[serde(default)]
    count: bool,
    #[serde(flatten)]
    page: PageArgs,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Newest first.
    activities: Vec<Entry>,
    /// Number of matching activities on all pages, if count was set.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<i64>,
    /// cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Entry {
    id: i64,
    agent: String,
    /// In ISO-8601.
    timestamp: String,
    activity: String,
    category: String,
    status: Option<String>,
    details: Option<Value>,
}

impl Entry {
    fn new(row: Activity) -> Result<Self> {
        let details = row.details.as_deref().map(stored_json).transpose()?;
        let Activity { id, agent, at_ms, activity, category, status, .. } = row;
        Ok(Self { id, agent, timestamp: iso8601(at_ms), activity, category, status, details })
    }
}

impl Activities {
    /// Without filters the total comes from the cached count; counting a million rows takes the store too long for
    /// clients that ask every second.
    async fn count(&self, query: &ActivityQuery, context: &Context) -> Result<i64> {
        let unfiltered = ActivityQuery { limit: query.limit, ..ActivityQuery::default() };
        if *query == unfiltered {
            return self.0.activity_count.total(self.0.agents(), context.clock.now_ms()).await;
        }
        Ok(self.0.agents().count_activities(query.clone()).await?)
    }
}

impl Tool for Activities {
    const SPEC: Spec = Spec {
        title: "List Activities",
        description: "List the activities that agents have logged, newest first, by agent, category or status. Give \
                      the highest id you know as since_id to get only what is new.",
        spellings: &[Spelling { dialect: "agents", name: "list_activities" }],
        ..spec("activities", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, context: &Context) -> Result<Output> {
        let cursor = args.page.before()?;
        let mut query = ActivityQuery {
            agent: args.agent,
            category: args.category.map(wire_name),
            status: args.status.map(wire_name),
            after: args.since_id,
            before: args.before_id,
            limit: args.page.fetch_limit(),
        };
        // Before the cursor narrows the query: the total is that of all pages.
        let total = if args.count { Some(self.count(&query, context).await?) } else { None };
        query.before = cursor.into_iter().chain(query.before).min();
        let rows = self.0.agents().activities(query).await?;
        let size = |row: &Activity| row.activity.len() + row.details.as_ref().map_or(0, String::len) + 200;
        let (rows, next_cursor) = args.page.cut(rows, size, |row| row.id.to_string());
        let activities = rows.into_iter().map(Entry::new).collect::<Result<_>>()?;
        Ok(Output { activities, total, next_cursor })
    }
}

/// How long a count is extended before it is taken anew. Replicas on one PostgreSQL insert concurrently, so a row may
/// become visible below the highest id that was counted; after this time it is counted, too.
const MAX_AGE_MS: i64 = 60_000;

/// A cached count of all activities, so that clients can ask for it every second without a scan of a million rows. Clones
/// share it. Two calls that update it at once do double work and no harm.
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
    use super::{ActivityCount, CachedCount, MAX_AGE_MS};
    use mainstay_store::WriteMode;
    use serde_json::{Value, json};

    #[tokio::test]
    async fn pages_cover_all_rows_and_end() {
        let team = Team::new().await;
        for nth in 0..5 {
            let args = json!({"agent": "ann", "activity": nth.to_string(), "category": "task", "status": "failed"});
            team.call("log_activity", args).await.unwrap();
        }
        let (mut cursor, mut seen) = (Value::Null, Vec::new());
        loop {
            let args = json!({"agent": "ann", "status": "failed", "limit": 2, "cursor": cursor, "count": true});
            let page = team.call("agents_activities", args).await.unwrap();
            assert_eq!(page["total"], 5);
            seen.extend(page["activities"].as_array().unwrap().iter().map(|row| row["activity"].clone()));
            cursor = page["next_cursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        assert_eq!(seen, ["4", "3", "2", "1", "0"]);
        let all = team.call("agents_activities", json!({})).await.unwrap();
        let id = |nth: usize| all["activities"][nth]["id"].clone();
        let args = json!({"since_id": id(4), "before_id": id(0), "category": "task"});
        let between = team.call("agents_activities", args).await.unwrap();
        assert_eq!(between["activities"].as_array().unwrap().len(), 3);
        let none = team.call("agents_activities", json!({"category": "error"})).await.unwrap();
        assert_eq!(none, json!({"activities": [], "next_cursor": null}));
    }
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
