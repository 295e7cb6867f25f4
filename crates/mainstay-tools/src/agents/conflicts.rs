//! `agents_conflicts`: list the conflicts that `agents_check_conflicts` has stored, the open ones unless asked for all.

use mainstay_store::{Conflict, DetectedConflict};

use super::prelude::*;

pub(crate) struct Conflicts(pub(super) AgentTools);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Include resolved conflicts.
    #[serde(default)]
    all: bool,
    #[serde(flatten)]
    page: PageArgs,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Newest first.
    conflicts: Vec<Entry>,
    /// cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

/// Who conflicts, and about what.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ConflictEntry {
    /// Name of the component, route, table or file.
    component: String,
    /// component, route, schema or file.
    kind: String,
    /// medium, high or critical.
    severity: String,
    agents: Vec<String>,
}

impl From<DetectedConflict> for ConflictEntry {
    fn from(conflict: DetectedConflict) -> Self {
        let DetectedConflict { component, kind, severity, agents } = conflict;
        Self { component, kind, severity, agents }
    }
}

/// A stored conflict.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Entry {
    id: i64,
    #[serde(flatten)]
    conflict: ConflictEntry,
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
            conflict: row.detected.into(),
            resolved: row.resolved,
            resolution: row.resolution,
            created_at: iso8601(row.created_ms),
            resolved_at: row.resolved_ms.map(iso8601),
        }
    }
}

impl Tool for Conflicts {
    const SPEC: Spec = Spec {
        title: "List Conflicts",
        description: "List the open conflicts that agents_check_conflicts has found, newest first; with all: true, the \
                      resolved ones, too.",
        spellings: &[Spelling { dialect: "agents", name: "list_conflicts" }],
        ..spec("conflicts", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, _context: &Context) -> Result<Output> {
        let rows = self.0.agents().conflicts(args.all, args.page.before()?, args.page.fetch_limit()).await?;
        // Roughly the JSON of a row: its texts, and 200 bytes for names of members, times and numbers.
        let size = |row: &Conflict| {
            let names: usize = row.detected.agents.iter().map(String::len).sum();
            names + row.detected.component.len() + row.resolution.as_ref().map_or(0, String::len) + 200
        };
        let (rows, next_cursor) = args.page.cut(rows, size, |row| row.id.to_string());
        Ok(Output { conflicts: rows.into_iter().map(Entry::from).collect(), next_cursor })
    }
}
