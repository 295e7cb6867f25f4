//! Scopes: whether the caller may do this kind of thing at all.

use mainstay_core::{Caller, Error, Reason, Result, Scope};

/// Fails with the first scope that the caller lacks.
pub(crate) fn authorize(caller: &Caller, needed: impl IntoIterator<Item = Option<Scope>>) -> Result<()> {
    needed.into_iter().flatten().try_for_each(|scope| allow(caller, scope))
}

pub(crate) fn allow(caller: &Caller, needed: Scope) -> Result<()> {
    if caller.scopes.allows(needed) {
        return Ok(());
    }
    Err(Error::denied(format!(
        "This call needs the scope {:?}; the token has {:?}.",
        needed.as_str(),
        caller.scopes.to_string()
    ))
    .with_reason(Reason::MissingScope(needed)))
}
