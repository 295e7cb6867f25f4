//! The settings of a provider.

use std::fmt;
use std::path::PathBuf;

use mainstay_core::{Error, Result};
use mainstay_search::vectors::MAX_DIMENSIONS;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::address::host_of;
use crate::defaults::number;

/// The most texts that OpenAI takes in one request.
const MAX_BATCH: usize = 2048;
/// Each is a connection and a body in memory.
const MAX_CONCURRENT: usize = 256;
/// Ten minutes. No search waits longer, and clocks can add it without overflow.
const MAX_TIMEOUT_MS: u64 = 600_000;

/// An embedding model behind an OpenAI-compatible HTTP API.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EmbeddingProvider {
    /// URL of the endpoint, such as `https://api.openai.com/v1/embeddings`. `http` is for this machine and private networks.
    /// API keys belong into `key_file`.
    pub url: String,
    /// Name of the model. Documents are embedded again when it changes, so a changed model needs a new name.
    pub model: String,
    /// How many numbers a vector of the model has.
    #[schemars(range(min = 1, max = 4096))]
    pub dimensions: usize,
    /// File with the API key, readable by this user alone and out of reach of the tools for files and commands. Default: no
    /// key is sent.
    #[serde(default)]
    pub key_file: Option<PathBuf>,
    /// Asks the model to shorten its vectors to `dimensions`, which not all models can.
    #[serde(default)]
    pub request_dimensions: bool,
    /// Allows `http` to a public host. Only without a key.
    #[serde(default)]
    pub allow_http: bool,
    /// Maximum number of texts in one request.
    #[serde(default = "number::<usize, 64>")]
    #[schemars(range(min = 1, max = 2048))]
    pub batch: usize,
    /// Maximum duration of one request, with a second attempt, in milliseconds.
    #[serde(default = "number::<u64, 10_000>")]
    #[schemars(range(min = 1, max = 600_000))]
    pub timeout_ms: u64,
    /// Maximum number of requests at a time. Indexing leaves one of them to searches.
    #[serde(default = "number::<usize, 4>")]
    #[schemars(range(min = 1, max = 256))]
    pub concurrent: usize,
}

/// Of the URL the host alone: some providers take keys in the path or the query.
impl fmt::Debug for EmbeddingProvider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("EmbeddingProvider")
            .field("url", &host_of(&self.url))
            .field("model", &self.model)
            .field("dimensions", &self.dimensions)
            .field("key_file", &self.key_file)
            .field("request_dimensions", &self.request_dimensions)
            .field("allow_http", &self.allow_http)
            .field("batch", &self.batch)
            .field("timeout_ms", &self.timeout_ms)
            .field("concurrent", &self.concurrent)
            .finish()
    }
}

impl EmbeddingProvider {
    /// Checks the numbers and the name. URL and key file are checked where they are read.
    pub(super) fn check(&self) -> Result<()> {
        let number = |value: usize| u64::try_from(value).unwrap_or(u64::MAX);
        for (name, value, most) in [
            ("dimensions", number(self.dimensions), number(MAX_DIMENSIONS)),
            ("batch", number(self.batch), number(MAX_BATCH)),
            ("concurrent", number(self.concurrent), number(MAX_CONCURRENT)),
            ("timeout_ms", self.timeout_ms, MAX_TIMEOUT_MS),
        ] {
            if !(1..=most).contains(&value) {
                return Err(Error::invalid(format!("`{name}` of the embedding provider is {value}; use 1 to {most}.")));
            }
        }
        if self.model.trim().is_empty() {
            return Err(Error::invalid("`model` of the embedding provider is empty; name one that it serves."));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(changes: &serde_json::Value) -> serde_json::Result<EmbeddingProvider> {
        let mut settings =
            json!({"url": "https://a.example/v1/embeddings?key=canary", "model": "small", "dimensions": 384});
        for (name, value) in changes.as_object().unwrap() {
            settings[name] = value.clone();
        }
        serde_json::from_value(settings)
    }

    #[test]
    fn what_is_not_given_has_a_default_and_what_is_unknown_is_an_error() {
        let read = settings(&json!({})).unwrap();
        assert_eq!((read.batch, read.timeout_ms, read.concurrent), (64, 10_000, 4));
        assert!(read.key_file.is_none() && !read.request_dimensions && !read.allow_http);
        assert!(read.check().is_ok());
        assert!(settings(&json!({"bacth": 1})).unwrap_err().to_string().contains("bacth"));
        assert!(!format!("{read:?}").contains("canary"));
    }

    #[test]
    fn numbers_outside_of_their_range_are_named() {
        for (name, value) in [("dimensions", 0), ("dimensions", 4097), ("batch", 0), ("batch", 2049), ("concurrent", 0)]
        {
            let error = settings(&json!({ name: value })).unwrap().check().unwrap_err();
            assert!(error.public.contains(name) && error.public.contains(&value.to_string()), "{}", error.public);
        }
        assert!(settings(&json!({"timeout_ms": 0})).unwrap().check().is_err());
        assert!(settings(&json!({"timeout_ms": u64::MAX})).unwrap().check().is_err());
        assert!(settings(&json!({"model": " "})).unwrap().check().is_err());
    }
}
