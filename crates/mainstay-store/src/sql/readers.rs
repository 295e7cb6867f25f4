//! The connections that only read.

use sqlx::pool::PoolConnection;
use sqlx::{PgPool, Postgres, Sqlite, SqlitePool, Transaction};

use super::{Conn, Engine, Param, Row, driver, postgres, sqlite};
use crate::url::Place;
use crate::{Result, StoreOptions};

#[derive(Clone)]
pub(crate) enum Readers {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

impl Readers {
    /// Connects when it is first asked for something.
    pub(crate) fn new(place: &Place, options: &StoreOptions) -> Self {
        match place {
            Place::Sqlite(path) => Self::Sqlite(sqlite::reading(path, options)),
            Place::Postgres(server) => Self::Postgres(postgres::reading((**server).clone(), options)),
        }
    }

    pub(crate) const fn engine(&self) -> Engine {
        match self {
            Self::Sqlite(_) => Engine::Sqlite,
            Self::Postgres(_) => Engine::Postgres,
        }
    }

    pub(crate) async fn row(&self, sql: &'static str, params: &[Param]) -> Result<Option<Row>> {
        self.lend().await?.conn().row(sql, params).await
    }

    pub(crate) async fn rows(&self, sql: &'static str, params: &[Param]) -> Result<Vec<Row>> {
        self.lend().await?.conn().rows(sql, params).await
    }

    pub(crate) async fn lend(&self) -> Result<Lent> {
        match self {
            Self::Sqlite(pool) => pool.acquire().await.map(Lent::Sqlite),
            Self::Postgres(pool) => pool.acquire().await.map(Lent::Postgres),
        }
        .map_err(driver)
    }

    /// Everything read through it is of one moment, whatever is written meanwhile.
    pub(crate) async fn snapshot(&self) -> Result<Lent> {
        match self {
            Self::Sqlite(pool) => pool.begin().await.map(Lent::SqliteSnapshot),
            Self::Postgres(pool) => {
                pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await.map(Lent::PostgresSnapshot)
            }
        }
        .map_err(driver)
    }

    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(pool) => pool.close().await,
            Self::Postgres(pool) => pool.close().await,
        }
    }
}

/// Goes back to the pool when dropped.
pub(crate) enum Lent {
    Sqlite(PoolConnection<Sqlite>),
    Postgres(PoolConnection<Postgres>),
    SqliteSnapshot(Transaction<'static, Sqlite>),
    PostgresSnapshot(Transaction<'static, Postgres>),
}

impl Lent {
    pub(crate) fn conn(&mut self) -> Conn<'_> {
        match self {
            Self::Sqlite(connection) => Conn::Sqlite(connection),
            Self::Postgres(connection) => Conn::Postgres(connection),
            Self::SqliteSnapshot(transaction) => Conn::Sqlite(transaction),
            Self::PostgresSnapshot(transaction) => Conn::Postgres(transaction),
        }
    }
}
