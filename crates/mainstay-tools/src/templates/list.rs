//! `templates_list`: the templates there are.

use std::sync::Arc;

use mainstay_core::{Context, Result, Spec, Spelling, Tool, WithText};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::directories::BrokenTemplate;
use super::template::Template;
use super::view::{TemplateView, line};
use super::{DIALECT, TemplateTools, spec};
use crate::pagination::PageArgs;

pub(super) struct List(pub(super) TemplateTools);

/// The most templates that do not load and are named; `mainstay doctor` names all.
const MAX_BROKEN: usize = 20;

#[derive(Deserialize, JsonSchema)]
pub(super) struct Args {
    /// Only templates of this toolchain: rust, deno, python-uv or one of your own.
    toolchain: Option<String>,
    /// Only templates of this category: makefile, readme, gitignore or one of your own.
    category: Option<String>,
    #[serde(flatten)]
    page: PageArgs,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// Each with uri, name, description, category, toolchain, parameters (JSON Schema).
    #[schemars(with = "Vec<Map<String, Value>>")]
    templates: Vec<TemplateView>,
    /// Number of all templates that match.
    count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// Templates of your own that do not load, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    broken: Vec<String>,
}

impl Tool for List {
    const SPEC: Spec = Spec {
        title: "List templates",
        description: "Lists the templates for new projects (Makefile, README, .gitignore and your own) with their \
                      parameters; * marks a required one.",
        spellings: &[Spelling { dialect: DIALECT, name: "list_templates" }],
        ..spec("list")
    };
    type Args = Args;
    type Output = WithText<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<WithText<Output>> {
        let templates = self.0.catalogue.templates(&context.cancel).await?;
        let selected = templates.select(args.toolchain.as_deref(), args.category.as_deref())?;
        let count = selected.len();
        let after = |uri: &str| args.page.after().is_none_or(|cursor| uri > cursor);
        let rest = selected.into_iter().filter(|template| after(&template.uri.to_string())).collect();
        // The schema of the parameters is most of an entry.
        let size = |template: &Arc<Template>| Value::from(template.manifest.parameters.clone()).to_string().len() + 400;
        let (page, next_cursor) = args.page.cut(rest, size, |template| template.uri.to_string());
        let broken: Vec<String> =
            templates.broken.iter().take(MAX_BROKEN).map(BrokenTemplate::without_directory).collect();
        let mut lines: Vec<String> = page.iter().map(|template| line(template)).collect();
        lines.extend(broken.iter().map(|broken| format!("Does not load: {broken}")));
        lines.extend(next_cursor.as_ref().map(|cursor| format!("More with cursor {cursor}")));
        let templates = page.iter().map(|template| TemplateView::new(template)).collect();
        let value = Output { templates, count, next_cursor, broken };
        Ok(WithText { value, text: lines.join("\n") })
    }
}
