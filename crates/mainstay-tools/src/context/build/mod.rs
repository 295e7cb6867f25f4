//! Building a cache: which files become documents (`sources.rs`), what their files are called (`file_names.rs`), and
//! writing them (`plan.rs`).

mod file_names;
mod plan;
pub(crate) mod sources;

pub use plan::{Built, Plan};
