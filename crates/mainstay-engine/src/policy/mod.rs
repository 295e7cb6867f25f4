//! The rules a call meets on its road, each in its own file and each asked once.

pub(crate) mod consent;
pub(crate) mod idempotency;
pub(crate) mod rate;
pub(crate) mod record;
pub(crate) mod scope;
