//! Reports as text for reading: short, one finding in each line, without words that are the same in every report.
//!
//! Columns are separated by spaces and named once. A place is `path:line`, which editors and models both open.

use std::fmt::Write as _;

use super::complexity::ComplexityReport;
use super::duplicates::DuplicateReport;
use super::functions::FunctionList;
use super::measurement::{FailedFile, Measurement, Unmeasured};
use super::ranking::Ranking;

/// The most functions that the full text lists, and the most failed files and skipped functions that any text does.
const MAX_FUNCTIONS: usize = 5000;
const MAX_FAILED: usize = 20;

/// Totals, violations, rankings and failed files.
pub fn to_summary_text(report: &ComplexityReport) -> String {
    let mut text = String::new();
    let summary = &report.summary;
    // Zeros would be read as a result.
    if let Some(reason) = &report.reason {
        let _ = writeln!(text, "Nothing was measured: {reason}");
    } else {
        let _ = writeln!(
            text,
            "{} functions in {} files. Cyclomatic: average {}, p90 {}. Cognitive: average {}, p90 {}. Technical debt: {} \
             h. {} errors, {} warnings.",
            summary.total_functions,
            summary.total_files,
            summary.avg_cyclomatic,
            summary.p90_cyclomatic,
            summary.avg_cognitive,
            summary.p90_cognitive,
            summary.technical_debt_hours,
            summary.errors,
            summary.warnings
        );
    }
    for violation in &report.violations {
        let (severity, rule) = (violation.severity.name(), violation.rule.id());
        let (file, line) = (one_line(&violation.file), violation.line);
        let _ = writeln!(
            text,
            "{file}:{line}: {severity}: {} {rule} {} > {}",
            violation.function, violation.value, violation.threshold
        );
    }
    if report.violations_omitted > 0 {
        let _ = writeln!(text, "[{} milder violations are not listed]", report.violations_omitted);
    }
    if let Some(top) = &report.top_files {
        text.push_str("rank score functions max_cyclomatic avg_cognitive halstead_effort file\n");
        top.rankings.iter().for_each(|ranking| write_ranking(&mut text, ranking));
    }
    write_unmeasured(&mut text, &summary.unmeasured);
    text
}

/// The summary, and the figures of every function by file.
pub fn to_full_text(report: &ComplexityReport, measurement: &Measurement) -> String {
    let mut text = to_summary_text(report);
    // Counted down over all files: the last file may be listed in part.
    let mut left = MAX_FUNCTIONS;
    for file in measurement.files.iter().filter(|file| !file.metrics.functions.is_empty()) {
        if left == 0 {
            break;
        }
        let _ = writeln!(text, "\n{} (cyclomatic, cognitive, nesting, code lines)", one_line(&file.path));
        for function in file.metrics.functions.iter().take(left) {
            let (line, lines) = (function.span.start_line, function.lines.code);
            let _ = writeln!(
                text,
                "  {line}: {} {} {} {} {lines}",
                function.name, function.cyclomatic, function.cognitive, function.nesting
            );
            left -= 1;
        }
    }
    let omitted = measurement.functions().count().saturating_sub(MAX_FUNCTIONS);
    if omitted > 0 {
        let _ = writeln!(text, "\n[{omitted} more functions are not listed: choose a directory]");
    }
    text
}

/// One line for each function.
pub fn to_functions_text(list: &FunctionList) -> String {
    let mut text = match &list.reason {
        Some(reason) => format!("Nothing was measured: {reason}\n"),
        None => format!("{} of {} functions match.\n", list.matched, list.total_functions),
    };
    if !list.functions.is_empty() {
        text.push_str("place function cyclomatic cognitive nesting parameters code_lines maintainability\n");
    }
    for row in &list.functions {
        let _ = writeln!(
            text,
            "{}:{}-{} {} {} {} {} {} {} {}",
            one_line(&row.file),
            row.line,
            row.end_line,
            row.function,
            row.cyclomatic,
            row.cognitive,
            row.nesting,
            row.parameters,
            row.code_lines,
            row.maintainability
        );
    }
    let omitted = list.matched - list.functions.len();
    if omitted > 0 {
        let _ = writeln!(text, "[{omitted} more: raise limit or a minimum]");
    }
    write_unmeasured(&mut text, &list.unmeasured);
    text
}

/// Each group of copies with its places.
pub fn to_duplicates_text(report: &DuplicateReport) -> String {
    if let Some(reason) = &report.reason {
        return format!("Nothing was compared: {reason}\n");
    }
    let mut text = format!(
        "{} groups of copies in {} files; {} lines are copies.\n",
        report.total_groups, report.total_files, report.duplicated_lines
    );
    for group in &report.groups {
        let _ = writeln!(text, "{} lines, {} tokens:", group.lines, group.tokens);
        for place in &group.places {
            let _ = writeln!(text, "  {}:{}-{}", one_line(&place.file), place.start_line, place.end_line);
        }
    }
    let omitted = report.total_groups - report.groups.len();
    if omitted > 0 {
        let _ = writeln!(text, "[{omitted} smaller groups: raise limit]");
    }
    write_failed(&mut text, &report.files_failed, report.files_failed_omitted);
    text
}

/// A line of the ranking, in the order of the column names.
fn write_ranking(text: &mut String, ranking: &Ranking) {
    let _ = writeln!(
        text,
        "{} {} {} {} {} {} {}",
        ranking.rank,
        ranking.total_score,
        ranking.function_count,
        ranking.max_cyclomatic,
        ranking.avg_cognitive,
        ranking.halstead_effort,
        one_line(&ranking.file)
    );
}

/// Names what has no figures.
pub(super) fn write_unmeasured(text: &mut String, unmeasured: &Unmeasured) {
    write_failed(text, &unmeasured.files_failed, unmeasured.files_failed_omitted);
    let functions = &unmeasured.functions_skipped;
    for skipped in functions.iter().take(MAX_FAILED) {
        let (file, line) = (one_line(&skipped.file), skipped.line);
        let _ = writeln!(text, "not measured: {file}:{line}: {} has a syntax error", one_line(&skipped.function));
    }
    let omitted = unmeasured.functions_skipped_omitted + functions.len().saturating_sub(MAX_FAILED);
    if omitted > 0 {
        let _ = writeln!(text, "[{omitted} more functions were not measured]");
    }
}

/// Names files without figures; `omitted` are those that the report itself does not list.
fn write_failed(text: &mut String, failed: &[FailedFile], omitted: usize) {
    for failed in failed.iter().take(MAX_FAILED) {
        let _ = writeln!(text, "not measured: {}: {}", one_line(&failed.file), failed.reason);
    }
    let omitted = omitted + failed.len().saturating_sub(MAX_FAILED);
    if omitted > 0 {
        let _ = writeln!(text, "[{omitted} more files were not measured]");
    }
}

/// A path that does not break its line.
pub(super) fn one_line(path: &str) -> std::borrow::Cow<'_, str> {
    if path.chars().any(char::is_control) { path.escape_debug().to_string().into() } else { path.into() }
}
