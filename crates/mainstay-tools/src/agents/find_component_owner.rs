//! `find_component_owner`: whom to ask about something.

use mainstay_core::{Context, Effect, Pace, Result, Spec, Spelling, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Desk;
use super::types::dry_run::{Answer, intent};
use super::types::validation;

pub(crate) struct FindComponentOwner(pub(super) Desk);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The component's name.
    component: String,
    /// Only say what would be looked up, and what came of it.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    success: bool,
    /// Whether there is such a component.
    found: bool,
    /// The agent that answers for it.
    owner: Option<String>,
    /// How the component stands: active, inactive or deprecated.
    status: Option<String>,
}

impl Tool for FindComponentOwner {
    const SPEC: Spec = Spec {
        title: "Find Component Owner",
        description: "Find the agent that owns a component. Use it before changing something that somebody else may \
                      answer for.",
        pace: Pace::Instant,
        dry_run: true,
        tags: &["agents"],
        spellings: &[Spelling { dialect: "agents", name: "find_component_owner" }],
        ..Spec::new("agents", "find_component_owner", Effect::Reads)
    };
    type Args = Args;
    type Output = Answer<Output>;

    async fn call(&self, args: Args, _context: &Context) -> Result<Answer<Output>> {
        let name = validation::name("component", args.component)?;
        let found = self.0.agents().components_named(vec![name.clone()]).await?.pop();
        Ok(Answer::new(
            intent(args.dry_run),
            || match &found {
                Some(component) => {
                    format!("report that {name} belongs to {} and is {}", component.owner, component.status)
                }
                None => format!("report that there is no component {name}"),
            },
            || Output {
                success: true,
                found: found.is_some(),
                owner: found.as_ref().map(|component| component.owner.clone()),
                status: found.as_ref().map(|component| component.status.clone()),
            },
        ))
    }
}

#[cfg(test)]
mod tests {
    use crate::agents::testing::Team;
    use serde_json::json;

    #[tokio::test]
    async fn what_is_not_registered_is_not_found_and_that_is_no_error() {
        let team = Team::new().await;
        let nobody = team.call("find_component_owner", json!({"component": "api"})).await.unwrap();
        assert_eq!(nobody, json!({"success": true, "found": false, "owner": null, "status": null}));
        team.call("register_component", json!({"name": "api", "owner": "ann"})).await.unwrap();
        let told = team.call("find_component_owner", json!({"component": "api", "dry_run": true})).await.unwrap();
        assert_eq!(told["message"], "Would report that api belongs to ann and is active");
    }
}
