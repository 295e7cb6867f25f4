//! Building a cache: which files become documents (`sources.rs`), what their files are called (`file_names.rs`), and
//! writing them beside the target before they take its place (`plan.rs`).

mod file_names;
mod plan;
mod sources;

pub use plan::{BuildReport, Plan};
