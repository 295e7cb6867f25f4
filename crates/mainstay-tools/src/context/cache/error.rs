//! The six failures of contract 002, under the name the context tools use.

use mainstay_core::{Error, Kind};

pub use mainstay_core::CacheFailure as Failure;

/// Whether something is missing or of the wrong kind, as opposed to a system that does not let us read it.
pub(crate) fn is_absent(error: &Error) -> bool {
    matches!(error.kind, Kind::NotFound | Kind::Invalid)
}
