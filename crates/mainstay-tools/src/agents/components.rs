//! `agents_components`: list registered components, by name.

use mainstay_store::{Component, ComponentQuery};

use super::prelude::*;

pub(crate) struct Components(pub(super) AgentTools);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Only components of this agent.
    owner: Option<String>,
    /// Only components with this status.
    status: Option<ComponentStatus>,
    #[serde(flatten)]
    page: PageArgs,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// By name.
    components: Vec<Entry>,
    /// cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Entry {
    name: String,
    owner: String,
    status: String,
    /// In ISO-8601.
    last_updated: String,
    metadata: Value,
}

impl Entry {
    fn new(row: Component) -> Result<Self> {
        let Component { name, owner, status, updated_ms, metadata } = row;
        Ok(Self { name, owner, status, last_updated: iso8601(updated_ms), metadata: stored_json(&metadata)? })
    }
}

impl Tool for Components {
    const SPEC: Spec = Spec {
        title: "List Components",
        description: "List the registered components by name, with owner and status. Use agents_find_component_owner for \
                      a single one.",
        spellings: &[Spelling { dialect: "agents", name: "list_components" }],
        ..spec("components", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, _context: &Context) -> Result<Output> {
        let query = ComponentQuery {
            owner: args.owner,
            status: args.status.map(wire_name),
            after: names_after(&args.page)?,
            limit: args.page.fetch_limit(),
        };
        let rows = self.0.agents().components(query).await?;
        let (rows, next_cursor) = args.page.cut(rows, |row| row.metadata.len() + 400, |row| row.name.clone());
        let components = rows.into_iter().map(Entry::new).collect::<Result<_>>()?;
        Ok(Output { components, next_cursor })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Team;
    use serde_json::json;

    #[tokio::test]
    async fn components_are_filtered_by_owner_and_status() {
        let team = Team::new().await;
        for (name, owner, status) in [("a", "ann", "active"), ("b", "ann", "inactive"), ("c", "bob", "active")] {
            let args = json!({"name": name, "owner": owner, "status": status, "metadata": {"port": 1}});
            team.call("register_component", args).await.unwrap();
        }
        let first = team.call("agents_components", json!({"status": "active", "limit": 1})).await.unwrap();
        assert_eq!((&first["components"][0]["name"], &first["next_cursor"]), (&json!("a"), &json!("a")));
        let anns = team.call("agents_components", json!({"owner": "ann", "status": "inactive"})).await.unwrap();
        let expected = json!([{"name": "b", "owner": "ann", "status": "inactive", "last_updated": team.now(),
            "metadata": {"port": 1}}]);
        assert_eq!(anns["components"], expected);
    }
}
