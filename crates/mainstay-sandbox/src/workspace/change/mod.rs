//! Changes of one or several files: all of a change is applied, or none of it.

mod commit;
mod lock;
mod recovery;
mod removal;
mod staged_file;
mod staging;

pub use commit::{Expect, Step, StepResult};
pub use staged_file::Content;
pub use staging::Staging;
