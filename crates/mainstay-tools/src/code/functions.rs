//! `code_functions`: finds functions by name and by their figures.

use mainstay_code::report::{FunctionList, FunctionOrder, FunctionQuery, to_functions_text};
use mainstay_core::{Context, Effect, Pace, Reply, Result, Spec, Tool};

use super::analysis::{CodeAnalysis, SourceOptions};
use super::reply;
use crate::progress::run_with_progress;

pub(crate) struct Functions(pub(crate) CodeAnalysis);

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    /// Directory or file, relative to the workspace.
    #[serde(default = "crate::defaults::workspace_root")]
    project_path: String,
    /// Language or toolchain.
    #[serde(default = "super::every_toolchain")]
    toolchain: String,
    /// Part of the qualified name, in any case.
    name: Option<String>,
    /// Minimum cyclomatic complexity.
    #[serde(default)]
    min_cyclomatic: u32,
    /// Minimum cognitive complexity.
    #[serde(default)]
    min_cognitive: u32,
    /// Minimum lines of code.
    #[serde(default)]
    min_lines: u32,
    /// Highest first; maintainability: lowest first.
    #[serde(default)]
    sort: Sort,
    /// Maximum functions.
    #[serde(default = "crate::defaults::number::<usize, 20>")]
    #[schemars(range(min = 1, max = 10_000))]
    limit: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Sort {
    #[default]
    Cognitive,
    Cyclomatic,
    Nesting,
    Lines,
    Parameters,
    Maintainability,
    Path,
}

/// The argument has names of its own: what it is called is a promise to callers.
impl From<Sort> for FunctionOrder {
    fn from(sort: Sort) -> Self {
        match sort {
            Sort::Cognitive => Self::Cognitive,
            Sort::Cyclomatic => Self::Cyclomatic,
            Sort::Nesting => Self::Nesting,
            Sort::Lines => Self::Lines,
            Sort::Parameters => Self::Parameters,
            Sort::Maintainability => Self::Maintainability,
            Sort::Path => Self::Place,
        }
    }
}

impl Tool for Functions {
    const SPEC: Spec = Spec {
        title: "Find functions",
        description: "Lists functions and methods with their lines, complexity, nesting, parameters and maintainability, \
                      by name or by a minimum. Use it rather than code_complexity to find the hardest or longest \
                      functions, or where one is defined.",
        pace: Pace::Long,
        tags: &["code"],
        ..Spec::new("code", "functions", Effect::Reads)
    };
    type Args = Args;
    type Output = Reply;

    async fn call(&self, args: Args, context: &Context) -> Result<Reply> {
        let analysis = self.0.clone();
        let sources = SourceOptions { path: args.project_path, toolchain: args.toolchain };
        let query = FunctionQuery {
            name: args.name,
            min_cyclomatic: args.min_cyclomatic,
            min_cognitive: args.min_cognitive,
            min_lines: args.min_lines,
            order: args.sort.into(),
            limit: args.limit,
        };
        let work = move |progress| {
            let measurement = analysis.measure(&sources, &progress)?;
            let list = FunctionList::new(&measurement, &query, &sources.words());
            reply(&list, to_functions_text(&list))
        };
        run_with_progress(context, "entries seen", work).await
    }
}
