//! `mainstay analyze complexity`.

use std::process::ExitCode;

use mainstay_code::report::{ComplexityOptions, ComplexityReport, Measurement, Severity, Thresholds};
use mainstay_tools::code::{ComplexityFormat, ComplexityRequest, NamedProject, SourceOptions};

use super::output::{Text, deliver};
use super::table::{Align, Table, write_unmeasured};
use super::{OVER, Result, nothing_measured, open, print_error};
use crate::Config;
use crate::cli::analyze::{ComplexityArgs, ComplexityOutput, FailOver, USUAL_ROWS};
use crate::commands::progress::with_progress;
use crate::wiring::VERSION;

/// The most functions over the limit that are named on standard error.
const MAX_NAMED: usize = 50;

pub(super) fn run(config: &Config, args: &ComplexityArgs) -> Result<ExitCode> {
    let NamedProject { analysis, path, .. } = open(config, &args.path)?;
    let sources = SourceOptions { path, toolchain: args.toolchain.clone() };
    let measurement = with_progress("Measuring", "entries", |progress| analysis.measure(&sources, progress))?;
    let limits = Limits::new(&args.fail_over);
    let is_table = args.format == ComplexityOutput::Table;
    let request = ComplexityRequest {
        format: format(args.format),
        max_cyclomatic: args.max_cyclomatic.or(limits.cyclomatic),
        max_cognitive: args.max_cognitive.or(limits.cognitive),
        top_files: args.top.or(is_table.then_some(USUAL_ROWS)),
    };
    let report = request.report(&measurement, &sources);
    // Of a run without figures only a report that says so itself is printed.
    if report.measured || matches!(args.format, ComplexityOutput::Json | ComplexityOutput::Sarif) {
        let text = if is_table {
            Text::Plain(table(&report, &measurement, &request.thresholds(), args.top.unwrap_or(USUAL_ROWS)))
        } else {
            let text = request.text(&report, &measurement, VERSION)?;
            let is_json = matches!(args.format, ComplexityOutput::Json | ComplexityOutput::Sarif);
            if is_json { Text::Json(text) } else { Text::Plain(text) }
        };
        deliver(&args.output, text)?;
    }
    if let Some(reason) = &report.reason {
        return Ok(nothing_measured(&args.path, reason));
    }
    let holds = limits.hold(&measurement);
    // The process ends now. Freeing each of thousands of functions before would take as long as measuring some files.
    std::mem::forget((measurement, analysis));
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::from(OVER) })
}

/// The table is made from the whole report, as JSON is.
fn format(output: ComplexityOutput) -> ComplexityFormat {
    match output {
        ComplexityOutput::Table | ComplexityOutput::Json => ComplexityFormat::Json,
        ComplexityOutput::Summary => ComplexityFormat::Summary,
        ComplexityOutput::Full => ComplexityFormat::Full,
        ComplexityOutput::Sarif => ComplexityFormat::Sarif,
    }
}

/// What `--fail-over` allows. Of a figure that is given twice, the smaller one counts.
#[derive(Default)]
struct Limits {
    cyclomatic: Option<u32>,
    cognitive: Option<u32>,
}

impl Limits {
    fn new(given: &[FailOver]) -> Self {
        let mut limits = Self::default();
        for limit in given {
            let (figure, most) = match *limit {
                FailOver::Cyclomatic(most) => (&mut limits.cyclomatic, most),
                FailOver::Cognitive(most) => (&mut limits.cognitive, most),
            };
            *figure = Some(figure.map_or(most, |before| before.min(most)));
        }
        limits
    }

    /// Whether no function is over. Those that are, are named with their values on standard error, whatever the format: a
    /// failed job has to say why.
    fn hold(&self, measurement: &Measurement) -> bool {
        if self.cyclomatic.is_none() && self.cognitive.is_none() {
            return true;
        }
        let unlimited = |limit: Option<u32>| Some(limit.unwrap_or(u32::MAX));
        let thresholds = Thresholds::with_maxima(unlimited(self.cyclomatic), unlimited(self.cognitive));
        let options = ComplexityOptions { thresholds, ..ComplexityOptions::default() };
        let report = ComplexityReport::new(measurement, &options);
        let over = report.violations.iter().filter(|violation| violation.severity == Severity::Error);
        for violation in over.take(MAX_NAMED) {
            print_error(&format!("{}:{}: {}", violation.file, violation.line, violation.message));
        }
        let errors = report.summary.errors;
        if errors > MAX_NAMED {
            print_error(&format!("and {} more", errors - MAX_NAMED));
        }
        errors == 0
    }
}

/// Totals, the functions over a threshold and the most complex files, at most `rows` of each.
fn table(report: &ComplexityReport, measurement: &Measurement, thresholds: &Thresholds, rows: usize) -> String {
    let summary = &report.summary;
    let mut text = format!(
        "{} functions in {} files: {} errors, {} warnings, technical debt {} h\n\n",
        summary.total_functions, summary.total_files, summary.errors, summary.warnings, summary.technical_debt_hours
    );
    let mut figures = Table::new(&[
        ("", Align::Left),
        ("average", Align::Right),
        ("p90", Align::Right),
        ("warning over", Align::Right),
        ("error over", Align::Right),
    ]);
    for (name, average, p90, limit) in [
        ("cyclomatic", summary.avg_cyclomatic, summary.p90_cyclomatic, thresholds.cyclomatic),
        ("cognitive", summary.avg_cognitive, summary.p90_cognitive, thresholds.cognitive),
    ] {
        let (warning, error) = (limit.warning.to_string(), limit.error.to_string());
        figures.row([name.to_owned(), format!("{average:.2}"), p90.to_string(), warning, error]);
    }
    text.push_str(&figures.to_string());
    text.push_str(&functions(report, measurement, rows));
    text.push_str(&files(report));
    write_unmeasured(&mut text, &summary.unmeasured);
    text
}

/// One row for each function over a threshold, even if it is over both.
fn functions(report: &ComplexityReport, measurement: &Measurement, rows: usize) -> String {
    let mut over: Vec<(Severity, (&str, u32, &str))> = Vec::new();
    for violation in &report.violations {
        let place = (violation.file.as_str(), violation.line, violation.function.as_str());
        if !over.iter().any(|(_, known)| *known == place) {
            over.push((violation.severity, place));
        }
        // The rows that are wanted, and one to know that there are more.
        if over.len() > rows {
            break;
        }
    }
    if over.is_empty() {
        return "\nNo function is over a threshold.\n".to_owned();
    }
    let has_more = over.len() > rows || report.violations_omitted > 0;
    let mut table = Table::new(&[
        ("severity", Align::Left),
        ("cyclomatic", Align::Right),
        ("cognitive", Align::Right),
        ("lines", Align::Right),
        ("function", Align::Left),
        ("place", Align::Left),
    ]);
    for (severity, place) in over.into_iter().take(rows) {
        let mut all = measurement.functions();
        let found = all
            .find(|(file, function)| (file.path.as_str(), function.span.start_line, function.name.as_str()) == place);
        let Some((file, function)) = found else { continue };
        table.row([
            severity.name().to_owned(),
            function.cyclomatic.to_string(),
            function.cognitive.to_string(),
            function.lines.code.to_string(),
            function.name.clone(),
            format!("{}:{}", file.path, function.span.start_line),
        ]);
    }
    let more = if has_more { "[more functions are over a threshold: raise --top]\n" } else { "" };
    format!("\nFunctions over a threshold\n{table}{more}")
}

fn files(report: &ComplexityReport) -> String {
    let Some(top) = &report.top_files else { return String::new() };
    let mut table = Table::new(&[
        ("score", Align::Right),
        ("functions", Align::Right),
        ("max cyclomatic", Align::Right),
        ("avg cognitive", Align::Right),
        ("file", Align::Left),
    ]);
    for ranking in &top.rankings {
        table.row([
            format!("{:.2}", ranking.total_score),
            ranking.function_count.to_string(),
            ranking.max_cyclomatic.to_string(),
            format!("{:.2}", ranking.avg_cognitive),
            ranking.file.clone(),
        ]);
    }
    format!("\nMost complex files\n{table}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_limits_the_smaller_one_counts() {
        let limits = Limits::new(&[FailOver::Cyclomatic(9), FailOver::Cyclomatic(5), FailOver::Cyclomatic(7)]);
        assert_eq!((limits.cyclomatic, limits.cognitive), (Some(5), None));
    }

    #[test]
    fn without_a_limit_nothing_is_over() {
        assert!(Limits::new(&[]).hold(&Measurement::default()));
    }
}
