//! What can be wrong with a model, and why a text has no vector.

use std::fmt;
use std::time::Duration;

/// The files that a model consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFile {
    /// The vectors and weights of the tokens.
    Tensors,
    /// The text of the tokens.
    Vocabulary,
}

impl ModelFile {
    /// The file's name in the directory of a model.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tensors => "model.safetensors",
            Self::Vocabulary => "vocab.txt",
        }
    }
}

impl fmt::Display for ModelFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A model that cannot be used: which file, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {problem}")]
pub struct ModelError {
    pub file: ModelFile,
    /// For a person: what was found, and what was expected.
    pub problem: String,
}

impl ModelError {
    pub(super) fn tensors(problem: impl Into<String>) -> Self {
        Self { file: ModelFile::Tensors, problem: problem.into() }
    }

    pub(super) fn vocabulary(problem: impl Into<String>) -> Self {
        Self { file: ModelFile::Vocabulary, problem: problem.into() }
    }
}

/// Why texts could not be embedded. A static model never fails; a service does. Reasons are for the operator: they name
/// the service, and contain neither keys nor the texts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// It cannot be reached, is overloaded or too slow: the same texts may be embedded later.
    #[error("the embedding model is not available: {reason}")]
    Unavailable {
        /// What happened.
        reason: String,
        /// When it makes sense to try again, if that is known.
        retry_after: Option<Duration>,
    },
    /// It does not accept the request, for example because of its key, and will not until something is changed.
    #[error("the embedding model refused the request: {reason}")]
    Refused {
        /// What it refused, and what to change.
        reason: String,
    },
    /// Its answer is not one vector for each text.
    #[error("the answer of the embedding model cannot be used: {reason}")]
    Malformed {
        /// What was found, and what was expected.
        reason: String,
    },
}

impl EmbedError {
    /// Whether the same texts may be embedded later without any change.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Unavailable { .. } => true,
            Self::Refused { .. } | Self::Malformed { .. } => false,
        }
    }
}
