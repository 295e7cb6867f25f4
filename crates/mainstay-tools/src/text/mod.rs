//! Text as the file tools handle it: lines, encodings, replacement, times.

pub(crate) mod encoding;
pub(crate) mod excerpt;
pub(crate) mod line;
pub(crate) mod replace;

use mainstay_sandbox::Metadata;

/// The modification time in ISO 8601, in UTC, as exact as the file system has it: the format of all file tools.
pub(crate) fn modified(metadata: &Metadata) -> String {
    let (seconds, nanos) = metadata.modified;
    jiff::Timestamp::new(seconds, i32::try_from(nanos).unwrap_or(0)).unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string()
}
