//! `code_churn`: how often and by how much files have changed, from the history that git keeps.

use mainstay_code::churn::{ChurnReport, to_csv, to_markdown, to_summary};
use mainstay_code::report::{HotspotReport, hotspots_to_csv, hotspots_to_markdown, hotspots_to_text};
use mainstay_core::{Context, Effect, Pace, Reply, Result, Spec, Spelling, Tool};

use super::analysis::{ChurnOptions, CodeAnalysis};
use super::{DIALECT, json_text, reply};
use crate::progress::run_reporting;

/// How many files a summary lists if the caller does not say.
const SUMMARY_FILES: usize = 50;

/// Reads the history with git, and source files too if it is to rank hotspots.
pub(crate) struct Churn(pub(crate) CodeAnalysis);

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    /// Directory in a git repository, relative to the workspace.
    project_path: String,
    /// Days to look back.
    #[serde(default = "crate::defaults::number::<u32, 30>")]
    #[schemars(range(min = 1, max = 36_500))]
    period_days: u32,
    /// Format of the text.
    #[serde(default)]
    format: Format,
    /// Rank source files by churn times complexity instead.
    #[serde(default)]
    hotspots: bool,
    /// Maximum number of files. Default: 50 for summary, otherwise all.
    #[schemars(range(min = 1, max = 1_000_000))]
    limit: Option<usize>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Format {
    #[default]
    Summary,
    Json,
    Markdown,
    Csv,
}

impl Tool for Churn {
    const SPEC: Spec = Spec {
        title: "Analyse code churn",
        description: "Ranks files by how often and how much they changed, from git history: commits, authors, added and \
                      deleted lines. With hotspots, by churn times complexity: what to refactor first. Renamed files keep \
                      their history.",
        pace: Pace::Long,
        tags: &["code"],
        spellings: &[Spelling { dialect: DIALECT, name: "analyze_code_churn" }],
        ..Spec::new("code", "churn", Effect::Reads)
    };
    type Args = Args;
    type Output = Reply;

    async fn call(&self, args: Args, context: &Context) -> Result<Reply> {
        let options = ChurnOptions { path: args.project_path, days: args.period_days };
        let now = context.clock.now();
        let analysis = &self.0;
        // A list for reading is short; one for a program or a spreadsheet is whole.
        let most = args.limit.or_else(|| (args.format == Format::Summary).then_some(SUMMARY_FILES));
        if args.hotspots {
            let most = most.unwrap_or(usize::MAX);
            let work = async |progress| analysis.hotspots(&options, most, now, &progress).await;
            let report = run_reporting(context, "commits and entries", work).await?;
            let text = hotspots_as_text(&report, args.format)?;
            return reply(&report, text);
        }
        let work = async |progress| analysis.churn(&options, now, &progress).await;
        let mut report = run_reporting(context, "commits", work).await?;
        if let Some(most) = most {
            report.truncate(most);
        }
        let text = as_text(&report, args.format)?;
        reply(&report, text)
    }
}

/// The hotspots in the format that the caller has chosen.
fn hotspots_as_text(report: &HotspotReport, format: Format) -> Result<String> {
    Ok(match format {
        Format::Summary => hotspots_to_text(report),
        Format::Json => json_text(report)?,
        Format::Markdown => hotspots_to_markdown(report),
        Format::Csv => hotspots_to_csv(report),
    })
}

/// The churn in the format that the caller has chosen.
fn as_text(report: &ChurnReport, format: Format) -> Result<String> {
    Ok(match format {
        Format::Summary => to_summary(report),
        Format::Json => json_text(report)?,
        Format::Markdown => to_markdown(report),
        Format::Csv => to_csv(report),
    })
}
