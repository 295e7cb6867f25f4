//! Calls that need a person's approval.

pub(crate) mod approval;
pub(crate) mod page;
pub(crate) mod sign_in;
