//! The rules a call meets on its road, each in its own file and each asked once.

pub(crate) mod idempotency;
pub(crate) mod rate;
pub(crate) mod record;
pub(crate) mod scope;
mod window;

use mainstay_core::{Caller, Result, Scope};

use crate::Engine;

impl Engine {
    /// What everything that is asked meets first. It is counted before anything else is looked at: what is refused for
    /// another reason costs work, too.
    pub(crate) fn admit(
        &self,
        caller: &Caller,
        target: &str,
        dialect: Option<&str>,
        needs: impl IntoIterator<Item = Scope>,
    ) -> Result<()> {
        self.rate().admit(caller, target, dialect)?;
        needs.into_iter().try_for_each(|needed| scope::allow(caller, needed))
    }
}
