//! Why something about a cache did not work: the six reasons of the contract, which are frozen.

use mainstay_core::{Error, Kind};
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    CacheMissing,
    CacheInvalid,
    InvalidQuery,
    InvalidBudget,
    Io,
    Internal,
}

impl Failure {
    pub const ALL: [Self; 6] =
        [Self::CacheMissing, Self::CacheInvalid, Self::InvalidQuery, Self::InvalidBudget, Self::Io, Self::Internal];

    /// The contract's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CacheMissing => "cache_missing",
            Self::CacheInvalid => "cache_invalid",
            Self::InvalidQuery => "invalid_query",
            Self::InvalidBudget => "invalid_budget",
            Self::Io => "io_error",
            Self::Internal => "internal_error",
        }
    }

    const fn kind(self) -> Kind {
        match self {
            Self::CacheMissing => Kind::NotFound,
            Self::CacheInvalid | Self::Io => Kind::Unavailable,
            Self::InvalidQuery | Self::InvalidBudget => Kind::Invalid,
            Self::Internal => Kind::Internal,
        }
    }

    /// The reason that an error was made with; without one it is a fault of ours.
    pub fn of(error: &Error) -> Self {
        let word = error.data.as_deref().and_then(|data| data.get("code")).and_then(Value::as_str);
        Self::ALL.into_iter().find(|failure| Some(failure.as_str()) == word).unwrap_or(Self::Internal)
    }

    /// An error with this reason; `public` says more.
    pub(crate) fn error(self, public: impl Into<String>) -> Error {
        Error::new(self.kind(), public.into()).with_data(json!({ "code": self.as_str() }))
    }

    /// The same about an error of the system's, which keeps what it has for the log.
    pub(crate) fn because(self, public: impl Into<String>, cause: &Error) -> Error {
        let detail = cause.detail.as_deref().map_or_else(|| cause.public.to_string(), str::to_owned);
        self.error(public).with_detail(detail)
    }
}

/// Whether something is not there, or is not what it should be, as opposed to a system that does not let us see.
pub(crate) fn is_absent(error: &Error) -> bool {
    matches!(error.kind, Kind::NotFound | Kind::Invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_an_error_is_found_again() {
        for failure in Failure::ALL {
            assert_eq!(Failure::of(&failure.error("x")), failure);
        }
        assert_eq!(Failure::of(&Error::internal("x")), Failure::Internal);
        assert_eq!(Failure::of(&Error::invalid("x")), Failure::Internal);
    }
}
