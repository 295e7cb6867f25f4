//! Types that several tools share for their arguments and replies.

pub(crate) mod dry_run;
pub(crate) mod enums;
pub(crate) mod pagination;
pub(crate) mod validation;
