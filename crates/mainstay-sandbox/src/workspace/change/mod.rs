//! Changes of one or several files: all of a change is applied, or none of it.

mod commit;
mod lock;
mod recovery;
mod staged_file;

pub use commit::{Expect, Step, StepResult};
pub use recovery::Staging;
pub use staged_file::Content;
