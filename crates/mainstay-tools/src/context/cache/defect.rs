//! What is wrong with a cache.

use std::fmt;

use mainstay_core::Error;

use super::error::Failure;

const LONGEST: usize = 300;

/// One thing that is not as it was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// Where, in the cache.
    file: String,
    what: String,
    /// What whoever reads files for a living wants to know besides.
    detail: Option<String>,
}

impl Flaw {
    /// A cache that somebody has made up may have names of any length; of those the beginning has to do.
    pub(crate) fn new(file: impl AsRef<str>, what: impl AsRef<str>) -> Self {
        let told = |text: &str| text.chars().take(LONGEST).collect();
        Self { file: told(file.as_ref()), what: told(what.as_ref()), detail: None }
    }

    pub(crate) fn because(self, detail: &dyn fmt::Display) -> Self {
        Self { detail: Some(detail.to_string()), ..self }
    }

    /// The error for somebody who asked this cache for something.
    pub(crate) fn error(self, cache: &str) -> Error {
        let Self { file, what, detail } = self;
        let told = format!("The cache {cache} is not as it was built ({file}: {what}). Build it anew.");
        let error = Failure::CacheInvalid.error(told);
        match detail {
            Some(detail) => error.with_detail(detail),
            None => error,
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.what)?;
        self.detail.as_ref().map_or(Ok(()), |detail| write!(f, " ({detail})"))
    }
}
