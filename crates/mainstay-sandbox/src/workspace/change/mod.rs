//! Changes of one or several files: all of a change is applied, or none of it.

mod commit;
mod content;
mod lock;
mod removal;
mod staged_file;
mod staging;

pub use commit::{Expect, Step, StepResult};
pub use content::Content;
pub use staging::Staging;
