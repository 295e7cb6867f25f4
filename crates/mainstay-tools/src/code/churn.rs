//! `code_churn`: how often and by how much files have changed, from the history that git keeps.

use mainstay_code::churn::{ChurnReport, to_csv, to_markdown, to_summary};
use mainstay_code::report::{HotspotReport, hotspots_to_csv, hotspots_to_markdown, hotspots_to_text};
use mainstay_core::{Context, Effect, Pace, Reply, Result, Spec, Spelling, Tool};

use super::analysis::{ChurnOptions, CodeAnalysis};
use super::{DIALECT, json_text, reply};
use crate::descriptors;
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
    format: ChurnFormat,
    /// Rank source files by churn times complexity instead.
    #[serde(default)]
    hotspots: bool,
    /// Maximum number of files. Default: 50 for summary, otherwise all.
    #[schemars(range(min = 1, max = 1_000_000))]
    limit: Option<usize>,
}

/// The formats of the text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ChurnFormat {
    #[default]
    Summary,
    Json,
    Markdown,
    Csv,
}

impl ChurnFormat {
    /// How many files to list if the caller does not say: a list for reading is short; one for a program or a
    /// spreadsheet is whole.
    pub fn usual_limit(self) -> Option<usize> {
        (self == Self::Summary).then_some(SUMMARY_FILES)
    }

    /// The churn in this format.
    pub fn churn(self, report: &ChurnReport) -> Result<String> {
        Ok(match self {
            Self::Summary => to_summary(report),
            Self::Json => json_text(report)?,
            Self::Markdown => to_markdown(report),
            Self::Csv => to_csv(report),
        })
    }

    /// The hotspots in this format.
    pub fn hotspots(self, report: &HotspotReport) -> Result<String> {
        Ok(match self {
            Self::Summary => hotspots_to_text(report),
            Self::Json => json_text(report)?,
            Self::Markdown => hotspots_to_markdown(report),
            Self::Csv => hotspots_to_csv(report),
        })
    }
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
        // Git is a command, too.
        let _descriptors = descriptors::for_command(&context.caller.principal)?;
        let options = ChurnOptions { path: args.project_path, days: args.period_days };
        let now = context.clock.now();
        let analysis = &self.0;
        let most = args.limit.or_else(|| args.format.usual_limit());
        if args.hotspots {
            let most = most.unwrap_or(usize::MAX);
            let work = async |progress| analysis.hotspots(&options, most, now, &progress).await;
            let report = run_reporting(context, "commits and entries", work).await?;
            let text = args.format.hotspots(&report)?;
            return reply(&report, text);
        }
        let work = async |progress| analysis.churn(&options, now, &progress).await;
        let mut report = run_reporting(context, "commits", work).await?;
        if let Some(most) = most {
            report.truncate(most);
        }
        let text = args.format.churn(&report)?;
        reply(&report, text)
    }
}
