//! One interface to both engines.
//!
//! Both understand `$1`, `ON CONFLICT` and `RETURNING`, so most statements are written once; where the engines
//! differ, [`Engine::pick`] picks the text. The drivers have the same methods but no common type, so each call is
//! dispatched here, and nothing outside of this module names a driver.

mod connect_options;
mod connection;
mod readers;
mod select;
mod value;

pub(crate) use connection::{Conn, Connector, Engine, WriteConnection};
pub(crate) use readers::Readers;
pub(crate) use select::Select;
pub(crate) use value::{Columns, FromColumns, Param, ToParam, from_columns, params, read_json};

/// Maps an error of either driver.
#[expect(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn driver(error: sqlx::Error) -> crate::StoreError {
    crate::StoreError::from_driver(&error)
}
