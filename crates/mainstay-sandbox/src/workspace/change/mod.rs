//! Changes of one or several files: all of a change is applied, or none of it.

mod commit;
mod content_writer;
mod lock;
mod prepared_step;
mod recovery;
mod staged_file;
mod step;

pub use recovery::Staging;
pub use staged_file::Content;
pub use step::{Expect, Step, StepResult};
