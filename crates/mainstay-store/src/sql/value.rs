//! Values on their way into a statement, and out of a row.

use sqlx::postgres::PgRow;
use sqlx::query::Query;
use sqlx::sqlite::SqliteRow;
use sqlx::{Database, Decode, Encode, Postgres, Row as _, SqlSafeStr, Sqlite, Type};

use super::driver;
use crate::{Result, StoreError};

/// A value that is bound to a statement. Owned, because a write outlives the call that asked for it.
#[derive(Debug, Clone)]
pub(crate) enum Param {
    Int(i64),
    /// `None` is NULL.
    Text(Option<String>),
    Bytes(Vec<u8>),
}

/// What can be a value of [`params!`]. References are as good as values, because transactions get their arguments by
/// reference.
pub(crate) trait ToParam {
    fn to_param(&self) -> Param;
}

/// The values of a statement, in the order of its `$1`, `$2`, …
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        [$($crate::sql::ToParam::to_param(&$value)),*]
    };
}
pub(crate) use params;

impl<T: ToParam + ?Sized> ToParam for &T {
    fn to_param(&self) -> Param {
        (**self).to_param()
    }
}

impl ToParam for i64 {
    fn to_param(&self) -> Param {
        Param::Int(*self)
    }
}

impl ToParam for u32 {
    fn to_param(&self) -> Param {
        Param::Int(i64::from(*self))
    }
}

/// Neither engine's boolean: SQLite has none, so tables have 0 and 1.
impl ToParam for bool {
    fn to_param(&self) -> Param {
        Param::Int(i64::from(*self))
    }
}

impl ToParam for str {
    fn to_param(&self) -> Param {
        Param::Text(Some(self.to_owned()))
    }
}

impl ToParam for String {
    fn to_param(&self) -> Param {
        self.as_str().to_param()
    }
}

impl ToParam for Option<String> {
    fn to_param(&self) -> Param {
        Param::Text(self.clone())
    }
}

impl ToParam for Vec<u8> {
    fn to_param(&self) -> Param {
        Param::Bytes(self.clone())
    }
}

/// Binds the values for either driver.
///
/// PostgreSQL cannot hold a NUL in text. It is rejected on both engines, so that nothing works on one and fails on the
/// other.
pub(super) fn bind<DB: Database>(
    sql: impl SqlSafeStr,
    params: &[Param],
) -> Result<Query<'static, DB, <DB as Database>::Arguments>>
where
    i64: for<'v> Encode<'v, DB> + Type<DB>,
    Option<String>: for<'v> Encode<'v, DB> + Type<DB>,
    Vec<u8>: for<'v> Encode<'v, DB> + Type<DB>,
{
    let mut query = sqlx::query(sql);
    for param in params {
        query = match param {
            Param::Int(value) => query.bind(*value),
            Param::Text(Some(text)) if text.contains('\0') => {
                return Err(StoreError::failed("a text with a NUL character in it cannot be stored"));
            }
            Param::Text(text) => query.bind(text.clone()),
            Param::Bytes(bytes) => query.bind(bytes.clone()),
        };
    }
    Ok(query)
}

/// A type that both drivers can read from a column.
pub(crate) trait Column:
    for<'r> Decode<'r, Sqlite> + Type<Sqlite> + for<'r> Decode<'r, Postgres> + Type<Postgres>
{
}

impl<T> Column for T where T: for<'r> Decode<'r, Sqlite> + Type<Sqlite> + for<'r> Decode<'r, Postgres> + Type<Postgres> {}

/// A row of a result, of either engine.
pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl From<SqliteRow> for Row {
    fn from(row: SqliteRow) -> Self {
        Self::Sqlite(row)
    }
}

impl From<PgRow> for Row {
    fn from(row: PgRow) -> Self {
        Self::Postgres(row)
    }
}

impl Row {
    /// Fails if the column is of another type, or NULL where `T` is not an `Option`.
    pub(crate) fn get<T: Column>(&self, column: usize) -> Result<T> {
        match self {
            Self::Sqlite(row) => row.try_get(column),
            Self::Postgres(row) => row.try_get(column),
        }
        .map_err(driver)
    }

    /// A column of 0 or 1.
    pub(crate) fn flag(&self, column: usize) -> Result<bool> {
        Ok(self.get::<i64>(column)? != 0)
    }
}
