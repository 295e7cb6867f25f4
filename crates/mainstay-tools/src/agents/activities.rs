//! `agents_activities`: what the team has been doing.

use mainstay_core::{Context, Effect, Pace, Result, Spec, Tool, iso8601};
use mainstay_store::{Activity, ActivityQuery};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Desk;
use super::types::dry_run::value;
use super::types::enums::{Category, Stage, stored};
use super::types::pagination;

pub(crate) struct Activities(pub(super) Desk);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Only this agent's.
    #[serde(default)]
    agent: Option<String>,
    /// Only those of this category.
    #[serde(default)]
    category: Option<Category>,
    /// Only those with this status.
    #[serde(default)]
    status: Option<Stage>,
    /// Only those with a higher number: what came since then.
    #[serde(default)]
    since_id: Option<i64>,
    /// Only those with a lower number.
    #[serde(default)]
    before_id: Option<i64>,
    /// Also count all that fit, on every page; this takes longer the more there are.
    #[serde(default)]
    count: bool,
    /// How many at most.
    #[serde(default = "pagination::usual")]
    #[schemars(range(min = 1, max = pagination::MOST))]
    limit: u32,
    /// Where the last page ended.
    #[serde(default)]
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Newest first.
    activities: Vec<Entry>,
    /// How many fit altogether, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<i64>,
    /// Give it back as cursor for the next page; null on the last.
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

impl TryFrom<Activity> for Entry {
    type Error = mainstay_core::Error;

    fn try_from(row: Activity) -> Result<Self> {
        let details = row.details.as_deref().map(value).transpose()?;
        let Activity { id, agent, at_ms, activity, category, status, .. } = row;
        Ok(Self { id, agent, timestamp: iso8601(at_ms), activity, category, status, details })
    }
}

impl Activities {
    async fn count(&self, query: &ActivityQuery, context: &Context) -> Result<i64> {
        let every = ActivityQuery { limit: query.limit, ..ActivityQuery::default() };
        if *query == every {
            return self.0.tally.total(self.0.agents(), context.clock.now_ms()).await;
        }
        Ok(self.0.agents().count_activities(query.clone()).await?)
    }
}

impl Tool for Activities {
    const SPEC: Spec = Spec {
        title: "Activities",
        description: "Lists the activities that agents have logged, newest first, by agent, category or status. Give \
                      the highest id you know as since_id to see only what is new.",
        pace: Pace::Instant,
        tags: &["agents"],
        ..Spec::new("agents", "activities", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, context: &Context) -> Result<Output> {
        let cursor = pagination::before(args.cursor.as_deref())?;
        let mut query = ActivityQuery {
            agent: args.agent,
            category: args.category.map(stored),
            status: args.status.map(stored),
            after: args.since_id,
            before: args.before_id,
            limit: pagination::fetched(args.limit),
        };
        let total = if args.count { Some(self.count(&query, context).await?) } else { None };
        query.before = cursor.into_iter().chain(query.before).min();
        let rows = self.0.agents().activities(query).await?;
        let size = |row: &Activity| row.activity.len() + row.details.as_ref().map_or(0, String::len) + 200;
        let (rows, next_cursor) = pagination::cut(rows, args.limit, size, |row| row.id.to_string());
        let activities = rows.into_iter().map(Entry::try_from).collect::<Result<_>>()?;
        Ok(Output { activities, total, next_cursor })
    }
}

#[cfg(test)]
mod tests {
    use crate::agents::testing::Team;
    use serde_json::{Value, json};

    #[tokio::test]
    async fn pages_follow_each_other_and_end() {
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
}
