//! `templates_search`: templates by words of their name, description and parameters.

use std::cmp::Reverse;

use mainstay_core::{Context, Error, Result, Spec, Spelling, Tool, WithText};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::catalogue::relevance;
use super::view::{TemplateView, line};
use super::{DIALECT, TemplateTools, spec};

pub(super) struct Search(pub(super) TemplateTools);

/// The longest query, in bytes.
const MAX_QUERY: usize = 1000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Words to look for in names, descriptions and parameters.
    query: String,
    /// Only templates of this toolchain.
    toolchain: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// As templates_list, with relevance; the best first.
    #[schemars(with = "Vec<Map<String, Value>>")]
    templates: Vec<TemplateView>,
    count: usize,
}

impl Tool for Search {
    const SPEC: Spec = Spec {
        title: "Search templates",
        description: "Searches the project templates by words, the most relevant first. Use templates_list to see all.",
        spellings: &[Spelling { dialect: DIALECT, name: "search_templates" }],
        ..spec("search")
    };
    type Args = Args;
    type Output = WithText<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<WithText<Output>> {
        if args.query.trim().is_empty() || args.query.len() > MAX_QUERY {
            return Err(Error::field("query", format!("The query has to have 1 to {MAX_QUERY} bytes.")));
        }
        let templates = self.0.catalogue.templates(&context.cancel).await?;
        let selected = templates.select(args.toolchain.as_deref(), None)?;
        let scored = selected.iter().map(|template| (relevance(template, &args.query), template));
        let mut found: Vec<_> = scored.filter(|(relevance, _)| *relevance > 0).collect();
        // Stable: templates of the same relevance stay in the order of their URIs.
        found.sort_by_key(|(relevance, _)| Reverse(*relevance));
        let lines: Vec<String> =
            found.iter().map(|(relevance, template)| format!("{relevance} {}", line(template))).collect();
        let text = if lines.is_empty() { "No template matches.".to_owned() } else { lines.join("\n") };
        let count = found.len();
        let templates = found.iter().map(|(score, template)| TemplateView::with_relevance(template, *score)).collect();
        Ok(WithText { value: Output { templates, count }, text })
    }
}
