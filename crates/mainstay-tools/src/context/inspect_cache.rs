//! `context_inspect_cache`: describe a cache and verify its documents. Reads every document; a damaged cache is not an
//! error here but has `valid: false`.

use mainstay_core::{Context, Effect, Pace, Result, Spec, Spelling, Tool, WithText};
use schemars::JsonSchema;
use serde::Deserialize;

use super::cache::Inspection;
use super::{ContextTools, DIALECT, with_json_text};
use crate::progress::run_with_progress;

pub(super) struct InspectCache(pub(super) ContextTools);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Name of the cache, from context_list_caches
    cache: String,
}

impl Tool for InspectCache {
    const SPEC: Spec = Spec {
        title: "Inspect a context cache",
        description: "Show a cache's document count, size and version, after verifying every document's hash.",
        pace: Pace::Long,
        tags: &["context", "read"],
        spellings: &[Spelling { dialect: DIALECT, name: "context.inspect_cache" }],
        ..Spec::new("context", "inspect_cache", Effect::Reads)
    };
    type Args = Args;
    type Output = WithText<Inspection>;

    async fn call(&self, args: Args, context: &Context) -> Result<WithText<Inspection>> {
        let caches = self.0.caches.clone();
        let verification =
            run_with_progress(context, "documents read", move |progress| caches.verify(&args.cache, &progress));
        with_json_text(verification.await?.inspection())
    }
}
