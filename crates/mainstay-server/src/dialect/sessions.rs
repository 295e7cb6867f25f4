//! Sessions of a dialect: opened by `initialize`, kept in the store for every replica, and found only by their principal.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Error, Reason, Result, new_id};
use serde_json::Value;

use super::dispatcher::{Dispatcher, RequestContext};
use crate::connection::client_name;

/// From its last use.
const LIFETIME: Duration = Duration::from_hours(24);

impl Dispatcher {
    /// Opens a session, in a dialect that has them.
    pub(super) async fn open_session(&self, params: &Value, context: &RequestContext) -> Result<Option<String>> {
        let state = self.dialect.session_state(params, context.claimed_user.as_deref());
        let Some(state) = state else { return Ok(None) };
        let (id, principal) = (new_id(), &context.connection.caller.principal);
        self.engine.open_session(&id, principal, self.dialect.policy().name, state, LIFETIME).await?;
        Ok(Some(id))
    }

    /// The id of the request's session, if it has one, and what the client called itself when it opened it.
    pub(super) async fn session(&self, context: &RequestContext) -> Result<(Option<Arc<str>>, Option<Arc<str>>)> {
        if context.session.is_some() {
            return Ok((context.session.clone(), None));
        }
        let stored = self.stored_session(context).await?;
        let client = stored.as_ref().and_then(|(_, state)| self.dialect.client(state));
        Ok((stored.map(|(id, _)| id), client.map(|(name, version)| client_name(&name, &version))))
    }

    /// The session that the request names, and its state. A session of somebody else is as unknown as one that never
    /// was.
    pub(crate) async fn stored_session(&self, context: &RequestContext) -> Result<Option<(Arc<str>, String)>> {
        let Some(id) = &context.claimed_session else { return Ok(None) };
        let found = self.engine.find_session(id, &context.connection.caller.principal).await?;
        let Some(session) = found.filter(|session| session.dialect == self.dialect.policy().name) else {
            return Err(Error::not_found("There is no such session; initialize opens one.")
                .with_reason(Reason::Field { field: "X-Session-ID".into(), reason: None }));
        };
        let left = session.expires_ms - self.engine.clock().now_ms();
        // A write for each call would cost more than the call.
        if Duration::from_millis(u64::try_from(left).unwrap_or(0)) < LIFETIME / 2 {
            self.engine.extend_session(id, LIFETIME).await?;
        }
        Ok(Some((session.id.into(), session.state)))
    }
}
