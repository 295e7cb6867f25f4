//! The configuration section `search`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::provider::EmbeddingProvider;

/// Search by meaning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SearchSettings {
    /// Maximum size of a file that is indexed, in bytes. A larger one is left out.
    pub file_bytes: u64,
    /// Memory for files that wait to be written to the index while it is built, in bytes. With more there are fewer, larger
    /// writes.
    #[schemars(range(min = 1_048_576))]
    pub memory_bytes: u64,
    /// Whether directories are watched for changes. Otherwise, and where they cannot be watched, each search looks at all
    /// files, at most once in a second.
    pub watch: bool,
    /// A directory with another embedding model (model.safetensors, vocab.txt), in the place of the built-in one.
    pub model_dir: Option<PathBuf>,
    /// An embedding model behind HTTP, in the place of the built-in one.
    pub provider: Option<EmbeddingProvider>,
    /// What the provider is used for. The rest is done by the built-in model, which needs no service.
    pub provider_for: ProviderUse,
    /// Maximum number of documents in one namespace.
    pub namespace_documents: u64,
    /// Maximum size of one namespace, in bytes: its texts, and what is prepared of them for searches.
    pub namespace_bytes: u64,
    /// Maximum number of namespaces.
    pub namespaces: u64,
}

/// What an embedding provider is used for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProviderUse {
    /// Documents that agents put into namespaces.
    #[default]
    Namespaces,
    /// Those, and the files of the workspace.
    Everything,
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self {
            file_bytes: 2 * 1024 * 1024,
            memory_bytes: 128 * 1024 * 1024,
            watch: true,
            model_dir: None,
            provider: None,
            provider_for: ProviderUse::default(),
            namespace_documents: 100_000,
            namespace_bytes: 256 * 1024 * 1024,
            namespaces: 1000,
        }
    }
}
