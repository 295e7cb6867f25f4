//! How a file's times and kinds are told.

use mainstay_sandbox::Metadata;

/// ISO-8601 in UTC, as exact as the file system has it.
pub(crate) fn modified(facts: &Metadata) -> String {
    let (seconds, nanos) = facts.modified;
    jiff::Timestamp::new(seconds, i32::try_from(nanos).unwrap_or(0)).unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string()
}
