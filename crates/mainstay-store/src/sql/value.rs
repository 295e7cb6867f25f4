//! Values on their way in and out.

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Postgres, Row as _, Sqlite};

use super::driver;
use crate::{Result, StoreError};

#[derive(Debug, Clone)]
pub(crate) enum Param {
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
    /// No text: NULL.
    NoText,
}

impl From<i64> for Param {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for Param {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<&String> for Param {
    fn from(value: &String) -> Self {
        Self::Text(value.clone())
    }
}

impl From<String> for Param {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<Option<&String>> for Param {
    fn from(value: Option<&String>) -> Self {
        value.map_or(Self::NoText, Self::from)
    }
}

impl From<Vec<u8>> for Param {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(value)
    }
}

/// PostgreSQL cannot hold a NUL in text. Refused on both engines, so that nothing works on one and fails on the other.
fn storable(text: &str) -> Result<String> {
    if text.contains('\0') {
        return Err(StoreError::failed("a text with a NUL character in it cannot be stored"));
    }
    Ok(text.to_owned())
}

pub(super) fn bind_sqlite(sql: &'static str, params: &[Param]) -> Result<Query<'static, Sqlite, SqliteArguments>> {
    let mut query = sqlx::query(sql);
    for param in params {
        query = match param {
            Param::Int(value) => query.bind(*value),
            Param::Text(value) => query.bind(storable(value)?),
            Param::Bytes(value) => query.bind(value.clone()),
            Param::NoText => query.bind(None::<String>),
        };
    }
    Ok(query)
}

pub(super) fn bind_postgres(sql: &'static str, params: &[Param]) -> Result<Query<'static, Postgres, PgArguments>> {
    let mut query = sqlx::query(sql);
    for param in params {
        query = match param {
            Param::Int(value) => query.bind(*value),
            Param::Text(value) => query.bind(storable(value)?),
            Param::Bytes(value) => query.bind(value.clone()),
            Param::NoText => query.bind(None::<String>),
        };
    }
    Ok(query)
}

pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl Row {
    pub(crate) fn int(&self, column: usize) -> Result<i64> {
        match self {
            Self::Sqlite(row) => row.try_get(column),
            Self::Postgres(row) => row.try_get(column),
        }
        .map_err(driver)
    }

    pub(crate) fn text(&self, column: usize) -> Result<String> {
        match self {
            Self::Sqlite(row) => row.try_get(column),
            Self::Postgres(row) => row.try_get(column),
        }
        .map_err(driver)
    }

    pub(crate) fn maybe_text(&self, column: usize) -> Result<Option<String>> {
        match self {
            Self::Sqlite(row) => row.try_get(column),
            Self::Postgres(row) => row.try_get(column),
        }
        .map_err(driver)
    }

    pub(crate) fn maybe_int(&self, column: usize) -> Result<Option<i64>> {
        match self {
            Self::Sqlite(row) => row.try_get(column),
            Self::Postgres(row) => row.try_get(column),
        }
        .map_err(driver)
    }

    pub(crate) fn bytes(&self, column: usize) -> Result<Vec<u8>> {
        match self {
            Self::Sqlite(row) => row.try_get(column),
            Self::Postgres(row) => row.try_get(column),
        }
        .map_err(driver)
    }
}
