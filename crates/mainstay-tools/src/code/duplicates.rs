//! `code_duplicates`: finds code that occurs more than once.

use mainstay_code::DuplicatesOptions;
use mainstay_code::report::to_duplicates_text;
use mainstay_core::{Context, Effect, Pace, Reply, Result, Spec, Tool};

use super::analysis::{CodeAnalysis, SourceOptions};
use super::reply;
use crate::progress::run_with_progress;

pub(crate) struct DuplicatedCode(pub(crate) CodeAnalysis);

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    /// Directory, relative to the workspace.
    #[serde(default = "crate::defaults::workspace_root")]
    project_path: String,
    /// Language or toolchain.
    #[serde(default = "super::every_toolchain")]
    toolchain: String,
    /// Minimum tokens of a copy.
    #[serde(default = "crate::defaults::number::<usize, 100>")]
    #[schemars(range(min = 10, max = 100_000))]
    min_tokens: usize,
    /// Minimum lines of a copy.
    #[serde(default = "crate::defaults::number::<u32, 6>")]
    min_lines: u32,
    /// Also find copies in which names and literals differ.
    #[serde(default)]
    ignore_names: bool,
    /// Maximum groups of copies.
    #[serde(default = "crate::defaults::number::<usize, 20>")]
    #[schemars(range(min = 1, max = 5000))]
    limit: usize,
}

impl Tool for DuplicatedCode {
    const SPEC: Spec = Spec {
        title: "Find duplicated code",
        description: "Finds code that was copied within a file or between files, whatever its formatting and comments, \
                      and lists the places of each copy, largest first.",
        pace: Pace::Long,
        tags: &["code"],
        ..Spec::new("code", "duplicates", Effect::Reads)
    };
    type Args = Args;
    type Output = Reply;

    async fn call(&self, args: Args, context: &Context) -> Result<Reply> {
        let analysis = self.0.clone();
        let sources = SourceOptions { path: args.project_path, toolchain: args.toolchain };
        let Args { min_tokens, min_lines, ignore_names, limit, .. } = args;
        let options = DuplicatesOptions { min_tokens, min_lines, ignore_names };
        let work = move |progress| {
            let report = analysis.duplicates(&sources, options, limit, &progress)?;
            reply(&report, to_duplicates_text(&report))
        };
        run_with_progress(context, "entries seen", work).await
    }
}
