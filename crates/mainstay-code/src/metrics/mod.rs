//! What is measured of a file and of each function in it.
//!
//! `docs/code-metrics.md` defines every figure, language by language.

mod functions;
mod halstead;
mod lines;
mod nodes;
mod python;
mod rust;
mod walk;

use std::cell::Cell;

use serde::{Deserialize, Serialize};

use crate::definition::{Errors, FunctionKind};
use crate::languages::Language;
use crate::parse::{self, NotMeasured};

use functions::Functions;
use halstead::{Position, Tokens};
use lines::LineKinds;

pub use halstead::Halstead;
pub use lines::Lines;

/// Changes whenever a figure of any language may change, so that no cache keeps the old ones.
pub const ANALYZER_VERSION: u32 = 1;

/// Where something is in its file. Lines count from 1 and both are part of it; bytes are a half-open range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    pub start_line: u32,
    pub end_line: u32,
    pub start_byte: u32,
    pub end_byte: u32,
}

/// The figures of one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileMetrics {
    pub language: Language,
    /// In the order of their first lines.
    pub functions: Vec<FunctionMetrics>,
    /// Functions that have no figures because of a syntax error in them. Only languages with a preprocessor have any; in
    /// others an error leaves the whole file without figures.
    pub skipped: Vec<SkippedFunction>,
    pub lines: Lines,
    pub halstead: Halstead,
    pub maintainability: f64,
}

/// A function that could not be parsed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedFunction {
    pub name: String,
    pub line: u32,
}

/// The figures of one function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionMetrics {
    /// With the names of the types and functions around it: `Type::method`, `Class.method`, `outer.inner`.
    pub name: String,
    pub kind: FunctionKind,
    pub span: Span,
    pub cyclomatic: u32,
    pub cognitive: u32,
    /// The deepest level of nested control flow.
    pub nesting: u32,
    pub parameters: u32,
    pub lines: Lines,
    pub halstead: Halstead,
    pub maintainability: f64,
}

/// Something that a reader without a syntax tree leaves to the grammar.
#[derive(Debug)]
struct Unusual;

/// Measures one file. `wanted` is asked often whether the result is still of use; once it is not, the analysis ends.
///
/// A file that cannot be read as C and can be as C++, as many headers, is measured as C++.
pub fn analyze(language: Language, source: &[u8], wanted: &dyn Fn() -> bool) -> Result<FileMetrics, NotMeasured> {
    let outcome = analyze_as(language, source, wanted);
    match outcome {
        Err(NotMeasured::Syntax { .. }) if language == Language::C => {
            analyze_as(Language::Cpp, source, wanted).or(outcome)
        }
        _ => outcome,
    }
}

fn analyze_as(language: Language, source: &[u8], wanted: &dyn Fn() -> bool) -> Result<FileMetrics, NotMeasured> {
    // A reader that was stopped leaves the file to the grammar, which then must not begin.
    let stopped = Cell::new(false);
    let wanted = || {
        stopped.set(stopped.get() || !wanted());
        !stopped.get()
    };
    let reader = if language == Language::Python {
        python::measure
    } else if language == Language::Rust {
        rust::measure
    } else {
        return analyze_with_grammar(language, source, &wanted);
    };
    reader(source, &wanted).map_or_else(|| analyze_with_grammar(language, source, &wanted), Ok)
}

fn analyze_with_grammar(
    language: Language,
    source: &[u8],
    wanted: &dyn Fn() -> bool,
) -> Result<FileMetrics, NotMeasured> {
    let compiled = language.compiled();
    let tree = parse::parse(compiled, source, wanted)?;
    let Some(line) = parse::first_error(&tree) else {
        return walk::measure(language, compiled, &tree, source, wanted);
    };
    if compiled.definition.errors == Errors::Refuse {
        return Err(NotMeasured::Syntax { line });
    }
    let metrics = walk::measure(language, compiled, &tree, source, wanted)?;
    // With most of it unreadable, what looks like functions may be none.
    let is_readable = metrics.functions.len() > metrics.skipped.len();
    if is_readable { Ok(metrics) } else { Err(NotMeasured::Syntax { line }) }
}

/// The figures of a file whose end was reached.
fn finish(language: Language, functions: Functions<'_>, tokens: &Tokens, lines: &LineKinds) -> FileMetrics {
    let lines = lines.count_all();
    let halstead = tokens.since(Position::default());
    let maintainability = maintainability(&halstead, 1 + functions.decisions, &lines);
    let (mut functions, skipped) = (functions.done, functions.skipped);
    functions.sort_by_key(|function| function.span.start_byte);
    FileMetrics { language, functions, skipped, lines, halstead, maintainability }
}

/// The maintainability index on the scale from 0 to 100: the classic formula (Oman and Hagemeister), divided by its
/// largest value.
fn maintainability(halstead: &Halstead, cyclomatic: u32, lines: &Lines) -> f64 {
    // A logarithm of less than one line or one bit would be negative.
    let volume = halstead.volume.max(1.0).ln();
    let code = f64::from(lines.code.max(1)).ln();
    let index = 171.0 - 5.2 * volume - 0.23 * f64::from(cyclomatic) - 16.2 * code;
    round((index * 100.0 / 171.0).clamp(0.0, 100.0))
}

/// Two digits: more would only say that two machines round logarithms differently.
fn round(figure: f64) -> f64 {
    (figure * 100.0).round() / 100.0
}
