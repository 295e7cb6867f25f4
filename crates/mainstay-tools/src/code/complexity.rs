//! `code_complexity`: how complex functions are, which are over a threshold, and which files deserve attention first.

use mainstay_code::report::{ComplexityOptions, ComplexityReport, Thresholds, to_full_text, to_sarif, to_summary_text};
use mainstay_core::{Context, Effect, Pace, Reply, Result, Spec, Spelling, Tool};

use super::analysis::{CodeAnalysis, SourceOptions};
use super::{DIALECT, json_text, reply};
use crate::progress::run_with_progress;

/// How many violations a summary lists, unless the caller wants all, and how many failed files.
const SUMMARY_VIOLATIONS: usize = 20;
const SUMMARY_FAILED: usize = 50;

pub(crate) struct Complexity {
    pub(crate) analysis: CodeAnalysis,
    /// The version of this program, which SARIF names.
    pub(crate) version: &'static str,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    /// Directory or file, relative to the workspace.
    project_path: String,
    /// Language or toolchain (rust, deno, python-uv, go …), or all.
    toolchain: String,
    /// Format of the text; full lists every function.
    #[serde(default)]
    format: Format,
    /// Error threshold; a warning from 3/4 of it. Default: 20.
    #[schemars(range(min = 1))]
    max_cyclomatic: Option<u32>,
    /// Error threshold; a warning from 3/4 of it. Default: 30.
    #[schemars(range(min = 1))]
    max_cognitive: Option<u32>,
    /// Number of files to rank by complexity; 0 for all violations instead.
    top_files: Option<usize>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Format {
    #[default]
    Summary,
    Full,
    Json,
    Sarif,
}

impl Tool for Complexity {
    const SPEC: Spec = Spec {
        title: "Analyse complexity",
        description: "Measures the cyclomatic and cognitive complexity of functions in 11 languages and lists those over \
                      a threshold, with file, line and value. Files that cannot be parsed are named, not scored.",
        pace: Pace::Long,
        tags: &["code"],
        spellings: &[Spelling { dialect: DIALECT, name: "analyze_complexity" }],
        ..Spec::new("code", "complexity", Effect::Reads)
    };
    type Args = Args;
    type Output = Reply;

    async fn call(&self, args: Args, context: &Context) -> Result<Reply> {
        let analysis = self.analysis.clone();
        let sources = SourceOptions { path: args.project_path, toolchain: args.toolchain };
        let shortened = args.format == Format::Summary && args.top_files != Some(0);
        let options = ComplexityOptions {
            thresholds: Thresholds::with_maxima(args.max_cyclomatic, args.max_cognitive),
            top_files: args.top_files.filter(|files| *files > 0),
            violations: shortened.then_some(SUMMARY_VIOLATIONS),
            failed: (args.format == Format::Summary).then_some(SUMMARY_FAILED),
            sought: sources.words(),
        };
        let (format, version) = (args.format, self.version);
        let work = move |progress| {
            let measurement = analysis.measure(&sources, &progress)?;
            let report = ComplexityReport::new(&measurement, &options);
            match format {
                Format::Summary => reply(&report, to_summary_text(&report)),
                Format::Full => reply(&report, to_full_text(&report, &measurement)),
                Format::Json => reply(&report, json_text(&report)?),
                // For programs as well: who asks for SARIF as a method wants nothing else.
                Format::Sarif => {
                    let sarif = to_sarif(&report, version);
                    let text = json_text(&sarif)?;
                    reply(&sarif, text)
                }
            }
        };
        run_with_progress(context, "entries seen", work).await
    }
}
