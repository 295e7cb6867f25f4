//! Why a storage verb failed.

pub type Result<T, E = StoreError> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The URL names no engine we have, or cannot be read.
    #[error("{0}")]
    Url(String),
    /// The database could not be opened or brought up to date.
    #[error("cannot open the store: {0}")]
    Open(String),
    /// A statement failed: the disk is full, the connection is gone, the file is damaged.
    #[error("storage failed: {0}")]
    Failed(String),
    /// The store is shutting down, or takes no more work.
    #[error("the store is closed")]
    Closed,
    /// More writes are waiting than the store will hold.
    #[error("the store has too many writes waiting")]
    Overloaded,
}

impl From<StoreError> for mainstay_core::Error {
    fn from(error: StoreError) -> Self {
        Self::unavailable("The server's storage is not working, so nothing was done. Try again, or ask the operator to look at its log.")
            .with_detail(error)
    }
}
