//! Failures of the files of an index and of a model behind HTTP, in words.

use std::io::ErrorKind;

use mainstay_core::Error;
use mainstay_search::embedding::EmbedError;
use mainstay_search::index::IndexError;

/// The index of a workspace cannot be read or written. It is a cache: nothing of the workspace is lost.
pub(in crate::search) fn index_failure(error: &IndexError) -> Error {
    let kind = match error {
        IndexError::Io(error) => error.kind(),
        IndexError::Segment(_) => ErrorKind::InvalidData,
    };
    // The last one is a limit on the size of files (`ulimit -f`), where that does not end the process.
    let is_full = matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge);
    let reason = if is_full {
        "No space is left for the search index in the data directory; free some and search again."
    } else if matches!(kind, ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) {
        "The search index cannot be written; check the permissions of the data directory."
    } else {
        "The search index cannot be used now; the server's log has the reason. index_refresh with rebuild makes a new one."
    };
    Error::vector_store_unavailable(reason).with_detail(error)
}

/// A model behind HTTP gave no vectors.
pub(in crate::search) fn provider_failure(error: &EmbedError) -> Error {
    let line = match error {
        EmbedError::Unavailable { .. } => {
            format!("The embedding provider does not answer: {error}. Try again later.")
        }
        EmbedError::Refused { .. } | EmbedError::Malformed { .. } => {
            format!("The embedding provider cannot be used: {error}. The operator has to correct search.provider.")
        }
    };
    Error::vector_store_unavailable(line)
}
