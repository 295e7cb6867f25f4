//! Idempotency keys: whether this very call has been made before.

use mainstay_core::{Call, Error, Kind, Reason, Reply, Result};
use mainstay_store::{HeldKey, Idempotency, KeyClaim};
use serde::{Deserialize, Serialize};

use crate::Engine;

/// A key that this call holds: it runs under it, once.
pub(crate) struct Claim {
    /// Whose key it is: see [`owner`].
    principal: String,
    key: String,
}

pub(crate) enum Entry {
    /// The call has no key, or claimed this one.
    Go(Option<Claim>),
    /// The call was made before; this was its result.
    Replay(Result<Reply>),
}

impl Engine {
    /// Claims the key of a call durably, before it runs, or finds the result of the call that claimed it first.
    pub(crate) async fn claim(&self, key: Option<&str>, call: &Call, target: &str, digest: &str) -> Result<Entry> {
        let Some(key) = key else { return Ok(Entry::Go(None)) };
        check_key(key)?;
        let claim = Claim { principal: owner(call), key: key.to_owned() };
        let now_ms = self.clock().now_ms();
        let wanted = KeyClaim {
            principal: claim.principal.clone(),
            key: claim.key.clone(),
            target: target.to_owned(),
            args_digest: digest.to_owned(),
            now_ms,
            expires_ms: now_ms + i64::from(self.settings().idempotency_hours) * 3_600_000,
        };
        match self.0.store.idempotency().claim(wanted).await? {
            None => Ok(Entry::Go(Some(claim))),
            Some(HeldKey { outcome: None, .. }) => Err(busy(key)),
            Some(HeldKey { target: first, args_digest, .. })
                if !call.policy.first_result_wins && (first != target || args_digest != digest) =>
            {
                let line = format!(
                    "The idempotency key {key:?} was used for another call ({first}). A key stands for one call; use a new one."
                );
                Err(Error::new(Kind::Conflict, line))
            }
            Some(HeldKey { outcome: Some(outcome), .. }) => Ok(Entry::Replay(read(&outcome)?)),
        }
    }

    /// The result that the call's key had when it was first used, in a dialect where that is the answer whatever the key
    /// is used for now.
    pub(crate) async fn first_result(&self, call: &Call) -> Result<Option<Result<Reply>>> {
        let key = call.idempotency_key.as_deref().filter(|_| call.policy.first_result_wins);
        let Some(key) = key else { return Ok(None) };
        check_key(key)?;
        let now_ms = self.clock().now_ms();
        match self.0.store.idempotency().find(&owner(call), key, now_ms).await? {
            None => Ok(None),
            Some(HeldKey { outcome: Some(outcome), .. }) => read(&outcome).map(Some),
            Some(HeldKey { outcome: None, .. }) => Err(busy(key)),
        }
    }
}

/// Whose keys these are. Where the first result is the answer to whatever comes next, a key that somebody else uses as
/// well would give them a stranger's result; and without tokens all clients are one principal, so there they are told
/// apart by their sessions. Elsewhere such a key is a conflict, and a client that returns in a new session has to find
/// the result of its call.
fn owner(call: &Call) -> String {
    let principal = &call.caller.principal;
    match &call.session {
        // No principal has this form: that of an issuer has a space in it.
        Some(session) if call.policy.first_result_wins && principal.is_local() => format!("{principal}#{session}"),
        Some(_) | None => principal.to_string(),
    }
}

/// Keys are stored and shown in error messages.
fn check_key(key: &str) -> Result<()> {
    if key.is_empty() || key.len() > 256 || key.contains(char::is_control) {
        return Err(Error::invalid("An idempotency key has 1 to 256 bytes and no control characters."));
    }
    Ok(())
}

fn busy(key: &str) -> Error {
    let line = format!(
        "A call with the idempotency key {key:?} has begun and its outcome is not known yet. It is not run a second time; ask again later, or use a new key if it must be."
    );
    Error::new(Kind::Conflict, line)
}

impl Claim {
    pub(crate) async fn finish(&self, keys: Idempotency<'_>, result: Result<&Reply, &Error>) -> Result<()> {
        Ok(keys.finish(&self.principal, &self.key, write(result)?).await?)
    }

    /// The call changed nothing: the key may be used again.
    pub(crate) async fn abandon(&self, keys: Idempotency<'_>) -> Result<()> {
        Ok(keys.release(&self.principal, &self.key).await?)
    }
}

/// The answer for a key whose result is not kept any more.
const DROPPED: &str = "The call with this idempotency key was made and has ended, and it is not run a second time; its \
     result is no longer kept (engine.retention.results_mb). Look at the state, or use a new key for a new call.";

/// The form in which a result is kept under its key. A kept error keeps its reason, so that a replay is the same to a
/// program; its private detail is not kept.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stored {
    Reply(Reply),
    Error { kind: Kind, public: String, reason: Option<Reason> },
}

fn write(result: Result<&Reply, &Error>) -> Result<String> {
    let stored = match result {
        Ok(reply) => Stored::Reply(reply.clone()),
        Err(Error { kind, public, reason, .. }) => {
            Stored::Error { kind: *kind, public: public.to_string(), reason: reason.as_deref().cloned() }
        }
    };
    serde_json::to_string(&stored).map_err(Error::internal)
}

fn read(stored: &str) -> Result<Result<Reply>> {
    // Retention has dropped the result, but not the key.
    if stored.is_empty() {
        return Ok(Err(Error::new(Kind::Conflict, DROPPED)));
    }
    Ok(match serde_json::from_str(stored).map_err(Error::internal)? {
        Stored::Reply(reply) => Ok(reply),
        Stored::Error { kind, public, reason } => {
            Err(Error { reason: reason.map(Box::new), ..Error::new(kind, public) })
        }
    })
}

#[cfg(test)]
mod tests {
    use mainstay_core::Block;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_kept_comes_back_the_same() {
        let mut reply = Reply::structured(json!({"a": 1}));
        reply.content.push(Block::image(vec![1, 2], "image/png"));
        assert_eq!(read(&write(Ok(&reply)).unwrap()).unwrap().unwrap(), reply);
        let error = Error::not_found("no such file").with_reason(Reason::path("x"));
        let back = read(&write(Err(&error)).unwrap()).unwrap().unwrap_err();
        assert_eq!((back.kind, back.public.as_ref()), (Kind::NotFound, "no such file"));
        assert_eq!(*back.reason.unwrap(), Reason::path("x"));
    }

    #[test]
    fn a_result_that_was_dropped_is_answered_with_what_to_do() {
        let dropped = read("").unwrap().unwrap_err();
        assert_eq!(dropped.kind, Kind::Conflict);
        assert!(dropped.public.contains("not run a second time") && dropped.public.contains("results_mb"));
    }
}
