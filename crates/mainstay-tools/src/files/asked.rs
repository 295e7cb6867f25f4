//! What every change is asked with, and the one way to make it or to rehearse it.

use mainstay_core::{Context, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use super::outcome::{Report, Shown};
use super::plan::Plan;
use super::{Desk, blocking};

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Asked<C> {
    #[serde(flatten)]
    pub(super) change: C,
    /// Change nothing; tell what would be changed, with the unified diff of files.
    #[serde(default)]
    pub(super) dry_run: bool,
}

impl Desk {
    /// Makes a plan and carries it out, or only tells what it would do. What came of planning is returned beside that.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        context: &Context,
        dry_run: bool,
        shown: Shown,
        planning: impl FnOnce(&mut Plan) -> Result<T> + Send + 'static,
    ) -> Result<(T, Report)> {
        let mut plan = Plan::new(&self.workspace, &context.cancel);
        blocking(move || {
            let planned = planning(&mut plan)?;
            Ok((planned, plan.finish(dry_run, shown)?))
        })
        .await
    }
}
