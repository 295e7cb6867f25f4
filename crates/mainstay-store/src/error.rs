//! Why a storage verb failed.

pub type Result<T, E = StoreError> = std::result::Result<T, E>;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
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

impl StoreError {
    pub(crate) fn failed(why: impl std::fmt::Display) -> Self {
        Self::Failed(why.to_string())
    }

    pub(crate) fn open(why: impl std::fmt::Display) -> Self {
        Self::Open(why.to_string())
    }

    /// Not an `impl From`: the driver's types stay inside this crate.
    pub(crate) fn from_driver(error: &sqlx::Error) -> Self {
        if matches!(error, sqlx::Error::PoolClosed) { Self::Closed } else { Self::failed(error) }
    }
}

impl From<StoreError> for mainstay_core::Error {
    fn from(error: StoreError) -> Self {
        Self::unavailable("The server's storage is not working, so nothing was done. Try again, or ask the operator to look at its log.")
            .with_detail(error)
    }
}
