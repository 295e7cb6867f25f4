//! `agents_conflicts`: where agents got in each other's way.

use mainstay_core::{Context, Effect, Pace, Result, Spec, Tool, iso8601};
use mainstay_store::Conflict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Desk;
use super::types::pagination;

pub(crate) struct Conflicts(pub(super) Desk);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Also those that are resolved.
    #[serde(default)]
    all: bool,
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
    conflicts: Vec<Entry>,
    /// Give it back as cursor for the next page; null on the last.
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Entry {
    id: i64,
    /// What is in dispute: a component, a route, a table or a file.
    component: String,
    /// component, route, schema or file.
    kind: String,
    /// medium, high or critical.
    severity: String,
    agents: Vec<String>,
    resolved: bool,
    resolution: Option<String>,
    /// In ISO-8601.
    created_at: String,
    resolved_at: Option<String>,
}

impl From<Conflict> for Entry {
    fn from(row: Conflict) -> Self {
        Self {
            id: row.id,
            component: row.detected.component,
            kind: row.detected.kind,
            severity: row.detected.severity,
            agents: row.detected.agents,
            resolved: row.resolved,
            resolution: row.resolution,
            created_at: iso8601(row.created_ms),
            resolved_at: row.resolved_ms.map(iso8601),
        }
    }
}

impl Tool for Conflicts {
    const SPEC: Spec = Spec {
        title: "Conflicts",
        description: "Lists the conflicts that agents_check_conflicts has found and nobody has resolved yet, newest \
                      first; with all: true the resolved ones, too.",
        pace: Pace::Instant,
        tags: &["agents"],
        ..Spec::new("agents", "conflicts", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, _context: &Context) -> Result<Output> {
        let before = pagination::before(args.cursor.as_deref())?;
        let rows = self.0.agents().conflicts(args.all, before, pagination::fetched(args.limit)).await?;
        let size = |row: &Conflict| {
            let names: usize = row.detected.agents.iter().map(String::len).sum();
            names + row.detected.component.len() + row.resolution.as_ref().map_or(0, String::len) + 200
        };
        let (rows, next_cursor) = pagination::cut(rows, args.limit, size, |row| row.id.to_string());
        Ok(Output { conflicts: rows.into_iter().map(Entry::from).collect(), next_cursor })
    }
}
