//! `context_inspect_cache`.

use mainstay_core::{Context, Effect, Pace, Result, Spec, Spelling, Told, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use super::cache::verify::Inspection;
use super::{DIALECT, Desk, told};
use crate::progress::watched;

pub(crate) struct InspectCache(pub(crate) Desk);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The name of the cache, as it is listed
    cache: String,
}

impl Tool for InspectCache {
    const SPEC: Spec = Spec {
        title: "Inspect a context cache",
        description: "Says how many documents and bytes a cache has and which version it is, after holding every \
                      document against its hash.",
        pace: Pace::Long,
        tags: &["context", "read"],
        spellings: &[Spelling { dialect: DIALECT, name: "context.inspect_cache" }],
        ..Spec::new("context", "inspect_cache", Effect::Reads)
    };
    type Args = Args;
    type Output = Told<Inspection>;

    async fn call(&self, args: Args, context: &Context) -> Result<Told<Inspection>> {
        let caches = self.0.caches.clone();
        let examined = watched(context, "documents read", move |progress| caches.examine(&args.cache, &progress));
        told(examined.await?.inspection())
    }
}
