//! Values on their way into a statement, and out of a row.

use serde::de::DeserializeOwned;
use sqlx::postgres::PgRow;
use sqlx::query::Query;
use sqlx::sqlite::SqliteRow;
use sqlx::{Database, Encode, Row as _, SqlSafeStr, Type};

use super::driver;
use crate::{Result, StoreError};

/// A value that is bound to a statement. Owned, because a write outlives the call that asked for it.
#[derive(Debug, Clone)]
pub(crate) enum Param {
    /// `None` is NULL.
    Int(Option<i64>),
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

macro_rules! int_params {
    ($($type:ty),*) => {$(
        impl ToParam for $type {
            fn to_param(&self) -> Param {
                Param::Int(Some(i64::from(*self)))
            }
        }
    )*};
}
// Not either engine's boolean for `bool`: SQLite has none, so tables have 0 and 1.
int_params!(i64, u32, bool);

impl ToParam for Option<i64> {
    fn to_param(&self) -> Param {
        Param::Int(*self)
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
    Option<i64>: for<'v> Encode<'v, DB> + Type<DB>,
    Option<String>: for<'v> Encode<'v, DB> + Type<DB>,
    Vec<u8>: for<'v> Encode<'v, DB> + Type<DB>,
{
    let mut query = sqlx::query(sql);
    for param in params {
        query = match param {
            Param::Int(value) => query.bind(*value),
            Param::Text(Some(text)) if text.contains('\0') => return Err(StoreError::Nul),
            Param::Text(text) => query.bind(text.clone()),
            Param::Bytes(bytes) => query.bind(bytes.clone()),
        };
    }
    Ok(query)
}

/// A row of a result, of either engine.
pub(super) enum Row {
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
    pub(super) fn read<T: FromColumns>(&self) -> Result<T> {
        T::read(&mut Columns { row: self, next: 0 })
    }
}

/// The columns of a row, which are read from left to right.
pub(crate) struct Columns<'r> {
    row: &'r Row,
    next: usize,
}

/// What can be read from a row: the value of a column, or several values one after the other. Fails if a column is of
/// another type, or NULL where the type is not an `Option`.
pub(crate) trait FromColumns: Sized {
    fn read(columns: &mut Columns<'_>) -> Result<Self>;
}

macro_rules! read_one_column {
    ($($type:ty),*) => {$(
        impl FromColumns for $type {
            fn read(columns: &mut Columns<'_>) -> Result<Self> {
                columns.next += 1;
                match columns.row {
                    Row::Sqlite(row) => row.try_get(columns.next - 1),
                    Row::Postgres(row) => row.try_get(columns.next - 1),
                }
                .map_err(driver)
            }
        }
    )*};
}
read_one_column!(i64, Option<i64>, String, Option<String>, Vec<u8>, Option<Vec<u8>>);

/// A column of 0 or 1.
impl FromColumns for bool {
    fn read(columns: &mut Columns<'_>) -> Result<Self> {
        i64::read(columns).map(|flag| flag != 0)
    }
}

macro_rules! read_tuple {
    ($($type:ident)*) => {
        impl<$($type: FromColumns),*> FromColumns for ($($type,)*) {
            fn read(columns: &mut Columns<'_>) -> Result<Self> {
                Ok(($($type::read(columns)?,)*))
            }
        }
    };
}
read_tuple!(A B);
read_tuple!(A B C);

/// A column of JSON text.
pub(crate) fn read_json<T: DeserializeOwned>(columns: &mut Columns<'_>) -> Result<T> {
    serde_json::from_str(&String::read(columns)?).map_err(StoreError::failed)
}

/// Reads a struct from columns that have the order of these fields. `field: function` reads a field with a function of
/// its own; any other field by its type, which may again be a struct of several columns.
macro_rules! from_columns {
    ($type:ident { $($field:ident $(: $read:path)?),* $(,)? }) => {
        impl $crate::sql::FromColumns for $type {
            fn read(columns: &mut $crate::sql::Columns<'_>) -> $crate::Result<Self> {
                Ok(Self { $($field: $crate::sql::from_columns!(@read $($read)?)(columns)?),* })
            }
        }
    };
    (@read) => { $crate::sql::FromColumns::read };
    (@read $read:path) => { $read };
}
pub(crate) use from_columns;
