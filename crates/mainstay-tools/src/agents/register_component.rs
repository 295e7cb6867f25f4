//! `agents_register_component`: record who owns a component.
//!
//! An active component belongs to its owner until the owner releases it. The store checks that in the transaction of
//! the change, so of two agents that register a component at once one gets it.

use mainstay_core::Reason;
use mainstay_store::{NewComponent, Registration};

use super::prelude::*;

pub(crate) struct RegisterComponent(pub(super) AgentTools);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Name of the component.
    name: String,
    /// Name of the agent that owns it.
    owner: String,
    /// Status of the component. Default: active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ComponentStatus")]
    status: Option<ComponentStatus>,
    /// Any further data; left out, the owner's component keeps its metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Map<String, Value>")]
    metadata: Option<Map<String, Value>>,
    /// Change nothing; report what would be changed.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Name of the component.
    component: String,
}

impl Tool for RegisterComponent {
    const SPEC: Spec = Spec {
        title: "Register Component",
        description: "Register a component with its owner. Registering it again changes its status or metadata. \
                      A component that is active under another owner is a conflict: its owner has to set it inactive or \
                      deprecated before another agent can register it.",
        dry_run: true,
        idempotent: true,
        spellings: &[Spelling { dialect: "agents", name: "register_component" }],
        ..spec("register_component", Effect::Writes)
    };
    type Args = Args;
    type Output = WriteReply<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<WriteReply<Output>> {
        let (name, owner) = (validation::name("name", args.name)?, validation::name("owner", args.owner)?);
        let component = NewComponent {
            name: name.clone(),
            owner: owner.clone(),
            status: wire_name(args.status.unwrap_or(ComponentStatus::Active)),
            metadata: validation::object_json("metadata", args.metadata)?,
            now_ms: context.clock.now_ms(),
        };
        if let Registration::OwnedBy(other) = self.0.agents().register(component, write_mode(args.dry_run)).await? {
            return Err(owned_by(&name, &other));
        }
        let would = format!("register the component {name} for {owner}");
        Ok(WriteReply::new(args.dry_run, || would, Output { component: name }))
    }
}

fn owned_by(name: &str, owner: &str) -> Error {
    let message = format!(
        "The component {name:?} belongs to {owner:?} and is active. {owner:?} has to register it as inactive or \
         deprecated first; or ask for it with request_collaboration."
    );
    Error::new(Kind::Conflict, message)
        .with_reason(Reason::ComponentOwned { component: name.into(), owner: owner.into() })
}

#[cfg(test)]
mod tests {
    use super::super::testing::Team;
    use mainstay_core::Kind;
    use serde_json::json;

    #[tokio::test]
    async fn registering_another_agents_active_component_is_a_conflict_that_names_the_owner() {
        let team = Team::new().await;
        let register = async |owner: &str, status: &str, dry_run: bool| {
            let args = json!({"name": "api", "owner": owner, "status": status, "dry_run": dry_run});
            team.call("register_component", args).await
        };
        let reply = register("ann", "active", true).await.unwrap();
        assert_eq!(reply["message"], "Would register the component api for ann");
        assert_eq!(register("ann", "active", false).await.unwrap(), json!({"success": true, "component": "api"}));
        for dry_run in [true, false] {
            let refused = register("bob", "active", dry_run).await.unwrap_err();
            assert_eq!(refused.kind, Kind::Conflict);
            assert!(refused.public.contains("\"ann\"") && refused.public.contains("inactive"), "{refused}");
        }
        register("ann", "deprecated", false).await.unwrap();
        register("bob", "active", false).await.unwrap();
        let owner = team.call("find_component_owner", json!({"component": "api"})).await.unwrap();
        assert_eq!(owner, json!({"success": true, "found": true, "owner": "bob", "status": "active"}));
    }
}
