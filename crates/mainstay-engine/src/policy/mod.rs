//! The policies of the pipeline, each in its own file.

pub(crate) mod idempotency;
pub(crate) mod rate;
pub(crate) mod record;
pub(crate) mod scope;
mod window;

use mainstay_core::{Caller, DialectPolicy, Result, Scope};

use crate::Engine;

impl Engine {
    /// Rate limits, then scopes: the first policies of every request. A request that is rejected later for another
    /// reason still counts against the limits, because it costs work, too.
    pub(crate) fn admit(
        &self,
        caller: &Caller,
        target: &str,
        policy: DialectPolicy,
        needed: impl IntoIterator<Item = Option<Scope>>,
    ) -> Result<()> {
        self.rate().admit(caller, target, policy)?;
        scope::authorize(caller, needed)
    }
}
