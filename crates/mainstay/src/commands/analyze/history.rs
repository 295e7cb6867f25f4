//! `mainstay analyze churn` and `mainstay analyze hotspots`.

use std::process::ExitCode;

use mainstay_code::churn::ChurnReport;
use mainstay_code::report::{HotspotReport, hotspots_to_html};
use mainstay_core::{Clock as _, SystemClock};
use mainstay_tools::code::{ChurnFormat, ChurnOptions, CodeAnalysis};
use tokio::runtime::Runtime;

use super::output::{Text, deliver};
use super::table::{Align, Table, unmeasured_lines, write_unmeasured};
use super::{CommandError, Result, nothing_measured, open, print_error};
use crate::Config;
use crate::cli::analyze::{ChurnArgs, ChurnOutput, HistoryArgs, HotspotsArgs, HotspotsOutput, USUAL_ROWS};
use crate::commands::progress::with_progress;
use crate::wiring::VERSION;

pub(super) fn churn(config: &Config, args: &ChurnArgs) -> Result<ExitCode> {
    let (analysis, options) = open_history(config, &args.history)?;
    let runtime = runtime()?;
    let report = with_progress("Reading the history", "commits", |progress| {
        runtime.block_on(analysis.churn(&options, SystemClock.now(), progress))
    });
    // Does not wait for threads of the sandbox that serve later commands.
    runtime.shutdown_background();
    let mut report = report?;
    let format = churn_format(args.format);
    let usual = if args.format == ChurnOutput::Table { Some(USUAL_ROWS) } else { format.usual_limit() };
    if let Some(most) = args.history.top.or(usual) {
        report.truncate(most);
    }
    if report.measured || args.format == ChurnOutput::Json {
        let text = match args.format {
            ChurnOutput::Table => Text::Plain(churn_table(&report)),
            ChurnOutput::Json => Text::Json(format.churn(&report)?),
            ChurnOutput::Summary | ChurnOutput::Markdown | ChurnOutput::Csv => Text::Plain(format.churn(&report)?),
        };
        deliver(&args.output, text)?;
    }
    Ok(report.reason.map_or(ExitCode::SUCCESS, |reason| nothing_measured(&args.history.path, &reason)))
}

pub(super) fn hotspots(config: &Config, args: &HotspotsArgs) -> Result<ExitCode> {
    let (analysis, options) = open_history(config, &args.history)?;
    let runtime = runtime()?;
    let format = hotspots_format(args.format);
    let usual = if args.format == HotspotsOutput::Table { Some(USUAL_ROWS) } else { format.usual_limit() };
    let most = args.history.top.or(usual).unwrap_or(usize::MAX);
    let report = with_progress("Measuring", "commits and entries", |progress| {
        runtime.block_on(analysis.hotspots(&options, most, SystemClock.now(), progress))
    });
    runtime.shutdown_background();
    let report = report?;
    if report.measured || args.format == HotspotsOutput::Json {
        let text = match args.format {
            HotspotsOutput::Table => Text::Plain(hotspots_table(&report)),
            HotspotsOutput::Json => Text::Json(format.hotspots(&report)?),
            HotspotsOutput::Html => Text::Plain(hotspots_to_html(&report, &title(args), VERSION)),
            HotspotsOutput::Summary | HotspotsOutput::Markdown => Text::Plain(format.hotspots(&report)?),
            HotspotsOutput::Csv => {
                // Records have no place for what has no figures.
                for line in unmeasured_lines(&report.unmeasured) {
                    print_error(&format!("not measured: {line}"));
                }
                Text::Plain(format.hotspots(&report)?)
            }
        };
        deliver(&args.output, text)?;
    }
    Ok(report.reason.map_or(ExitCode::SUCCESS, |reason| nothing_measured(&args.history.path, &reason)))
}

fn open_history(config: &Config, args: &HistoryArgs) -> Result<(CodeAnalysis, ChurnOptions)> {
    let project = open(config, &args.path)?;
    if project.is_file {
        return Err(CommandError(format!("{} is a file; name a directory in a repository", args.path.display())));
    }
    Ok((project.analysis, ChurnOptions { path: project.path, days: args.days }))
}

/// One thread is enough to read what git prints; more would only wake each other.
fn runtime() -> Result<Runtime> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|error| CommandError(format!("the runtime cannot be started: {error}")))
}

/// The name of what was analysed, for the head of a page: the directory's, since `.` would tell nobody anything.
fn title(args: &HotspotsArgs) -> String {
    let path = std::path::absolute(&args.history.path).unwrap_or_else(|_| args.history.path.clone());
    let name = path.components().next_back().map(|name| name.as_os_str().to_string_lossy().into_owned());
    name.unwrap_or_else(|| args.history.path.display().to_string())
}

fn churn_format(output: ChurnOutput) -> ChurnFormat {
    match output {
        ChurnOutput::Table | ChurnOutput::Json => ChurnFormat::Json,
        ChurnOutput::Summary => ChurnFormat::Summary,
        ChurnOutput::Markdown => ChurnFormat::Markdown,
        ChurnOutput::Csv => ChurnFormat::Csv,
    }
}

fn hotspots_format(output: HotspotsOutput) -> ChurnFormat {
    match output {
        HotspotsOutput::Table | HotspotsOutput::Json | HotspotsOutput::Html => ChurnFormat::Json,
        HotspotsOutput::Summary => ChurnFormat::Summary,
        HotspotsOutput::Markdown => ChurnFormat::Markdown,
        HotspotsOutput::Csv => ChurnFormat::Csv,
    }
}

fn churn_table(report: &ChurnReport) -> String {
    let summary = &report.summary;
    let mut table = Table::new(&[
        ("score", Align::Right),
        ("commits", Align::Right),
        ("authors", Align::Right),
        ("added", Align::Right),
        ("deleted", Align::Right),
        ("last change", Align::Left),
        ("file", Align::Left),
    ]);
    for file in &report.files {
        table.row([
            format!("{:.2}", file.churn_score),
            file.commit_count.to_string(),
            file.unique_authors.to_string(),
            file.additions.to_string(),
            file.deletions.to_string(),
            // The day is enough.
            file.last_modified.chars().take(10).collect(),
            file.path.clone(),
        ]);
    }
    format!(
        "{} commits in {} days, {} files changed, +{} -{} lines\n\n{table}{}",
        summary.total_commits,
        report.period_days,
        summary.total_files_changed,
        summary.total_additions,
        summary.total_deletions,
        more(report.files_omitted)
    )
}

fn hotspots_table(report: &HotspotReport) -> String {
    let mut table = Table::new(&[
        ("score", Align::Right),
        ("commits", Align::Right),
        ("churn", Align::Right),
        ("complexity", Align::Right),
        ("max cyclomatic", Align::Right),
        ("lines", Align::Right),
        ("most complex function", Align::Left),
        ("place", Align::Left),
    ]);
    for hotspot in &report.hotspots {
        table.row([
            format!("{:.2}", hotspot.hotspot_score),
            hotspot.commit_count.to_string(),
            format!("{:.2}", hotspot.churn_score),
            format!("{:.2}", hotspot.complexity_score),
            hotspot.max_cyclomatic.to_string(),
            hotspot.code_lines.to_string(),
            hotspot.worst_function.clone(),
            format!("{}:{}", hotspot.path, hotspot.worst_line),
        ]);
    }
    let mut text = format!(
        "{} commits in {} days\n\n{table}{}",
        report.total_commits,
        report.period_days,
        more(report.omitted as u64)
    );
    write_unmeasured(&mut text, &report.unmeasured);
    text
}

fn more(omitted: u64) -> String {
    if omitted == 0 { String::new() } else { format!("[{omitted} more files: raise --top]\n") }
}
