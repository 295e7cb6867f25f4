//! A query whose conditions depend on what the caller filters by.

use std::fmt::Write as _;

use sqlx::AssertSqlSafe;

use super::{FromColumns, Param, Readers, ToParam as _};
use crate::Result;

/// A SELECT that is put together from constant pieces; values are only ever bound.
///
/// Conditions that are not in use are left out of the text rather than written as `$3 IS NULL OR owner = $3`: that form
/// keeps both engines from using an index. Each driver keeps the few texts that result prepared.
pub(crate) struct Select {
    sql: String,
    params: Vec<Param>,
}

impl Select {
    /// Begins with a text that has a WHERE clause, and the values that this text refers to.
    pub(crate) fn new(sql: &'static str, params: impl Into<Vec<Param>>) -> Self {
        Self { sql: sql.to_owned(), params: params.into() }
    }

    /// Keeps rows with this value in the column; without a value, all rows.
    pub(crate) fn filter(mut self, column: &'static str, value: Option<&str>) -> Self {
        if let Some(value) = value {
            self.params.push(value.to_param());
            // Writing to a String cannot fail.
            let _ = write!(self.sql, " AND {column} = ${}", self.params.len());
        }
        self
    }

    /// Adds text that has no values, such as an order.
    pub(crate) fn then(mut self, sql: &'static str) -> Self {
        self.sql.push_str(sql);
        self
    }

    pub(crate) fn limit(mut self, rows: u32) -> Self {
        self.params.push(rows.to_param());
        let _ = write!(self.sql, " LIMIT ${}", self.params.len());
        self
    }

    pub(crate) async fn all<T: FromColumns>(self, readers: &Readers) -> Result<Vec<T>> {
        readers.all(AssertSqlSafe(self.sql), &self.params).await
    }
}
