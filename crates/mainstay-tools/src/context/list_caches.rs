//! `context_list_caches`.

use mainstay_core::{Context, Effect, Result, Spec, Spelling, Told, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cache_root::Listed;
use super::{DIALECT, Desk, told};
use crate::progress::watched;

pub(crate) struct ListCaches(pub(crate) Desk);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    caches: Vec<Listed>,
}

impl Tool for ListCaches {
    const SPEC: Spec = Spec {
        title: "List context caches",
        description: "Names the caches that can be asked and inspected. One without a manifest is not finished, or is no \
                      cache.",
        tags: &["context", "read"],
        spellings: &[Spelling { dialect: DIALECT, name: "context.list_caches" }],
        ..Spec::new("context", "list_caches", Effect::Reads)
    };
    type Args = Args;
    type Output = Told<Output>;

    async fn call(&self, _args: Args, context: &Context) -> Result<Told<Output>> {
        let caches = self.0.caches.clone();
        let listed = watched(context, "directories seen", move |progress| caches.list(&progress));
        told(Output { caches: listed.await? })
    }
}
