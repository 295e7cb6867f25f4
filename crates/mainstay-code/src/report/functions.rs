//! Functions by name and figures: which are the longest, the most complex, the least maintainable.

use serde::Serialize;

use super::measurement::{Measurement, Unmeasured};
use crate::FunctionMetrics;

/// The most files, and functions, without figures in a list.
const MAX_UNMEASURED: usize = 50;

/// Which functions to list, and in which order. A minimum of 0 selects all.
#[derive(Debug, Clone, Default)]
pub struct FunctionQuery {
    /// A part of the qualified name, compared without case.
    pub name: Option<String>,
    pub min_cyclomatic: u32,
    pub min_cognitive: u32,
    pub min_lines: u32,
    pub order: FunctionOrder,
    /// The most functions to list.
    pub limit: usize,
}

/// What functions are sorted by, the highest figure first unless said otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FunctionOrder {
    #[default]
    Cognitive,
    Cyclomatic,
    Nesting,
    Lines,
    Parameters,
    /// The least maintainable first.
    Maintainability,
    /// By path and line.
    Place,
}

/// The functions that a query selects.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FunctionList {
    /// False if there was nothing to measure: `reason` says why.
    pub measured: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How many functions the query selects, and how many there are in all.
    pub matched: usize,
    pub total_functions: usize,
    pub functions: Vec<FunctionRow>,
    /// What the query could not look at; at most 50 of each kind.
    #[serde(flatten)]
    pub unmeasured: Unmeasured,
}

/// One function with its figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FunctionRow {
    pub file: String,
    pub line: u32,
    pub end_line: u32,
    pub function: String,
    pub cyclomatic: u32,
    pub cognitive: u32,
    pub nesting: u32,
    pub parameters: u32,
    /// Lines with code in them.
    pub code_lines: u32,
    pub maintainability: f64,
}

impl FunctionList {
    pub fn new(measurement: &Measurement, query: &FunctionQuery, sought: &str) -> Self {
        let name = query.name.as_ref().map(|name| name.to_lowercase());
        let selects = |function: &FunctionMetrics| {
            function.cyclomatic >= query.min_cyclomatic
                && function.cognitive >= query.min_cognitive
                && function.lines.code >= query.min_lines
                && name.as_ref().is_none_or(|name| function.name.to_lowercase().contains(name))
        };
        let mut found: Vec<_> = measurement.functions().filter(|(_, function)| selects(function)).collect();
        let matched = found.len();
        // Stable, and files are in the order of their paths: equal figures stay in that order.
        found.sort_by(|(_, a), (_, b)| query.order.compare(a, b));
        found.truncate(query.limit);
        let reason = measurement.nothing_measured(sought);
        let functions = found.into_iter().map(|(file, function)| row(&file.path, function)).collect();
        let total_functions = measurement.functions().count();
        let unmeasured = measurement.unmeasured(|_| true, Some(MAX_UNMEASURED));
        Self { measured: reason.is_none(), reason, matched, total_functions, functions, unmeasured }
    }
}

impl FunctionOrder {
    fn compare(self, a: &FunctionMetrics, b: &FunctionMetrics) -> std::cmp::Ordering {
        match self {
            Self::Cognitive => b.cognitive.cmp(&a.cognitive),
            Self::Cyclomatic => b.cyclomatic.cmp(&a.cyclomatic),
            Self::Nesting => b.nesting.cmp(&a.nesting),
            Self::Lines => b.lines.code.cmp(&a.lines.code),
            Self::Parameters => b.parameters.cmp(&a.parameters),
            Self::Maintainability => a.maintainability.total_cmp(&b.maintainability),
            Self::Place => std::cmp::Ordering::Equal,
        }
    }
}

fn row(file: &str, function: &FunctionMetrics) -> FunctionRow {
    FunctionRow {
        file: file.to_owned(),
        line: function.span.start_line,
        end_line: function.span.end_line,
        function: function.name.clone(),
        cyclomatic: function.cyclomatic,
        cognitive: function.cognitive,
        nesting: function.nesting,
        parameters: function.parameters,
        code_lines: function.lines.code,
        maintainability: function.maintainability,
    }
}
