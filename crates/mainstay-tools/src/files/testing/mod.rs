//! Helpers of this family's tests.

pub(crate) mod calls;
pub(crate) mod workspace;
