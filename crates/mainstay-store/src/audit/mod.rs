//! How the audit log is stored: rows in pages, and a chain of hashes over the rows.
//!
//! A page holds the rows that one commit of the writer took along. One table row for each audit row would be simpler,
//! and was measured (`examples/audit_rate.rs`): 7.2 µs of CPU per row, 10.4 µs with the indexes an operator would want,
//! against 2.1 µs for a page of binary rows and 1 µs more for a page of JSON. A call costs the server about 50 µs, so
//! plain rows would leave it 0.86 of its calls per second. Pages are JSON, and the view `audit` shows them as plain rows
//! with named columns, which an operator can query with SQL on either engine.
//!
//! The oldest rows can be moved to files (`segment.rs`); the chain runs through them into the pages.
//!
//! What a query returns is decoded from the very text that the chain covers. Whoever can write the whole database can
//! also write a new chain; a copy of the head, kept elsewhere, shows that too.

mod chain;
mod index;
mod query;
mod rows;
mod segment;
mod types;
mod verify;

pub(crate) use chain::{Tip, append, check_head, contains};
pub(crate) use index::Index;
pub(crate) use query::query;
pub(crate) use rows::EncodedRows;
pub use segment::AuditSegment;
pub(crate) use segment::{SegmentOperation, commit, delete_file, mark_removed, segments, write_oldest};
pub use types::{AuditEntry, AuditFault, AuditHead, AuditQuery, AuditReport, AuditRow, Phase};
pub(crate) use verify::verify;
