//! Why a storage operation failed.
//!
//! What a caller did wrong is not an error here but part of an operation's result: an error means that the storage
//! itself does not work. The exceptions are values that an engine cannot hold, which any operation can be given: both
//! engines reject them, so that nothing works on one and fails on the other.

pub type Result<T, E = StoreError> = std::result::Result<T, E>;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The URL names no engine that is supported, or cannot be parsed.
    #[error("{0}")]
    Url(String),
    /// The database could not be opened or brought up to date.
    #[error("cannot open the store: {0}")]
    Open(String),
    /// A statement failed: the disk is full, the connection is gone, the file is damaged.
    #[error("storage failed: {0}")]
    Failed(String),
    /// A text has a NUL character. PostgreSQL cannot hold one, so both engines reject it.
    #[error("a text with a NUL character in it cannot be stored")]
    Nul,
    /// A vector has a value that is not finite, or more than [`MAX_DIMENSIONS`](crate::MAX_DIMENSIONS). pgvector cannot
    /// hold it.
    #[error("a vector with a value that is not a finite number, or with more than 16,000 dimensions, cannot be stored")]
    InvalidVector,
    /// The store has been closed, or is closing.
    #[error("the store is closed")]
    Closed,
    /// More audit rows are queued than [`StoreOptions::queue`](crate::StoreOptions::queue) allows.
    #[error("the store has too many writes waiting")]
    Overloaded,
}

impl StoreError {
    pub(crate) fn failed(why: impl std::fmt::Display) -> Self {
        Self::Failed(why.to_string())
    }

    /// Not an `impl From`, which would make the driver's types part of this crate's interface.
    pub(crate) fn from_driver(error: &sqlx::Error) -> Self {
        if matches!(error, sqlx::Error::PoolClosed) { Self::Closed } else { Self::failed(error) }
    }
}

/// Clients are told that the storage does not work; the reason is for the log alone, because it can name hosts and files.
/// A text with a NUL or an invalid vector is the client's own to correct: nothing has to be repaired here.
impl From<StoreError> for mainstay_core::Error {
    fn from(error: StoreError) -> Self {
        if error == StoreError::Nul {
            return Self::invalid("A text has a NUL character (\\u0000) in it, which cannot be stored. Remove it.");
        }
        if error == StoreError::InvalidVector {
            return Self::invalid("A vector has a value that is not a finite number, or more than 16,000 dimensions.");
        }
        Self::unavailable("The server's storage is not working, so nothing was done. Try again, or ask the operator to look at its log.")
            .with_detail(error)
    }
}
