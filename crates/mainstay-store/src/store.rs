//! The handle everything is reached through.

use std::sync::Arc;

use crate::sql::{Readers, Source};
use crate::url::Place;
use crate::writer::Writer;
use crate::{
    Agents, AuditLog, Consents, Feed, Idempotency, Nonces, OAuth, Result, Secrets, Sessions, SigningKeys, StoreError,
    StoreOptions, migrate,
};

/// A store on either engine. Clones are the same store.
///
/// Close it before the program ends: rows that were noted, and not yet written, are lost with the runtime otherwise.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) readers: Readers,
    pub(crate) writer: Writer,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("engine", &self.engine()).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens `sqlite:PATH` or `postgres://…`, making the database's tables or bringing them up to date.
    ///
    /// The writer runs on the runtime this is called on.
    pub async fn open(url: &str, options: StoreOptions) -> Result<Self> {
        let place = Place::parse(url)?;
        let source = Source::new(&place, &options)?;
        let mut link = source.connect().await.map_err(StoreError::open)?;
        migrate::migrate(&mut link).await.map_err(|error| match error {
            StoreError::Failed(why) => StoreError::Open(why),
            other @ (StoreError::Url(_) | StoreError::Open(_) | StoreError::Closed | StoreError::Overloaded) => other,
        })?;
        let readers = Readers::new(&place, &options);
        let writer = Writer::start(source, link, readers.clone(), &options);
        Ok(Self { inner: Arc::new(Inner { readers, writer }) })
    }

    pub fn audit(&self) -> &dyn AuditLog {
        &*self.inner
    }

    pub fn sessions(&self) -> &dyn Sessions {
        &*self.inner
    }

    pub fn idempotency(&self) -> &dyn Idempotency {
        &*self.inner
    }

    pub fn consents(&self) -> &dyn Consents {
        &*self.inner
    }

    pub fn feed(&self) -> &dyn Feed {
        &*self.inner
    }

    pub fn nonces(&self) -> &dyn Nonces {
        &*self.inner
    }

    pub fn oauth(&self) -> &dyn OAuth {
        &*self.inner
    }

    pub fn signing_keys(&self) -> &dyn SigningKeys {
        &*self.inner
    }

    pub fn agents(&self) -> &dyn Agents {
        &*self.inner
    }

    pub fn secrets(&self) -> &dyn Secrets {
        &*self.inner
    }

    /// `sqlite` or `postgres`.
    pub fn engine(&self) -> &'static str {
        self.inner.readers.engine().name()
    }

    /// Whether the database answers and the writer is not failing.
    pub async fn ping(&self) -> Result<()> {
        self.inner.writer.healthy()?;
        self.inner.readers.row("SELECT 1", &[]).await.map(drop)
    }

    /// Forgets everything that has expired; says how much that was. The audit keeps everything.
    pub async fn sweep(&self, now_ms: i64) -> Result<u64> {
        Ok(self.sessions().sweep(now_ms).await?
            + self.idempotency().sweep(now_ms).await?
            + self.consents().sweep(now_ms).await?
            + self.feed().sweep(now_ms).await?
            + self.nonces().sweep(now_ms).await?
            + self.oauth().sweep(now_ms).await?
            + self.signing_keys().sweep(now_ms).await?)
    }

    /// Writes waiting, or being written.
    pub fn queued(&self) -> usize {
        self.inner.writer.queued()
    }

    /// Whether the last group of writes could not be committed.
    pub fn failing(&self) -> bool {
        self.inner.writer.failing()
    }

    /// Noted audit rows given up since the store was opened, because they could not be written for too long.
    pub fn lost_notes(&self) -> u64 {
        self.inner.writer.lost()
    }

    /// Resolves when everything is on disk and the database is let go. Whatever is asked of any clone after that, or
    /// meanwhile, is answered with [`StoreError::Closed`].
    pub async fn close(&self) -> Result<()> {
        self.inner.writer.close().await
    }
}
