//! The policies of the pipeline, each in its own file.

pub(crate) mod idempotency;
pub(crate) mod rate;
pub(crate) mod record;
pub(crate) mod shared_limits;
mod window;

use std::sync::Arc;

use mainstay_core::{Call, Caller, DialectPolicy, Error, Reason, Result, Scope};

use crate::Engine;

impl Engine {
    /// Rate limits, then scopes: the first policies of every request. A request that is rejected later for another
    /// reason still counts against the limits, because it costs work, too.
    pub(crate) async fn admit(
        &self,
        call: &Call,
        target: &str,
        needed: impl IntoIterator<Item = Option<Scope>>,
    ) -> Result<()> {
        self.count(&call.caller, call.session.as_ref(), target, call.policy).await?;
        authorize(&call.caller, needed)
    }

    /// Counts a request: in memory, or together with the other replicas.
    pub(crate) async fn count(
        &self,
        caller: &Caller,
        session: Option<&Arc<str>>,
        target: &str,
        policy: DialectPolicy,
    ) -> Result<()> {
        match &self.0.shared_limits {
            None => self.0.rate.admit(caller, session, target, policy),
            Some(shared) => {
                self.0.rate.admit_to_bucket(caller, session, policy)?;
                shared.admit(self.0.rate.counters(caller, session, target, policy)).await
            }
        }
    }
}

/// Fails with the first scope that the caller lacks. The reason names it, so that HTTP can challenge for a better token.
pub(crate) fn authorize(caller: &Caller, needed: impl IntoIterator<Item = Option<Scope>>) -> Result<()> {
    let missing = needed.into_iter().flatten().find(|scope| !caller.scopes.allows(*scope));
    missing.map_or(Ok(()), |scope| {
        let (needed, has) = (scope.as_str(), caller.scopes.to_string());
        let line = format!("This call needs the scope {needed:?}; the token has {has:?}.");
        Err(Error::denied(line).with_reason(Reason::MissingScope(scope)))
    })
}
