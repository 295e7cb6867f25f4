//! Idempotency keys: whether this very call has been made before.

use mainstay_core::{Block, Error, Kind, Reason, Reply, Result};
use mainstay_store::{ClaimOutcome, Idempotency, KeyClaim, KeyState};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A key that this call holds: it runs under it, once.
pub(crate) struct Claim {
    principal: String,
    key: String,
}

pub(crate) enum Entry {
    /// The call has no key, or claimed this one.
    Go(Option<Claim>),
    /// The call was made before; this was its result.
    Replay(Result<Reply>),
}

/// A call that may have a key.
pub(crate) struct KeyedCall<'a> {
    pub(crate) principal: &'a str,
    pub(crate) key: Option<&'a str>,
    /// The first result is returned whatever the key is used for now.
    pub(crate) first_result_wins: bool,
    pub(crate) target: &'a str,
    pub(crate) args_digest: &'a str,
    pub(crate) now_ms: i64,
    pub(crate) hours: u32,
}

pub(crate) async fn begin(keys: Idempotency<'_>, call: KeyedCall<'_>) -> Result<Entry> {
    let Some(key) = call.key else { return Ok(Entry::Go(None)) };
    sound(key)?;
    let begin = KeyClaim {
        principal: call.principal.to_owned(),
        key: key.to_owned(),
        target: call.target.to_owned(),
        args_digest: call.args_digest.to_owned(),
        now_ms: call.now_ms,
        expires_ms: call.now_ms + i64::from(call.hours) * 3_600_000,
    };
    match keys.claim(begin).await? {
        ClaimOutcome::Claimed => {
            Ok(Entry::Go(Some(Claim { principal: call.principal.to_owned(), key: key.to_owned() })))
        }
        ClaimOutcome::Finished { target, args_digest, .. }
            if !call.first_result_wins && (target != call.target || args_digest != call.args_digest) =>
        {
            Err(Error::new(
                Kind::Conflict,
                format!(
                    "The idempotency key {key:?} was used for another call ({target}). A key stands for one call; use a new one."
                ),
            ))
        }
        ClaimOutcome::Finished { outcome, .. } => Ok(Entry::Replay(read(&outcome)?)),
        ClaimOutcome::Running { .. } => Err(busy(key)),
    }
}

/// The result of the first call under this key, if there was one.
pub(crate) async fn first(
    keys: Idempotency<'_>,
    principal: &str,
    key: &str,
    now_ms: i64,
) -> Result<Option<Result<Reply>>> {
    sound(key)?;
    match keys.find(principal, key, now_ms).await? {
        None => Ok(None),
        Some(KeyState::Finished { outcome }) => read(&outcome).map(Some),
        Some(KeyState::Running) => Err(busy(key)),
    }
}

/// Keys are stored and shown in error messages.
fn sound(key: &str) -> Result<()> {
    if key.is_empty() || key.len() > 256 || key.contains(char::is_control) {
        return Err(Error::invalid("An idempotency key has 1 to 256 bytes and no control characters."));
    }
    Ok(())
}

fn busy(key: &str) -> Error {
    Error::new(
        Kind::Conflict,
        format!(
            "A call with the idempotency key {key:?} has begun and its outcome is not known yet. It is not run a second time; ask again later, or use a new key if it must be."
        ),
    )
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

/// The form in which a result is kept under its key. A kept error keeps its reason, so that a replay is the same to a
/// program; its private detail is not kept.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stored {
    Reply { content: Vec<Block>, structured: Option<Value>, failed: bool },
    Error { kind: String, public: String, reason: Option<Reason> },
}

fn write(result: Result<&Reply, &Error>) -> Result<String> {
    let stored = match result {
        Ok(reply) => {
            Stored::Reply { content: reply.content.clone(), structured: reply.structured.clone(), failed: reply.failed }
        }
        Err(error) => Stored::Error {
            kind: error.kind.as_str().to_owned(),
            public: error.public.to_string(),
            reason: error.reason.as_deref().cloned(),
        },
    };
    serde_json::to_string(&stored).map_err(Error::internal)
}

fn read(stored: &str) -> Result<Result<Reply>> {
    Ok(match serde_json::from_str(stored).map_err(Error::internal)? {
        Stored::Reply { content, structured, failed } => Ok(Reply { content, structured, failed }),
        Stored::Error { kind, public, reason } => {
            let kind = Kind::ALL.into_iter().find(|known| known.as_str() == kind).unwrap_or(Kind::Internal);
            Err(Error { reason: reason.map(Box::new), ..Error::new(kind, public) })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
}
