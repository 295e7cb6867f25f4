//! Building a cache: which files become documents (`sources.rs`), what their files are called, and writing them beside
//! the target before they take its place (`plan.rs`).

mod plan;
mod sources;

pub use plan::{BuildReport, Plan};
