//! Source code: its language, its functions and other definitions, what they measure, and where code is duplicated.
//!
//! Everything here works on names and bytes that are handed to it. It opens no files and starts no processes, and it reports
//! what it cannot parse instead of giving it a figure.
//!
//! - [`Language`]: which language a file is in
//! - [`analyze`]: the functions of a file with cyclomatic and cognitive complexity, lines, Halstead and maintainability
//! - [`symbols`]: its definitions
//! - [`outline`]: its definitions with their comments and what lies between them, for a search index
//! - [`MetricsCache`]: the figures of files that did not change
//! - [`Duplicates`]: code that occurs more than once in many files
//! - [`churn`]: how files have changed, from what git prints
//! - [`report`]: reports on many files, and their formats
//!
//! Each language is a table of node kinds (`languages/`) over its tree-sitter grammar; there is one analyser for all.
//! `docs/code-metrics.md` defines the figures.

mod cache;
pub mod churn;
mod definition;
mod duplicates;
mod languages;
mod metrics;
mod naming;
mod outline;
mod parse;
pub mod report;
mod symbols;
mod token_hash;

pub use cache::{CacheKey, MetricsCache, Outcome};
pub use definition::{FunctionKind, SymbolKind};
pub use duplicates::{CloneGroup, Duplicates, DuplicatesOptions, Place};
pub use languages::Language;
pub use metrics::{ANALYZER_VERSION, FileMetrics, FunctionMetrics, Halstead, Lines, SkippedFunction, Span, analyze};
pub use outline::{Item, ItemKind, NO_CUT, Outline, Reference, outline};
pub use parse::{MAX_SOURCE_BYTES, NotMeasured};
pub use symbols::{Symbol, symbols};
