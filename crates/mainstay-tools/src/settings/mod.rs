//! The configuration sections of the tool families. They are beside the families, because the program reads them before
//! it builds any family, and [`crate::setup`] hands them to all of them.

pub(crate) mod agents;
pub(crate) mod context;
