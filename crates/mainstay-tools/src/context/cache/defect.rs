//! What is wrong with a cache.

use std::fmt;

use mainstay_core::{CacheFailure, Error};

const MAX_CHARS: usize = 300;

/// One part of a cache that is not as it was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defect {
    /// Path of the file in the cache.
    file: String,
    problem: String,
    /// The parser's message, for the operator.
    detail: Option<String>,
}

impl Defect {
    /// A manipulated cache may hold names of any length; both texts are cut.
    pub(crate) fn new(file: impl AsRef<str>, problem: impl AsRef<str>) -> Self {
        let cut = |text: &str| text.chars().take(MAX_CHARS).collect();
        Self { file: cut(file.as_ref()), problem: cut(problem.as_ref()), detail: None }
    }

    pub(crate) fn with_detail(self, detail: &dyn fmt::Display) -> Self {
        Self { detail: Some(detail.to_string()), ..self }
    }

    /// The error of a call that needed this cache.
    pub(crate) fn into_error(self, cache: &str) -> Error {
        let Self { file, problem, detail } = self;
        let message = format!("The cache {cache} is damaged ({file}: {problem}). Build it again.");
        let error = CacheFailure::CacheInvalid.error(message);
        match detail {
            Some(detail) => error.with_detail(detail),
            None => error,
        }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.problem)?;
        self.detail.as_ref().map_or(Ok(()), |detail| write!(f, " ({detail})"))
    }
}
