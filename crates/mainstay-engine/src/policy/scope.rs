//! May this caller do this kind of thing at all?

use mainstay_core::{Caller, Error, Reason, Result, Scope};

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
