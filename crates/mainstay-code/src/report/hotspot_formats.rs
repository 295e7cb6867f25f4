//! A hotspot report as text, Markdown and CSV, with the rules of the churn formats for odd names.

use std::fmt::Write as _;

use super::hotspots::HotspotReport;
use super::text::{one_line, write_unmeasured};
use crate::churn::{csv_field, markdown_cell};

/// For reading: one line for each hotspot.
pub fn hotspots_to_text(report: &HotspotReport) -> String {
    let mut text = headline(report);
    if !report.hotspots.is_empty() {
        text.push_str("score churn commits complexity max_cyclomatic file:line worst_function\n");
    }
    for hotspot in &report.hotspots {
        let _ = writeln!(
            text,
            "{:.2} {:.2} {} {} {} {}:{} {}",
            hotspot.hotspot_score,
            hotspot.churn_score,
            hotspot.commit_count,
            hotspot.complexity_score,
            hotspot.max_cyclomatic,
            one_line(&hotspot.path),
            hotspot.worst_line,
            hotspot.worst_function
        );
    }
    if report.omitted > 0 {
        let _ = writeln!(text, "[{} more files: raise limit]", report.omitted);
    }
    write_unmeasured(&mut text, &report.unmeasured);
    text
}

/// Markdown: a headline and a table.
pub fn hotspots_to_markdown(report: &HotspotReport) -> String {
    let mut text = format!("# Hotspots\n\n{}", headline(report));
    if !report.hotspots.is_empty() {
        text.push_str("\n| Score | Churn | Commits | Complexity | File | Most complex function |\n");
        text.push_str("|---:|---:|---:|---:|---|---|\n");
    }
    for hotspot in &report.hotspots {
        let _ = writeln!(
            text,
            "| {:.2} | {:.2} | {} | {} | {} | {} (line {}) |",
            hotspot.hotspot_score,
            hotspot.churn_score,
            hotspot.commit_count,
            hotspot.complexity_score,
            markdown_cell(&hotspot.path),
            markdown_cell(&hotspot.worst_function),
            hotspot.worst_line
        );
    }
    let unmeasured = &report.unmeasured;
    let files = unmeasured.files_failed.iter().map(|failed| (&failed.file, failed.reason.clone()));
    let functions = unmeasured.functions_skipped.iter();
    let functions = functions
        .map(|skipped| (&skipped.file, format!("line {}: {} has a syntax error.", skipped.line, skipped.function)));
    for (at, (file, reason)) in files.chain(functions).enumerate() {
        let head = if at == 0 { "\n## Not measured\n\n" } else { "" };
        let _ = writeln!(text, "{head}- {}: {}", markdown_cell(file), markdown_cell(&reason));
    }
    text
}

/// CSV as in RFC 4180: a header, then one record for each hotspot.
pub fn hotspots_to_csv(report: &HotspotReport) -> String {
    let mut text = "path,hotspot_score,churn_score,commit_count,complexity_score,max_cyclomatic,function_count,\
                    worst_function,worst_line\r\n"
        .to_owned();
    for hotspot in &report.hotspots {
        let _ = write!(
            text,
            "{},{},{:.4},{},{},{},{},{},{}\r\n",
            csv_field(&hotspot.path),
            hotspot.hotspot_score,
            hotspot.churn_score,
            hotspot.commit_count,
            hotspot.complexity_score,
            hotspot.max_cyclomatic,
            hotspot.function_count,
            csv_field(&hotspot.worst_function),
            hotspot.worst_line
        );
    }
    text
}

/// What was ranked, or why nothing was.
fn headline(report: &HotspotReport) -> String {
    let HotspotReport { repository_root, period_days, total_commits, reason, .. } = report;
    match reason {
        Some(reason) => format!("Nothing was measured in {repository_root}: {reason}\n"),
        None => format!("Hotspots of {repository_root} in {period_days} days, {total_commits} commits.\n"),
    }
}
