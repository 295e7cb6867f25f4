//! Reports on the metrics of many files: violations of thresholds, rankings, functions, hotspots, and their formats.
//!
//! Pure functions of what was measured, so that every tool and the command line tell the same figures. What was not
//! measured is in the report by name, and a report without figures says so: it is never a pass.

mod complexity;
mod duplicates;
mod functions;
mod hotspot_formats;
mod hotspots;
mod html;
mod measurement;
mod ranking;
mod sarif;
#[cfg(test)]
mod tests;
mod text;
mod thresholds;

pub use complexity::{ComplexityOptions, ComplexityReport, ComplexitySummary, TopFiles, Violation};
pub use duplicates::{DuplicateGroup, DuplicatePlace, DuplicateReport};
pub use functions::{FunctionList, FunctionOrder, FunctionQuery, FunctionRow};
pub use hotspot_formats::{hotspots_to_csv, hotspots_to_markdown, hotspots_to_text};
pub use hotspots::{Hotspot, HotspotReport};
pub use html::hotspots_to_html;
pub use measurement::{FailedFile, MeasuredFile, Measurement, Unmeasured, UnmeasuredFunction};
pub use ranking::{Ranking, rank, total_score};
pub use sarif::to_sarif;
pub use text::{to_duplicates_text, to_full_text, to_functions_text, to_summary_text};
pub use thresholds::{Limit, Rule, Severity, Thresholds};
