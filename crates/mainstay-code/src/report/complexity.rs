//! The complexity report: totals, violations of thresholds, and the files that deserve attention first.

use serde::Serialize;

use super::measurement::{Measurement, Unmeasured};
use super::ranking::{Ranking, average, rank, round};
use super::thresholds::{Rule, Severity, Thresholds};

/// The most violations in one report. They are sorted, so the ones that are left out are the mildest.
const MAX_VIOLATIONS: usize = 10_000;

/// What a report contains.
#[derive(Debug, Clone, Default)]
pub struct ComplexityOptions {
    pub thresholds: Thresholds,
    /// How many files to rank; `None` for no ranking.
    pub top_files: Option<usize>,
    /// The most violations to list; `None` for all.
    pub violations: Option<usize>,
    /// The most failed files, and functions without figures, to list; `None` for all.
    pub failed: Option<usize>,
    /// What was measured, in words for the reason why there is nothing: `rust files in src`.
    pub sought: String,
}

/// How complex the functions of many files are.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComplexityReport {
    /// False if there was nothing to measure: `reason` says why. Such a report is not a pass.
    pub measured: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub summary: ComplexitySummary,
    /// The most severe first, then those furthest over their threshold.
    pub violations: Vec<Violation>,
    /// Violations that are not in the list.
    #[serde(skip_serializing_if = "is_zero")]
    pub violations_omitted: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_files: Option<TopFiles>,
}

/// Totals of all functions.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ComplexitySummary {
    pub total_files: usize,
    pub total_functions: usize,
    pub avg_cyclomatic: f64,
    pub avg_cognitive: f64,
    pub p90_cyclomatic: u32,
    pub p90_cognitive: u32,
    /// 30 minutes for each point over an error threshold, 15 for each over a warning threshold.
    pub technical_debt_hours: f64,
    pub errors: usize,
    pub warnings: usize,
    #[serde(flatten)]
    pub unmeasured: Unmeasured,
}

/// A function over a threshold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    pub severity: Severity,
    pub rule: Rule,
    pub message: String,
    pub value: u32,
    /// The threshold that the value is over.
    pub threshold: u32,
    pub file: String,
    pub line: u32,
    pub function: String,
    /// Where the function ends; for formats that mark a region.
    #[serde(skip)]
    pub end_line: u32,
}

/// The first files of the ranking.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TopFiles {
    pub requested: usize,
    pub returned: usize,
    pub rankings: Vec<Ranking>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl ComplexityReport {
    pub fn new(measurement: &Measurement, options: &ComplexityOptions) -> Self {
        let mut violations = violations(measurement, &options.thresholds);
        let unmeasured = measurement.unmeasured(|_| true, options.failed);
        let summary = ComplexitySummary { unmeasured, ..summary(measurement, &violations) };
        let all = violations.len();
        violations.truncate(options.violations.unwrap_or(MAX_VIOLATIONS).min(MAX_VIOLATIONS));
        let reason = measurement.nothing_measured(&options.sought);
        let top_files = options.top_files.map(|requested| {
            let mut rankings = rank(measurement);
            rankings.truncate(requested);
            TopFiles { requested, returned: rankings.len(), rankings }
        });
        Self {
            measured: reason.is_none(),
            reason,
            summary,
            violations_omitted: all - violations.len(),
            violations,
            top_files,
        }
    }

    /// Whether the code is accepted: something was measured, and nothing is over an error threshold.
    pub fn passes(&self) -> bool {
        self.measured && self.summary.errors == 0
    }
}

fn violations(measurement: &Measurement, thresholds: &Thresholds) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (file, function) in measurement.functions() {
        for rule in Rule::ALL {
            let Some((severity, value, threshold)) = thresholds.judge(rule, function) else { continue };
            let words = rule.words();
            violations.push(Violation {
                severity,
                rule,
                message: format!("{} has a {words} of {value}; the threshold is {threshold}.", function.name),
                value,
                threshold,
                file: file.path.clone(),
                line: function.span.start_line,
                function: function.name.clone(),
                end_line: function.span.end_line,
            });
        }
    }
    // Stable: what is equal stays in the order of files, lines and rules.
    violations.sort_by_key(|violation| std::cmp::Reverse((violation.severity, violation.value - violation.threshold)));
    violations
}

fn summary(measurement: &Measurement, violations: &[Violation]) -> ComplexitySummary {
    let figures = |rule: Rule| measurement.functions().map(move |(_, function)| rule.value(function));
    let minutes: u64 = violations
        .iter()
        .map(|violation| violation.severity.minutes_per_point() * u64::from(violation.value - violation.threshold))
        .sum();
    let count = |severity| violations.iter().filter(|violation| violation.severity == severity).count();
    ComplexitySummary {
        total_files: measurement.files.len(),
        total_functions: measurement.functions().count(),
        avg_cyclomatic: round(average(figures(Rule::Cyclomatic))),
        avg_cognitive: round(average(figures(Rule::Cognitive))),
        p90_cyclomatic: ninetieth_percentile(figures(Rule::Cyclomatic)),
        p90_cognitive: ninetieth_percentile(figures(Rule::Cognitive)),
        technical_debt_hours: hours(minutes),
        errors: count(Severity::Error),
        warnings: count(Severity::Warning),
        unmeasured: Unmeasured::default(),
    }
}

/// The smallest figure that nine of ten figures do not exceed (nearest rank); 0 if there are none.
fn ninetieth_percentile(figures: impl Iterator<Item = u32>) -> u32 {
    let mut figures: Vec<u32> = figures.collect();
    match (figures.len() * 9).div_ceil(10) {
        0 => 0,
        rank => *figures.select_nth_unstable(rank - 1).1,
    }
}

#[expect(clippy::cast_precision_loss, reason = "minutes of work are far below 2^53")]
fn hours(minutes: u64) -> f64 {
    round(minutes as f64 / 60.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_percentile_is_a_figure_that_occurs() {
        assert_eq!(ninetieth_percentile([].into_iter()), 0);
        assert_eq!(ninetieth_percentile([7].into_iter()), 7);
        assert_eq!(ninetieth_percentile((1..=10).rev()), 9);
        assert_eq!(ninetieth_percentile(1..=11), 10);
    }
}
