//! `search_similar`: code that is like a part of a file.

use mainstay_core::{Context, Effect, Error, Pace, Result, Spec, Spelling, Tool, WithText};
use mainstay_search::ranking::{self, Filter, Span};
use serde::Deserialize;

use super::matches::{Matches, Usage};
use super::query::search_failure;
use super::search_tools::{RootsSnapshot, SearchTools};
use super::spec;

use crate::progress::{Progress, run_with_progress};

pub(crate) struct SearchSimilar(pub(super) SearchTools);

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    /// File of the workspace.
    path: String,
    /// First line, counted from 1. Default: the whole file.
    #[schemars(range(min = 1))]
    line_start: Option<u32>,
    /// Last line. Default: line_start.
    #[schemars(range(min = 1))]
    line_end: Option<u32>,
    /// Maximum number of matches.
    #[serde(default = "default_top_k")]
    #[schemars(range(min = 1, max = 50))]
    top_k: usize,
    /// Maximum lines of each snippet; 0 for none.
    #[serde(default = "default_snippet_lines")]
    snippet_lines: usize,
}

fn default_top_k() -> usize {
    5
}

fn default_snippet_lines() -> usize {
    15
}

impl Tool for SearchSimilar {
    const SPEC: Spec = Spec {
        title: "Find similar code",
        description: "Finds functions and sections that are like the given lines of a file: other implementations, copies, \
                      code that does nearly the same. Use it before writing code that may exist already.",
        pace: Pace::Long,
        spellings: &[Spelling { dialect: "mcp", name: "search_similar" }],
        ..spec("similar", Effect::Reads)
    };
    type Args = Args;
    type Output = WithText<Matches>;

    async fn call(&self, args: Args, context: &Context) -> Result<WithText<Matches>> {
        let first = args.line_start.unwrap_or(1);
        let last = args.line_end.or(args.line_start).unwrap_or(u32::MAX);
        if last < first {
            let line = format!("line_end ({last}) is before line_start ({first}).");
            return Err(Error::field("line_end", line));
        }
        let roots = self.0.roots(None).unwrap_or_default();
        let roots = self.0.commits(&roots).await;
        let tools = self.0.clone();
        let found = run_with_progress(context, "files", move |progress| {
            let searched = RootsSnapshot::up_to_date(roots, &progress)?;
            tools.similar(&searched, &args, (first, last), &progress)
        });
        found.await.map(Matches::with_text)
    }
}

impl SearchTools {
    fn similar(
        &self,
        searched: &RootsSnapshot,
        args: &Args,
        (first, last): (u32, u32),
        progress: &Progress,
    ) -> Result<Matches> {
        let path = self.workspace().find(&args.path)?.resolved()?;
        let file = path.open_file()?;
        let content = file.read_whole(self.settings().file_bytes)?;
        let text = content.map(|content| String::from_utf8_lossy(&content).into_owned()).unwrap_or_default();
        let total = text.lines().count();
        // Without this, nothing would be found to be like nothing.
        if args.line_start.is_some() && usize::try_from(first).is_ok_and(|first| first > total) {
            let line = format!("{} has {total} lines, and line_start is {first}.", path.display());
            return Err(Error::field("line_start", line));
        }
        let lines = text.lines().skip(usize::try_from(first - 1).unwrap_or(0));
        let lines = lines.take(usize::try_from(last - first).unwrap_or(usize::MAX).saturating_add(1));
        let text = lines.collect::<Vec<_>>().join("\n");
        let key = searched.document_path(path.display());
        let span = Span { path: &key, lines: first..=last, text: &text };
        let embedder = self.embedder()?;
        let answer = ranking::similar(&searched.snapshot, &**embedder, &span, &Filter::default(), args.top_k);
        let answer = answer.map_err(search_failure)?;
        let usage = Usage { embedding_model: Some(embedder.id().to_owned()), ..Usage::default() };
        let matches = self.matches(searched, answer.hits, args.snippet_lines, false, progress)?;
        Ok(Matches { matches, usage })
    }
}
