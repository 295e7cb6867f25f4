//! `context_resolve`.

use mainstay_core::{Context, Effect, Pace, Reply, Result, Spec, Spelling, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use super::query::select::Question;
use super::{DIALECT, Desk};
use crate::progress::watched;

pub(crate) struct Resolve(pub(crate) Desk);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The name of the cache, as it is listed
    cache: String,
    /// Words to look for, separated by white space; with none, documents come in the order of their ids
    query: String,
    /// The most tokens that the documents may have together, at four bytes each
    budget: u64,
}

impl Tool for Resolve {
    const SPEC: Spec = Spec {
        title: "Pack context into a budget",
        description: "Picks whole documents of a prepared cache for a query, those with the largest share of matching \
                      words first, until a budget of tokens is used up. The same cache, query and budget always give \
                      the same bytes.",
        pace: Pace::Long,
        tags: &["context", "read"],
        spellings: &[Spelling { dialect: DIALECT, name: "context.resolve" }],
        ..Spec::new("context", "resolve", Effect::Reads)
    };
    type Args = Args;
    type Output = Reply;

    async fn call(&self, args: Args, context: &Context) -> Result<Reply> {
        let desk = self.0.clone();
        let answer = watched(context, "documents read", move |progress| {
            let question = Question { most: desk.reply_bytes, ..Question::new(&args.query, args.budget) };
            desk.caches.resolve(&args.cache, &question, &progress)
        });
        answer.await.map(Reply::text)
    }
}
