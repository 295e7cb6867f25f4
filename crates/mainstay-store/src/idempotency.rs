//! Keys under which a call happens once, whatever crashes in between.

use mainstay_core::BoxFuture;

use crate::Result;

#[derive(Debug, Clone)]
pub struct Begin {
    /// Keys are private to their principal.
    pub principal: String,
    pub key: String,
    pub target: String,
    pub args_digest: String,
    pub now_ms: i64,
    pub expires_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// The key is ours now, on disk: run the call.
    New,
    /// It has run; this is what it gave.
    Replay { outcome: String, target: String, args_digest: String },
    /// It is running, or it was when the server died. It is not run again either way.
    Busy { since_ms: i64, target: String, args_digest: String },
}

/// A key that has been taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// Its call has run; this is what it gave.
    Finished { outcome: String },
    /// Its call is running, or was when the server died.
    Open,
}

pub trait Idempotency: Send + Sync {
    /// Takes the key, or says who has it. An expired key counts as absent.
    fn begin(&self, begin: Begin) -> BoxFuture<'_, Result<Begun>>;

    /// Who has the key, if anybody; it stays as it is.
    fn find(&self, principal: &str, key: &str, now_ms: i64) -> BoxFuture<'_, Result<Option<Held>>>;

    /// Keeps what the call gave. Resolves once it is on disk.
    fn finish(&self, principal: &str, key: &str, outcome: String) -> BoxFuture<'_, Result<()>>;

    /// Frees a key whose call did nothing: it was refused, or it asked a question first.
    fn abandon(&self, principal: &str, key: &str) -> BoxFuture<'_, Result<()>>;

    /// Forgets expired keys; says how many.
    fn sweep(&self, now_ms: i64) -> BoxFuture<'_, Result<u64>>;
}
