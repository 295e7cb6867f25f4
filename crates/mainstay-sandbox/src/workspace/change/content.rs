//! What a file is to contain after a change.

use crate::workspace::file::OpenFile;

/// New content of a file.
#[derive(Debug)]
pub enum Content {
    Bytes(Vec<u8>),
    /// The content of another file, copied while the change is prepared.
    Copy(OpenFile),
    /// The present content of a file, followed by `more`.
    Append {
        to: OpenFile,
        more: Vec<u8>,
    },
}
