//! The pool of connections that only read.
//!
//! On SQLite they cannot write even by mistake (`query_only`). They see what has been committed, so a caller reads its
//! own writes once their futures have resolved.

use mainstay_core::BoxFuture;
use sqlx::pool::PoolConnection;
use sqlx::{PgPool, Postgres, SqlSafeStr, Sqlite, SqlitePool, Transaction};

use super::connection::{Conn, Engine};
use super::value::{FromColumns, Param};
use super::{connect_options, driver};
use crate::url::Location;
use crate::{Result, StoreOptions};

#[derive(Clone)]
pub(crate) enum Readers {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

impl Readers {
    /// Connects on first use.
    pub(crate) fn new(location: &Location, options: &StoreOptions) -> Self {
        match location {
            Location::Sqlite(path) => Self::Sqlite(connect_options::sqlite_readers(path, options)),
            Location::Postgres(server) => {
                Self::Postgres(connect_options::postgres_readers((**server).clone(), options))
            }
        }
    }

    pub(crate) const fn engine(&self) -> Engine {
        match self {
            Self::Sqlite(_) => Engine::Sqlite,
            Self::Postgres(_) => Engine::Postgres,
        }
    }

    /// The first row of the result, if there is one.
    pub(crate) async fn one<T: FromColumns>(&self, sql: impl SqlSafeStr, params: &[Param]) -> Result<Option<T>> {
        self.acquire().await?.conn().one(sql, params).await
    }

    pub(crate) async fn all<T: FromColumns>(&self, sql: impl SqlSafeStr, params: &[Param]) -> Result<Vec<T>> {
        self.acquire().await?.conn().all(sql, params).await
    }

    /// A connection for several statements in a row.
    pub(crate) fn acquire(&self) -> BoxFuture<'_, Result<PooledConnection>> {
        Box::pin(async move {
            match self {
                Self::Sqlite(pool) => pool.acquire().await.map(PooledConnection::Sqlite),
                Self::Postgres(pool) => pool.acquire().await.map(PooledConnection::Postgres),
            }
            .map_err(driver)
        })
    }

    /// A connection whose statements all see the database as of one moment, whatever is written meanwhile.
    pub(crate) fn snapshot(&self) -> BoxFuture<'_, Result<PooledConnection>> {
        Box::pin(async move {
            match self {
                Self::Sqlite(pool) => pool.begin().await.map(PooledConnection::SqliteSnapshot),
                Self::Postgres(pool) => pool
                    .begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                    .await
                    .map(PooledConnection::PostgresSnapshot),
            }
            .map_err(driver)
        })
    }

    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(pool) => pool.close().await,
            Self::Postgres(pool) => pool.close().await,
        }
    }
}

/// Goes back to the pool when dropped.
pub(crate) enum PooledConnection {
    Sqlite(PoolConnection<Sqlite>),
    Postgres(PoolConnection<Postgres>),
    SqliteSnapshot(Transaction<'static, Sqlite>),
    PostgresSnapshot(Transaction<'static, Postgres>),
}

impl PooledConnection {
    pub(crate) fn conn(&mut self) -> Conn<'_> {
        match self {
            Self::Sqlite(connection) => Conn::Sqlite(connection),
            Self::Postgres(connection) => Conn::Postgres(connection),
            Self::SqliteSnapshot(transaction) => Conn::Sqlite(transaction),
            Self::PostgresSnapshot(transaction) => Conn::Postgres(transaction),
        }
    }
}
