//! `agents_find_component_owner`: look up who owns a component.
//!
//! The contract has `dry_run` for this tool, too, although it changes nothing; the reply is then a sentence.

use super::prelude::*;

pub(crate) struct FindComponentOwner(pub(super) AgentTools);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Name of the component.
    component: String,
    /// Report the result as a sentence only.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Whether the component is registered.
    found: bool,
    /// Name of the agent that owns it.
    owner: Option<String>,
    /// Status of the component: active, inactive or deprecated.
    status: Option<String>,
}

impl Tool for FindComponentOwner {
    const SPEC: Spec = Spec {
        title: "Find Component Owner",
        description: "Find the agent that owns a component. Use it before you change something that another agent may be \
                      responsible for; agents_components lists all of them.",
        dry_run: true,
        spellings: &[Spelling { dialect: "agents", name: "find_component_owner" }],
        ..spec("find_component_owner", Effect::Reads)
    };
    type Args = Args;
    type Output = WriteReply<Output>;

    async fn call(&self, args: Args, _context: &Context) -> Result<WriteReply<Output>> {
        let name = validation::name("component", args.component)?;
        let found = self.0.agents().components_named(vec![name.clone()]).await?.pop();
        let would = match &found {
            Some(component) => format!("report that {name} belongs to {} and is {}", component.owner, component.status),
            None => format!("report that there is no component {name}"),
        };
        let (owner, status) = found.map(|component| (component.owner, component.status)).unzip();
        let done = Output { found: owner.is_some(), owner, status };
        Ok(WriteReply::new(args.dry_run, || would, done))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Team;
    use serde_json::json;

    #[tokio::test]
    async fn unregistered_component_is_reported_as_not_found_without_an_error() {
        let team = Team::new().await;
        let nobody = team.call("find_component_owner", json!({"component": "api"})).await.unwrap();
        assert_eq!(nobody, json!({"success": true, "found": false, "owner": null, "status": null}));
        team.call("register_component", json!({"name": "api", "owner": "ann"})).await.unwrap();
        let reply = team.call("find_component_owner", json!({"component": "api", "dry_run": true})).await.unwrap();
        assert_eq!(reply["message"], "Would report that api belongs to ann and is active");
    }
}
