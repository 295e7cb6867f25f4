//! What can be wrong with a model.

use std::fmt;

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
