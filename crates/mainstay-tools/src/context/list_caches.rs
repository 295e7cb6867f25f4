//! `context_list_caches`: list the caches of the cache root. Reads no cache, so a damaged one is listed like the others.

use mainstay_core::{Context, Effect, Result, Spec, Spelling, Tool, WithText};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cache_root::ListedCache;
use super::{ContextTools, DIALECT, with_json_text};
use crate::progress::run_with_progress;

pub(super) struct ListCaches(pub(super) ContextTools);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    caches: Vec<ListedCache>,
}

impl Tool for ListCaches {
    /// Not `Pace::Instant`: the cache root may hold thousands of directories.
    const SPEC: Spec = Spec {
        title: "List context caches",
        description: "List the caches that can be queried and inspected. An entry without a manifest is unfinished, or is \
                      not a cache.",
        tags: &["context", "read"],
        spellings: &[Spelling { dialect: DIALECT, name: "context.list_caches" }],
        ..Spec::new("context", "list_caches", Effect::Reads)
    };
    type Args = Args;
    type Output = WithText<Output>;

    async fn call(&self, _args: Args, context: &Context) -> Result<WithText<Output>> {
        let caches = self.0.caches.clone();
        let listed = run_with_progress(context, "directories read", move |progress| caches.list(&progress));
        with_json_text(Output { caches: listed.await? })
    }
}
