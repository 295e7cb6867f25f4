//! Sessions: opened by a greeting, kept in the store for every replica, and found by their own principal alone.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Error, Reason, Result, new_id};
use mainstay_wire::agents::{self, Greeting};
use serde_json::{Value, json};

use super::{Desk, Done, Visit};

/// From its last use.
const LIFE: Duration = Duration::from_hours(24);

/// What is kept of a client's own words.
const WORD: usize = 200;

impl Desk {
    pub(super) async fn greet(&self, greeting: &Greeting, visit: &Visit) -> Result<Done> {
        let caller = &visit.connection.caller;
        let capabilities = agents::capabilities(greeting.capabilities.as_deref());
        let word = |name: &str| greeting.client_info.get(name).and_then(Value::as_str).map(cut);
        let state = json!({
            "client": {"name": word("name"), "version": word("version")},
            "user": visit.claimed_user,
            "capabilities": capabilities,
        });
        let id = new_id();
        self.engine.open_session(&id, &caller.principal, agents::DIALECT, state.to_string(), LIFE).await?;
        let result = agents::greeting(&id, &capabilities, self.counts(caller)?);
        Ok(Done { result, session: Some(id) })
    }

    /// The session a visit is in, if it says so. Somebody else's is as unknown as one that never was.
    pub(super) async fn session_of(&self, visit: &Visit) -> Result<Option<Arc<str>>> {
        Ok(self.kept(visit).await?.map(|(id, _)| id))
    }

    /// What can be done in the session of a visit.
    pub(crate) async fn capabilities(&self, visit: &Visit) -> Result<Value> {
        let state = self.kept(visit).await?.and_then(|(_, state)| serde_json::from_str::<Value>(&state).ok());
        Ok(state.map_or_else(|| agents::capabilities(None), |mut state| state["capabilities"].take()))
    }

    async fn kept(&self, visit: &Visit) -> Result<Option<(Arc<str>, String)>> {
        let Some(id) = &visit.claimed_session else { return Ok(None) };
        let found = self.engine.find_session(id, &visit.connection.caller.principal).await?;
        let Some(session) = found.filter(|session| session.dialect == agents::DIALECT) else {
            return Err(Error::not_found("There is no such session; initialize opens one.")
                .with_reason(Reason::Field { field: "X-Session-ID".into(), reason: None }));
        };
        let left = session.expires_ms - self.engine.clock().now_ms();
        // A write for each call would cost more than the call.
        if i128::from(left) < i128::try_from(LIFE.as_millis() / 2).unwrap_or_default() {
            self.engine.extend_session(id, LIFE).await?;
        }
        Ok(Some((session.id.into(), session.state)))
    }
}

fn cut(text: &str) -> String {
    text.chars().take(WORD).collect()
}
