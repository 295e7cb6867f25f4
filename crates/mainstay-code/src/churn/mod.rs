//! Churn: how often and by how much each file of a repository has changed in a period, from the output of `git log
//! --numstat`.
//!
//! Starts nothing and reads nothing: [`log_arguments`] says how to run git, [`LogParser`] takes its output piece by
//! piece, and [`ChurnReport`] is what came of it. All figures are git's own, added up. Merge commits count as commits
//! and, as in git, change no lines. The history of a renamed file counts for its current name.

mod arguments;
mod formats;
mod history;
mod parser;
mod report;

pub use arguments::{Layout, blob_arguments, log_arguments, tree_arguments};
pub(crate) use formats::{csv_field, markdown_cell};
pub use formats::{to_csv, to_markdown, to_summary};
pub use history::{History, TooManyFiles};
pub use parser::{LogParser, ParseError};
pub use report::{ChurnReport, ChurnSummary, FileChurn, Period};
