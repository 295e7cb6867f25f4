//! Has this very call been made before?

use mainstay_core::{Block, Error, Kind, Outcome, Reason, Reply, Result};
use mainstay_store::{ClaimOutcome, Idempotency, KeyClaim, KeyState};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A key that is ours: the call runs under it, once.
pub(crate) struct Claim {
    principal: String,
    key: String,
}

pub(crate) enum Entry {
    /// No key was given, or this one is ours now.
    Go(Option<Claim>),
    /// It has been done; this is what came of it.
    Replay(Result<Outcome>),
}

pub(crate) struct Asked<'a> {
    pub(crate) principal: &'a str,
    pub(crate) key: Option<&'a str>,
    /// The first result is given whatever the key is used for now.
    pub(crate) first_result_wins: bool,
    pub(crate) target: &'a str,
    pub(crate) args_digest: &'a str,
    pub(crate) now_ms: i64,
    pub(crate) hours: u32,
}

pub(crate) async fn begin(keys: Idempotency<'_>, asked: Asked<'_>) -> Result<Entry> {
    let Some(key) = asked.key else { return Ok(Entry::Go(None)) };
    sound(key)?;
    let begin = KeyClaim {
        principal: asked.principal.to_owned(),
        key: key.to_owned(),
        target: asked.target.to_owned(),
        args_digest: asked.args_digest.to_owned(),
        now_ms: asked.now_ms,
        expires_ms: asked.now_ms + i64::from(asked.hours) * 3_600_000,
    };
    match keys.claim(begin).await? {
        ClaimOutcome::Claimed => {
            Ok(Entry::Go(Some(Claim { principal: asked.principal.to_owned(), key: key.to_owned() })))
        }
        ClaimOutcome::Finished { target, args_digest, .. }
            if !asked.first_result_wins && (target != asked.target || args_digest != asked.args_digest) =>
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

/// What the first call under this key gave; nothing if there was none.
pub(crate) async fn first(
    keys: Idempotency<'_>,
    principal: &str,
    key: &str,
    now_ms: i64,
) -> Result<Option<Result<Outcome>>> {
    sound(key)?;
    match keys.find(principal, key, now_ms).await? {
        None => Ok(None),
        Some(KeyState::Finished { outcome }) => read(&outcome).map(Some),
        Some(KeyState::Running) => Err(busy(key)),
    }
}

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
    pub(crate) async fn finish(&self, keys: Idempotency<'_>, result: &Result<Outcome>) -> Result<()> {
        Ok(keys.finish(&self.principal, &self.key, write(result)?).await?)
    }

    /// The call changed nothing: the key may be used again.
    pub(crate) async fn abandon(&self, keys: Idempotency<'_>) -> Result<()> {
        Ok(keys.release(&self.principal, &self.key).await?)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stored {
    Reply { content: Vec<Block>, structured: Option<Value>, failed: bool },
    Error { kind: String, public: String, reason: Option<Reason> },
}

fn write(result: &Result<Outcome>) -> Result<String> {
    let stored = match result {
        Ok(Outcome::Reply(reply)) => {
            Stored::Reply { content: reply.content.clone(), structured: reply.structured.clone(), failed: reply.failed }
        }
        // Keys are taken for tools alone; reading twice needs no memory.
        Ok(Outcome::Contents(_) | Outcome::Prompt(_)) => {
            return Err(Error::internal("only a tool's reply is kept under a key"));
        }
        Err(error) => Stored::Error {
            kind: error.kind.as_str().to_owned(),
            public: error.public.to_string(),
            reason: error.reason.as_deref().cloned(),
        },
    };
    serde_json::to_string(&stored).map_err(Error::internal)
}

fn read(stored: &str) -> Result<Result<Outcome>> {
    Ok(match serde_json::from_str(stored).map_err(Error::internal)? {
        Stored::Reply { content, structured, failed } => Ok(Outcome::Reply(Reply { content, structured, failed })),
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
        let ok = Ok(Outcome::Reply(reply.clone()));
        assert_eq!(read(&write(&ok).unwrap()).unwrap().unwrap(), Outcome::Reply(reply));
        let error = Error::not_found("no such file").with_reason(Reason::path("x"));
        let back = read(&write(&Err(error)).unwrap()).unwrap().unwrap_err();
        assert_eq!((back.kind, back.public.as_ref()), (Kind::NotFound, "no such file"));
        assert_eq!(*back.reason.unwrap(), Reason::path("x"));
    }
}
