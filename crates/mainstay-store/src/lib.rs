//! Storage operations on two engines, SQLite and PostgreSQL, that pass one test suite.
//!
//! Only this crate knows SQL. The engine is chosen by URL at run time: `sqlite:PATH` or `postgres://…`. Every write goes
//! through one writer that groups commits, and is on disk when its future resolves. Time comes in as an argument.

mod audit;
mod error;
mod migrate;
mod operations;
mod options;
mod sql;
mod store;
mod url;
mod writer;

pub use audit::{AuditEntry, AuditFault, AuditHead, AuditQuery, AuditReport, AuditRow, AuditSegment, Phase};
pub use error::{Result, StoreError};
pub use operations::*;
pub use options::StoreOptions;
pub use store::Store;
pub use url::sqlite_file;
pub use writer::WriteMode;
