//! A fresh database on one of the engines, and a connection that bypasses the store, to attack it and to look inside.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mainstay_store::{AuditEntry, Phase, Store, StoreOptions};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _, SqliteConnection};

const SERVER: &str = "MAINSTAY_TEST_POSTGRES";

pub(crate) enum TestDatabase {
    Sqlite { _dir: tempfile::TempDir, path: PathBuf },
    Postgres { url: String },
}

pub(crate) async fn on_sqlite<F: Future<Output = ()> + Send + 'static>(case: impl FnOnce(Arc<TestDatabase>) -> F) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    case(Arc::new(TestDatabase::Sqlite { _dir: dir, path })).await;
}

pub(crate) async fn on_postgres<F: Future<Output = ()> + Send + 'static>(case: impl FnOnce(Arc<TestDatabase>) -> F) {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let Ok(server) = std::env::var(SERVER) else {
        assert!(std::env::var("CI").is_err(), "{SERVER} is not set: the suite needs the URL of a PostgreSQL server");
        eprintln!("skipped: {SERVER} is not set, so there is no PostgreSQL to run this on");
        return;
    };
    let name = format!("mainstay_test_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let mut admin = PgConnection::connect(&server).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE {name}"))).execute(&mut admin).await.unwrap();
    let outcome = tokio::spawn(case(Arc::new(TestDatabase::Postgres { url: with_database(&server, &name) }))).await;
    let dropped = format!("DROP DATABASE {name} WITH (FORCE)");
    sqlx::raw_sql(AssertSqlSafe(dropped)).execute(&mut admin).await.unwrap();
    if let Err(failed) = outcome {
        std::panic::resume_unwind(failed.into_panic());
    }
}

fn with_database(server: &str, name: &str) -> String {
    let (address, options) = server.split_once('?').map_or((server, String::new()), |(a, o)| (a, format!("?{o}")));
    let (scheme, rest) = address.split_once("://").unwrap();
    let host = rest.split('/').next().unwrap();
    format!("{scheme}://{host}/{name}{options}")
}

/// A connection that bypasses the store.
pub(crate) enum Raw {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl TestDatabase {
    pub(crate) fn url(&self) -> String {
        match self {
            Self::Sqlite { path, .. } => format!("sqlite:{}", path.display()),
            Self::Postgres { url } => url.clone(),
        }
    }

    pub(crate) async fn open(&self) -> Store {
        self.open_with(StoreOptions::default()).await
    }

    pub(crate) async fn open_with(&self, options: StoreOptions) -> Store {
        Store::open(&self.url(), options).await.unwrap()
    }

    pub(crate) const fn pick<'t>(&self, sqlite: &'t str, postgres: &'t str) -> &'t str {
        match self {
            Self::Sqlite { .. } => sqlite,
            Self::Postgres { .. } => postgres,
        }
    }

    pub(crate) async fn raw(&self) -> Raw {
        match self {
            Self::Sqlite { .. } => Raw::Sqlite(SqliteConnection::connect(&self.url()).await.unwrap()),
            Self::Postgres { url } => Raw::Postgres(PgConnection::connect(url).await.unwrap()),
        }
    }

    pub(crate) async fn sql(&self, sql: &str) {
        self.raw().await.sql(sql).await;
    }

    /// Blocks every writer until it is dropped.
    pub(crate) async fn block_writers(&self) -> Raw {
        let mut raw = self.raw().await;
        raw.sql(self.pick("BEGIN IMMEDIATE", "BEGIN; SELECT 1 FROM audit_head FOR UPDATE")).await;
        raw
    }

    /// The stored text of the page that begins with row `first`.
    pub(crate) async fn page(&self, first: i64) -> String {
        let sql = "SELECT entries FROM audit_page WHERE first_seq = $1";
        match self.raw().await {
            Raw::Sqlite(mut raw) => sqlx::query(sql).bind(first).fetch_one(&mut raw).await.unwrap().get(0),
            Raw::Postgres(mut raw) => sqlx::query(sql).bind(first).fetch_one(&mut raw).await.unwrap().get(0),
        }
    }

    pub(crate) async fn put_page(&self, first: i64, text: &str) {
        let sql = "INSERT INTO audit_page (first_seq, entries) VALUES ($1, $2) \
             ON CONFLICT (first_seq) DO UPDATE SET entries = excluded.entries";
        match self.raw().await {
            Raw::Sqlite(mut raw) => {
                sqlx::query(sql).bind(first).bind(text).execute(&mut raw).await.unwrap();
            }
            Raw::Postgres(mut raw) => {
                sqlx::query(sql).bind(first).bind(text).execute(&mut raw).await.unwrap();
            }
        }
    }

    /// What an operator sees: the result of a query for one number and one text.
    pub(crate) async fn select(&self, sql: &str) -> Vec<(i64, Option<String>)> {
        let sql = AssertSqlSafe(sql.to_owned());
        match self.raw().await {
            Raw::Sqlite(mut raw) => sqlx::query_as(sql).fetch_all(&mut raw).await.unwrap(),
            Raw::Postgres(mut raw) => sqlx::query_as(sql).fetch_all(&mut raw).await.unwrap(),
        }
    }
}

impl Raw {
    pub(crate) async fn sql(&mut self, sql: &str) {
        let sql = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        match self {
            Self::Sqlite(raw) => drop(sql.execute(raw).await.unwrap()),
            Self::Postgres(raw) => drop(sql.execute(raw).await.unwrap()),
        }
    }
}

pub(crate) fn entry(number: usize) -> AuditEntry {
    AuditEntry {
        at_ms: 1_700_000_000_000 + i64::try_from(number).unwrap(),
        phase: if number.is_multiple_of(2) { Phase::Ended } else { Phase::Began },
        request_id: format!("request-{number}").into(),
        principal: format!("principal-{}", number % 3).into(),
        session: (!number.is_multiple_of(5)).then(|| format!("session-{}", number % 7).into()),
        ip: number.is_multiple_of(2).then(|| "203.0.113.7".into()),
        target: "files_read".into(),
        effect: "reads".into(),
        args_digest: format!("{number:064x}"),
        outcome: "ok".into(),
        duration_us: 250,
    }
}

/// Runs `one` that many times, all at once, on several threads.
pub(crate) async fn at_once<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    count: usize,
    one: impl Fn(usize) -> F,
) -> Vec<T> {
    let running: Vec<_> = (0..count).map(|number| tokio::spawn(one(number))).collect();
    let mut done = Vec::with_capacity(count);
    for task in running {
        done.push(task.await.unwrap());
    }
    done
}
