//! The handle through which everything is reached.

use std::sync::Arc;

use crate::operations::{
    Agents, AuditLog, Consents, Database, Feed, Idempotency, Limits, OAuth, SearchDocuments, Secrets, SentTransactions,
    Sessions, apply_retention, sizes, sweep,
};
use crate::sql::{Connector, Engine, Readers};
use crate::url::Location;
use crate::writer::Writer;
use crate::{Result, Retention, RetentionReport, StoreError, StoreOptions, StoreSizes, migrate};

/// A store on either engine. Clones are the same store.
///
/// Close it before the program ends: audit rows that are queued and not yet written are lost with the runtime otherwise.
#[derive(Clone)]
pub struct Store {
    database: Arc<Database>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("engine", &self.engine()).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens `sqlite:PATH` or `postgres://…`, creating the database's tables or bringing them up to date.
    ///
    /// The writer runs on the runtime this is called on.
    pub async fn open(url: &str, options: StoreOptions) -> Result<Self> {
        let location = Location::parse(url)?;
        let connector = Connector::new(&location, &options)?;
        let mut connection = connector.connect().await.map_err(while_opening)?;
        migrate::migrate(&mut connection).await.map_err(while_opening)?;
        let readers = Readers::new(&location, &options);
        let writer = Writer::start(connector, connection, readers.clone(), &options);
        Ok(Self { database: Arc::new(Database::new(readers, writer, options.audit_archive)) })
    }

    pub fn audit(&self) -> AuditLog<'_> {
        AuditLog(&self.database)
    }

    pub fn sessions(&self) -> Sessions<'_> {
        Sessions(&self.database)
    }

    pub fn idempotency(&self) -> Idempotency<'_> {
        Idempotency(&self.database)
    }

    pub fn consents(&self) -> Consents<'_> {
        Consents(&self.database)
    }

    pub fn feed(&self) -> Feed<'_> {
        Feed(&self.database)
    }

    pub fn oauth(&self) -> OAuth<'_> {
        OAuth(&self.database)
    }

    pub fn agents(&self) -> Agents<'_> {
        Agents(&self.database)
    }

    pub fn secrets(&self) -> Secrets<'_> {
        Secrets(&self.database)
    }

    pub fn limits(&self) -> Limits<'_> {
        Limits(&self.database)
    }

    pub fn sent_transactions(&self) -> SentTransactions<'_> {
        SentTransactions(&self.database)
    }

    pub fn search(&self) -> SearchDocuments<'_> {
        SearchDocuments(&self.database)
    }

    /// Whether this store is for several machines, so that what they count together is counted here.
    pub fn is_shared(&self) -> bool {
        self.database.readers.engine() == Engine::Postgres
    }

    /// `sqlite` or `postgres`.
    pub fn engine(&self) -> &'static str {
        self.database.readers.engine().pick("sqlite", "postgres")
    }

    /// Whether the database answers and the writer is not failing.
    pub async fn ping(&self) -> Result<()> {
        self.database.writer.healthy()?;
        self.database.readers.one::<i64>("SELECT CAST(1 AS BIGINT)", &[]).await.map(drop)
    }

    /// Deletes everything that has expired; resolves with the number of rows. What has no end of its own is the matter of
    /// [`Store::apply_retention`].
    pub async fn sweep(&self, now_ms: i64) -> Result<u64> {
        sweep(&self.database, now_ms).await
    }

    /// Deletes what is older or more than what is kept, oldest first, and moves such audit rows to the archive.
    pub async fn apply_retention(&self, retention: &Retention, now_ms: i64) -> Result<RetentionReport> {
        apply_retention(&self.database, retention, now_ms).await
    }

    /// How much the store holds, by topic. Reads all of a SQLite file: for an operator, not for a metric.
    pub async fn sizes(&self) -> Result<StoreSizes> {
        sizes(&self.database).await
    }

    /// Writes that are queued or being written.
    pub fn queued(&self) -> usize {
        self.database.writer.queued()
    }

    /// Whether the last group of writes could not be committed.
    pub fn failing(&self) -> bool {
        self.database.writer.failing()
    }

    /// Queued audit rows that were given up since the store was opened, because they could not be written for too long.
    pub fn lost_audit_rows(&self) -> u64 {
        self.database.writer.lost()
    }

    /// Resolves when everything is on disk and the database is closed. Every call on any clone after that, or
    /// meanwhile, fails with [`StoreError::Closed`].
    pub async fn close(&self) -> Result<()> {
        self.database.writer.close().await
    }
}

/// A statement that fails while the store is opened is reported as a failure to open it.
fn while_opening(error: StoreError) -> StoreError {
    if let StoreError::Failed(why) = error { StoreError::Open(why) } else { error }
}
