//! `context_list_caches`: list the caches of the cache root. Reads no cache, so a damaged one is listed like the others.

use mainstay_core::{Context, Effect, Result, Spec, Spelling, Tool, WithText};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cache_root::{CachePage, ListedCache};
use super::{ContextTools, DIALECT, with_json_text};
use crate::progress::{Progress, run_with_progress};

pub(super) struct ListCaches(pub(super) ContextTools);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Maximum number of entries to return. Default: all.
    #[schemars(range(min = 1))]
    limit: Option<u32>,
    /// next_cursor of the page before; leave it out for the first page.
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// By name.
    caches: Vec<ListedCache>,
    /// cursor of the next page; absent on the last page.
    // Not null: contract 002, which has no pages, shows this result to the byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
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

    async fn call(&self, args: Args, context: &Context) -> Result<WithText<Output>> {
        let caches = self.0.caches.clone();
        let list = move |progress: Progress| {
            let limit = args.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
            let page = CachePage { after: args.cursor.as_deref().unwrap_or_default(), limit };
            caches.list(&page, &progress)
        };
        let (caches, has_more) = run_with_progress(context, "directories read", list).await?;
        let next_cursor = caches.last().filter(|_| has_more).map(|last| last.path.clone());
        with_json_text(Output { caches, next_cursor })
    }
}
