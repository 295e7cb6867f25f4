//! The time format of all file tools.

use mainstay_sandbox::Metadata;

/// The modification time in ISO 8601, in UTC, as exact as the file system has it.
pub(crate) fn modified(metadata: &Metadata) -> String {
    let (seconds, nanos) = metadata.modified;
    jiff::Timestamp::new(seconds, i32::try_from(nanos).unwrap_or(0)).unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string()
}
