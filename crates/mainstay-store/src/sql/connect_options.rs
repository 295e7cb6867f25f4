//! How a SQLite file is opened, and how a connection to a PostgreSQL server is configured.
//!
//! In SQLite's WAL mode readers do not wait for the writer, and SQLite allows one writer at a time, which is what the writer task
//! is anyway.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use sqlx::pool::PoolOptions;
use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, PgPool, SqliteConnection, SqlitePool};
use tokio::time::{Instant, sleep};

use crate::{Result, StoreError, StoreOptions};

/// The default of SQLite, set explicitly because the limit of the file's size is counted in pages.
const PAGE_BYTES: u32 = 4096;

/// Creates the file if there is none, readable by its owner alone, because it holds sessions, token hashes and keys. The
/// files that SQLite creates beside it get the same mode.
pub(super) fn create_sqlite_file(path: &Path) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(StoreError::Open(format!(
            "{} is in a directory that does not exist; create the directory first",
            path.display()
        ))),
        Err(error) => Err(StoreError::Open(format!("{}: {error}", path.display()))),
    }
}

/// What the writing connection and the reading ones have in common.
fn sqlite_base(path: &Path, options: &StoreOptions) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(options.busy_timeout)
        .foreign_keys(true)
        .disable_statement_logging()
}

pub(super) fn sqlite_writer(path: &Path, options: &StoreOptions) -> SqliteConnectOptions {
    let writing = sqlite_base(path, options)
        .page_size(PAGE_BYTES)
        .journal_mode(SqliteJournalMode::Wal)
        // NORMAL would lose the newest commits in a power failure, after their callers were told that they are on disk.
        .synchronous(SqliteSynchronous::Full);
    match options.sqlite_max_bytes {
        Some(bytes) => writing.pragma("max_page_count", (bytes / u64::from(PAGE_BYTES)).max(1).to_string()),
        None => writing,
    }
}

/// Idle connections are kept: opening one costs a thread and a parse of the schema, and there is no server that could
/// close it.
pub(super) fn sqlite_readers(path: &Path, options: &StoreOptions) -> SqlitePool {
    PoolOptions::new()
        .max_connections(options.readers.max(1))
        .acquire_timeout(Duration::from_secs(10))
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(sqlite_base(path, options).pragma("query_only", "ON"))
}

/// Retries while the file is locked: two processes that open a new file at once both switch it to WAL mode, and for
/// that SQLite ignores its busy timeout.
pub(super) async fn connect_sqlite_patiently(
    options: &SqliteConnectOptions,
    patience: Duration,
) -> Result<SqliteConnection, sqlx::Error> {
    let deadline = Instant::now() + patience;
    loop {
        match options.connect().await {
            Err(error) if is_busy(&error) && Instant::now() < deadline => sleep(Duration::from_millis(20)).await,
            done => return done,
        }
    }
}

/// SQLITE_BUSY, with or without one of its extended reasons in the upper bits.
fn is_busy(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.and_then(|code| code.parse::<u32>().ok()).is_some_and(|code| code & 0xff == 5)
}

/// Settings of the session, whatever the server's or the role's defaults are.
pub(super) fn postgres(server: PgConnectOptions, options: &StoreOptions) -> PgConnectOptions {
    let patience = format!("{}ms", options.busy_timeout.as_millis().max(1));
    server.application_name("mainstay").disable_statement_logging().options([
        ("synchronous_commit", "on"),
        ("lock_timeout", patience.as_str()),
        // A replica that hangs inside a transaction holds the lock that all other replicas need to write.
        ("idle_in_transaction_session_timeout", "30s"),
    ])
}

/// The pool of connections that read. A request that finds no free connection for ten seconds fails instead of piling
/// up with others.
pub(super) fn postgres_readers(server: PgConnectOptions, options: &StoreOptions) -> PgPool {
    PoolOptions::new()
        .max_connections(options.readers.max(1))
        .acquire_timeout(Duration::from_secs(10))
        .connect_lazy_with(postgres(server, options))
}
