//! `code_complexity`: how complex functions are, which are over a threshold, and which files deserve attention first.

use mainstay_code::report::{
    ComplexityOptions, ComplexityReport, Measurement, Thresholds, to_full_text, to_sarif, to_summary_text,
};
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
    format: ComplexityFormat,
    /// Error threshold; a warning from 3/4 of it. Default: 20.
    #[schemars(range(min = 1))]
    max_cyclomatic: Option<u32>,
    /// Error threshold; a warning from 3/4 of it. Default: 30.
    #[schemars(range(min = 1))]
    max_cognitive: Option<u32>,
    /// Number of files to rank by complexity; 0 for all violations instead.
    top_files: Option<usize>,
}

/// The formats of the text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ComplexityFormat {
    #[default]
    Summary,
    Full,
    Json,
    Sarif,
}

/// What to report of sources that were measured: the arguments of the tool, and the options of the command line.
#[derive(Debug, Clone, Copy)]
pub struct ComplexityRequest {
    pub format: ComplexityFormat,
    pub max_cyclomatic: Option<u32>,
    pub max_cognitive: Option<u32>,
    /// How many files to rank; 0 for all violations instead.
    pub top_files: Option<usize>,
}

impl ComplexityRequest {
    /// The report in the length that its format is made for.
    pub fn report(&self, measurement: &Measurement, sources: &SourceOptions) -> ComplexityReport {
        let is_summary = self.format == ComplexityFormat::Summary;
        let options = ComplexityOptions {
            thresholds: self.thresholds(),
            top_files: self.top_files.filter(|files| *files > 0),
            violations: (is_summary && self.top_files != Some(0)).then_some(SUMMARY_VIOLATIONS),
            failed: is_summary.then_some(SUMMARY_FAILED),
            sought: sources.words(),
        };
        ComplexityReport::new(measurement, &options)
    }

    pub fn thresholds(&self) -> Thresholds {
        Thresholds::with_maxima(self.max_cyclomatic, self.max_cognitive)
    }

    /// The report as text. `version` is that of this program, which SARIF names.
    pub fn text(&self, report: &ComplexityReport, measurement: &Measurement, version: &str) -> Result<String> {
        match self.format {
            ComplexityFormat::Summary => Ok(to_summary_text(report)),
            ComplexityFormat::Full => Ok(to_full_text(report, measurement)),
            ComplexityFormat::Json => json_text(report),
            ComplexityFormat::Sarif => json_text(&to_sarif(report, version)),
        }
    }
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
        let request = ComplexityRequest {
            format: args.format,
            max_cyclomatic: args.max_cyclomatic,
            max_cognitive: args.max_cognitive,
            top_files: args.top_files,
        };
        let version = self.version;
        let work = move |progress| {
            let measurement = analysis.measure(&sources, &progress)?;
            let report = request.report(&measurement, &sources);
            let text = request.text(&report, &measurement, version)?;
            // For programs as well: who asks for SARIF as a method wants nothing else.
            match request.format {
                ComplexityFormat::Sarif => reply(&to_sarif(&report, version), text),
                ComplexityFormat::Summary | ComplexityFormat::Full | ComplexityFormat::Json => reply(&report, text),
            }
        };
        run_with_progress(context, "entries seen", work).await
    }
}
