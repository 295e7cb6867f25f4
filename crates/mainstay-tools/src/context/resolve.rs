//! `context_resolve`: fill a budget of tokens with documents. The answer is the same to the byte for the same cache, query
//! and budget, whether it comes from memory or from disk.

use mainstay_core::{Context, Effect, Pace, Reply, Result, Spec, Spelling, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use super::query::Query;
use super::{ContextTools, DIALECT};
use crate::progress::run_with_progress;

pub(super) struct Resolve(pub(super) ContextTools);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Name of the cache, from context_list_caches
    cache: String,
    /// Words to search for, separated by white space; if empty, documents come in the order of their ids
    query: String,
    /// Maximum number of tokens of all documents together, at four bytes each
    budget: u64,
}

impl Tool for Resolve {
    const SPEC: Spec = Spec {
        title: "Pack context into a budget",
        description: "Select whole documents of a prepared cache for a query, those with the largest share of matching \
                      words first, until a budget of tokens is used up. The same cache, query and budget always give \
                      the same bytes.",
        pace: Pace::Long,
        tags: &["context", "read"],
        spellings: &[Spelling { dialect: DIALECT, name: "context.resolve" }],
        ..Spec::new("context", "resolve", Effect::Reads)
    };
    type Args = Args;
    /// The text alone: the contract fixes its bytes, and the documents are not sent a second time as a structured value.
    type Output = Reply;

    async fn call(&self, args: Args, context: &Context) -> Result<Reply> {
        let tools = self.0.clone();
        let answer = run_with_progress(context, "documents read", move |progress| {
            let query = Query { max_bytes: tools.max_reply_bytes, ..Query::new(&args.query, args.budget) };
            tools.caches.resolve(&args.cache, &query, &progress)
        });
        answer.await.map(Reply::text)
    }
}
