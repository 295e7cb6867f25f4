//! Connections to either engine, and the statements that run on them.

use std::time::Duration;

use mainstay_core::BoxFuture;
use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection as _, PgConnection, SqlSafeStr, SqlStr, SqliteConnection};

use super::value::{FromColumns, Param, Row, bind};
use super::{connect_options, driver};
use crate::url::Location;
use crate::{Result, StoreOptions};

/// Chosen by the URL when the store is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

impl Engine {
    /// For the few statements that cannot be the same text on both.
    pub(crate) const fn pick(self, sqlite: &'static str, postgres: &'static str) -> &'static str {
        match self {
            Self::Sqlite => sqlite,
            Self::Postgres => postgres,
        }
    }
}

/// Opens the one connection that writes, and opens it again after it broke.
pub(crate) enum Connector {
    Sqlite { options: SqliteConnectOptions, patience: Duration },
    Postgres(PgConnectOptions),
}

impl Connector {
    /// Creates the file of a SQLite database that does not exist yet.
    pub(crate) fn new(location: &Location, options: &StoreOptions) -> Result<Self> {
        match location {
            Location::Sqlite(path) => {
                connect_options::create_sqlite_file(path)?;
                Ok(Self::Sqlite {
                    options: connect_options::sqlite_writer(path, options),
                    patience: options.busy_timeout,
                })
            }
            Location::Postgres(server) => Ok(Self::Postgres(connect_options::postgres((**server).clone(), options))),
        }
    }

    pub(crate) async fn connect(&self) -> Result<WriteConnection> {
        match self {
            Self::Sqlite { options, patience } => connect_options::connect_sqlite_patiently(options, *patience)
                .await
                .map(Box::new)
                .map(WriteConnection::Sqlite),
            Self::Postgres(options) => {
                PgConnection::connect_with(options).await.map(Box::new).map(WriteConnection::Postgres)
            }
        }
        .map_err(driver)
    }
}

/// The connection that writes. It belongs to the writer alone, outside of any pool.
pub(crate) enum WriteConnection {
    Sqlite(Box<SqliteConnection>),
    Postgres(Box<PgConnection>),
}

impl WriteConnection {
    pub(crate) fn conn(&mut self) -> Conn<'_> {
        match self {
            Self::Sqlite(connection) => Conn::Sqlite(connection),
            Self::Postgres(connection) => Conn::Postgres(connection),
        }
    }

    /// On SQLite this also moves the write-ahead log into the database file, so that the file alone is a whole copy.
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

/// A connection, borrowed for some statements.
pub(crate) enum Conn<'c> {
    Sqlite(&'c mut SqliteConnection),
    Postgres(&'c mut PgConnection),
}

/// The same call on either driver's connection, as a boxed future.
///
/// Boxed, because the drivers' futures are several kilobytes large and would make every future that contains a storage
/// operation as large. Boxed in a function that is neither generic nor `async`, because the code of a driver's future
/// would otherwise be compiled again in every crate that awaits a storage operation.
macro_rules! on_driver {
    ($conn:expr, $db:ident => $call:expr, $map:expr) => {
        Box::pin(async move {
            match $conn {
                Conn::Sqlite($db) => $call.await.map($map),
                Conn::Postgres($db) => $call.await.map($map),
            }
            .map_err(driver)
        })
    };
}

impl Conn<'_> {
    pub(crate) const fn engine(&self) -> Engine {
        match self {
            Self::Sqlite(_) => Engine::Sqlite,
            Self::Postgres(_) => Engine::Postgres,
        }
    }

    /// Resolves with the number of rows the statement changed.
    pub(crate) async fn execute(&mut self, sql: impl SqlSafeStr, params: &[Param]) -> Result<u64> {
        self.changed_rows(sql.into_sql_str(), params).await
    }

    /// The first row of the result, if there is one.
    pub(crate) async fn one<T: FromColumns>(&mut self, sql: impl SqlSafeStr, params: &[Param]) -> Result<Option<T>> {
        self.first_row(sql.into_sql_str(), params).await?.as_ref().map(Row::read).transpose()
    }

    /// All rows of the result: a statement that could return many has a LIMIT.
    pub(crate) async fn all<T: FromColumns>(&mut self, sql: impl SqlSafeStr, params: &[Param]) -> Result<Vec<T>> {
        self.all_rows(sql.into_sql_str(), params).await?.iter().map(Row::read).collect()
    }

    fn changed_rows<'a>(&'a mut self, sql: SqlStr, params: &'a [Param]) -> BoxFuture<'a, Result<u64>> {
        on_driver!(self, db => bind(sql, params)?.execute(&mut **db), |done| done.rows_affected())
    }

    fn first_row<'a>(&'a mut self, sql: SqlStr, params: &'a [Param]) -> BoxFuture<'a, Result<Option<Row>>> {
        on_driver!(self, db => bind(sql, params)?.fetch_optional(&mut **db), |row| row.map(Row::from))
    }

    fn all_rows<'a>(&'a mut self, sql: SqlStr, params: &'a [Param]) -> BoxFuture<'a, Result<Vec<Row>>> {
        on_driver!(self, db => bind(sql, params)?.fetch_all(&mut **db), |rows| rows.into_iter().map(Row::from).collect())
    }

    /// Several statements without values, in one message; the statements are not kept prepared.
    pub(crate) fn script(&mut self, sql: &'static str) -> BoxFuture<'_, Result<()>> {
        on_driver!(self, db => sqlx::raw_sql(sql).execute(&mut **db), drop)
    }

    /// Like [`Conn::script`], for one whose last statement gives a row.
    pub(crate) async fn script_row<T: FromColumns>(&mut self, sql: &'static str) -> Result<Option<T>> {
        let row = match self {
            // SQLite keeps the script prepared, which PostgreSQL cannot do with more than one statement.
            Self::Sqlite(db) => sqlx::query(sql).fetch_optional(&mut **db).await.map(|row| row.map(Row::from)),
            Self::Postgres(db) => sqlx::raw_sql(sql).fetch_optional(&mut **db).await.map(|row| row.map(Row::from)),
        };
        row.map_err(driver)?.as_ref().map(Row::read).transpose()
    }
}
