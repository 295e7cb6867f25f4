//! One way to speak to either engine.
//!
//! Both understand `$1`, `ON CONFLICT` and `RETURNING`, so most statements are written once; where the engines
//! differ, [`Conn::engine`] picks the text.

mod postgres;
mod readers;
mod sqlite;
mod value;

use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection as _, PgConnection, SqliteConnection};

pub(crate) use readers::Readers;
pub(crate) use value::{Param, Row};

use crate::url::Place;
use crate::{Result, StoreError, StoreOptions};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

impl Engine {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }

    /// For the few statements that cannot be the same text on both.
    pub(crate) const fn pick(self, sqlite: &'static str, postgres: &'static str) -> &'static str {
        match self {
            Self::Sqlite => sqlite,
            Self::Postgres => postgres,
        }
    }
}

/// How the one writing connection is made, and made again when it broke.
pub(crate) enum Source {
    Sqlite { options: SqliteConnectOptions, patience: std::time::Duration },
    Postgres(PgConnectOptions),
}

impl Source {
    pub(crate) fn new(place: &Place, options: &StoreOptions) -> Result<Self> {
        match place {
            Place::Sqlite(path) => {
                sqlite::prepare_file(path)?;
                Ok(Self::Sqlite { options: sqlite::writing(path, options), patience: options.busy_timeout })
            }
            Place::Postgres(server) => Ok(Self::Postgres(postgres::configured((**server).clone(), options))),
        }
    }

    pub(crate) async fn connect(&self) -> Result<Link, sqlx::Error> {
        match self {
            Self::Sqlite { options, patience } => {
                sqlite::connect_patiently(options, *patience).await.map(|c| Link::Sqlite(Box::new(c)))
            }
            Self::Postgres(options) => PgConnection::connect_with(options).await.map(|c| Link::Postgres(Box::new(c))),
        }
    }
}

/// A connection of our own.
pub(crate) enum Link {
    Sqlite(Box<SqliteConnection>),
    Postgres(Box<PgConnection>),
}

impl Link {
    pub(crate) fn conn(&mut self) -> Conn<'_> {
        match self {
            Self::Sqlite(connection) => Conn::Sqlite(connection),
            Self::Postgres(connection) => Conn::Postgres(connection),
        }
    }

    /// Leaves the database in one file where that is possible, and lets go of it.
    pub(crate) async fn close(self) -> Result<()> {
        match self {
            Self::Sqlite(mut connection) => {
                // Busy, because another process reads, is no failure: the rows are safe in the write-ahead log.
                sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut *connection).await.map_err(driver)?;
                connection.close().await.map_err(driver)
            }
            Self::Postgres(connection) => connection.close().await.map_err(driver),
        }
    }
}

/// A connection somebody lent us for some statements.
pub(crate) enum Conn<'c> {
    Sqlite(&'c mut SqliteConnection),
    Postgres(&'c mut PgConnection),
}

impl Conn<'_> {
    pub(crate) const fn engine(&self) -> Engine {
        match self {
            Self::Sqlite(_) => Engine::Sqlite,
            Self::Postgres(_) => Engine::Postgres,
        }
    }

    /// How many rows it changed.
    pub(crate) async fn run(&mut self, sql: &'static str, params: &[Param]) -> Result<u64> {
        match self {
            Self::Sqlite(connection) => {
                let done = value::bind_sqlite(sql, params)?.execute(&mut **connection).await;
                done.map(|done| done.rows_affected())
            }
            Self::Postgres(connection) => {
                let done = value::bind_postgres(sql, params)?.execute(&mut **connection).await;
                done.map(|done| done.rows_affected())
            }
        }
        .map_err(driver)
    }

    pub(crate) async fn row(&mut self, sql: &'static str, params: &[Param]) -> Result<Option<Row>> {
        match self {
            Self::Sqlite(connection) => {
                let row = value::bind_sqlite(sql, params)?.fetch_optional(&mut **connection).await;
                row.map(|row| row.map(Row::Sqlite))
            }
            Self::Postgres(connection) => {
                let row = value::bind_postgres(sql, params)?.fetch_optional(&mut **connection).await;
                row.map(|row| row.map(Row::Postgres))
            }
        }
        .map_err(driver)
    }

    pub(crate) async fn rows(&mut self, sql: &'static str, params: &[Param]) -> Result<Vec<Row>> {
        match self {
            Self::Sqlite(connection) => {
                let rows = value::bind_sqlite(sql, params)?.fetch_all(&mut **connection).await;
                rows.map(|rows| rows.into_iter().map(Row::Sqlite).collect())
            }
            Self::Postgres(connection) => {
                let rows = value::bind_postgres(sql, params)?.fetch_all(&mut **connection).await;
                rows.map(|rows| rows.into_iter().map(Row::Postgres).collect())
            }
        }
        .map_err(driver)
    }

    /// Several statements without values, in one message.
    pub(crate) async fn script(&mut self, sql: &'static str) -> Result<()> {
        match self {
            Self::Sqlite(connection) => sqlx::raw_sql(sql).execute(&mut **connection).await.map(drop),
            Self::Postgres(connection) => sqlx::raw_sql(sql).execute(&mut **connection).await.map(drop),
        }
        .map_err(driver)
    }

    /// Like [`Conn::script`], for one whose last statement gives a row.
    pub(crate) async fn script_row(&mut self, sql: &'static str) -> Result<Option<Row>> {
        match self {
            // SQLite keeps the script prepared, which PostgreSQL cannot do with more than one statement.
            Self::Sqlite(connection) => {
                sqlx::query(sql).fetch_optional(&mut **connection).await.map(|row| row.map(Row::Sqlite))
            }
            Self::Postgres(connection) => {
                sqlx::raw_sql(sql).fetch_optional(&mut **connection).await.map(|row| row.map(Row::Postgres))
            }
        }
        .map_err(driver)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
pub(crate) fn driver(error: sqlx::Error) -> StoreError {
    StoreError::from_driver(&error)
}
