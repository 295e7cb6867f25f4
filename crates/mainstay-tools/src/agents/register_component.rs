//! `register_component`: whose something is.

use mainstay_core::{Context, Effect, Error, Kind, Pace, Reason, Result, Spec, Spelling, Tool};
use mainstay_store::{NewComponent, Registration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Desk;
use super::types::dry_run::{Answer, intent};
use super::types::enums::{Standing, stored};
use super::types::validation;

pub(crate) struct RegisterComponent(pub(super) Desk);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// What it is called.
    name: String,
    /// The agent that answers for it.
    owner: String,
    /// How it stands; active unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Standing")]
    status: Option<Standing>,
    /// Anything more; without it the owner's own component keeps what it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Map<String, Value>")]
    metadata: Option<Map<String, Value>>,
    /// Change nothing; say what would be changed.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    success: bool,
    /// The component's name.
    component: String,
}

impl Tool for RegisterComponent {
    const SPEC: Spec = Spec {
        title: "Register Component",
        description: "Register a component with its owner. Registering it again changes its status or metadata. \
                      A component that is active under another owner is a conflict: its owner has to set it inactive or \
                      deprecated first, then it can be taken over.",
        pace: Pace::Instant,
        dry_run: true,
        idempotent: true,
        tags: &["agents"],
        spellings: &[Spelling { dialect: "agents", name: "register_component" }],
        ..Spec::new("agents", "register_component", Effect::Writes)
    };
    type Args = Args;
    type Output = Answer<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<Answer<Output>> {
        let (name, owner) = (validation::name("name", args.name)?, validation::name("owner", args.owner)?);
        let component = NewComponent {
            name: name.clone(),
            owner: owner.clone(),
            status: stored(args.status.unwrap_or(Standing::Active)),
            metadata: validation::object("metadata", args.metadata)?,
            now_ms: context.clock.now_ms(),
        };
        let intent = intent(args.dry_run);
        if let Registration::OwnedBy(other) = self.0.agents().register(component, intent).await? {
            return Err(taken(&name, &other));
        }
        Ok(Answer::new(
            intent,
            || format!("register the component {name} for {owner}"),
            || Output { success: true, component: name.clone() },
        ))
    }
}

fn taken(name: &str, owner: &str) -> Error {
    let told = format!(
        "The component {name:?} belongs to {owner:?} and is active. {owner:?} has to register it as inactive or \
         deprecated first; or ask for it with request_collaboration."
    );
    Error::new(Kind::Conflict, told)
        .with_reason(Reason::ComponentOwned { component: name.to_owned(), owner: owner.to_owned() })
}

#[cfg(test)]
mod tests {
    use crate::agents::testing::Team;
    use mainstay_core::Kind;
    use serde_json::json;

    #[tokio::test]
    async fn anothers_active_component_is_a_conflict_that_names_the_owner() {
        let team = Team::new().await;
        let register = async |owner: &str, status: &str, dry_run: bool| {
            let args = json!({"name": "api", "owner": owner, "status": status, "dry_run": dry_run});
            team.call("register_component", args).await
        };
        let told = register("ann", "active", true).await.unwrap();
        assert_eq!(told["message"], "Would register the component api for ann");
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
