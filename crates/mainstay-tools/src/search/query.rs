//! What a search is asked for: the arguments of `vector_search`, and how they are given to the ranking.

use mainstay_core::{Error, Result};
use mainstay_search::document::tag_hash;
use mainstay_search::embedding::Embedder;
use mainstay_search::index::Snapshot;
use mainstay_search::ranking::{self, Filter, Granularity, Hit, Request, SearchError};
use serde::Deserialize;

use super::matches::Usage;
use super::workspace::provider_failure;

/// A longer query is a document, and its beginning would be all that counts.
const MAX_QUERY_BYTES: usize = 64 * 1024;

/// The name of what reranks; the number changes with the weights.
const RANKING: &str = "mainstay-ranking-1";

#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    /// What to find: a question or description in words, or a name.
    pub(super) query: Option<String>,
    /// Vector to compare with, in the place of the query's own.
    pub(super) embedding: Option<Vec<f32>>,
    /// Maximum number of matches.
    #[serde(default = "default_top_k")]
    #[schemars(range(min = 1, max = 50))]
    pub(super) top_k: usize,
    /// A root of the workspace ("." is the first), or a namespace of vector_upsert. Default: all roots.
    pub(super) namespace: Option<String>,
    #[serde(default)]
    pub(super) filter: FilterArgs,
    /// Return the vector of each match.
    #[serde(default)]
    pub(super) include_vectors: bool,
    /// Order by files, definitions and tokens, too; false: by vectors and words alone.
    #[serde(default = "default_rerank")]
    pub(super) rerank: bool,
    /// Maximum lines of each snippet; 0 for none.
    #[serde(default = "default_snippet_lines")]
    pub(super) snippet_lines: usize,
}

#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[schemars(inline)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FilterArgs {
    /// Only paths that begin with this, such as src/.
    pub(super) path_prefix: Option<String>,
    /// Only what has all of these: a language, a kind (function, method, type, section), test, docs, example, vendored, or
    /// a document's own tags.
    pub(super) tags: Vec<String>,
}

fn default_top_k() -> usize {
    5
}

fn default_rerank() -> bool {
    true
}

fn default_snippet_lines() -> usize {
    30
}

impl Args {
    /// What the schema cannot say.
    pub(super) fn check(&self) -> Result<()> {
        let query = self.query.as_deref().unwrap_or_default();
        if query.len() > MAX_QUERY_BYTES {
            let line = format!("The query has {} bytes; at most {MAX_QUERY_BYTES} are accepted.", query.len());
            return Err(Error::field("query", line));
        }
        if query.trim().is_empty() && self.embedding.is_none() {
            return Err(Error::field("query", "The query is empty; say in words what to find, or name it."));
        }
        // Nothing is near to a vector without a direction: "no matches" would be taken for an answer. Its length and values
        // that are no numbers are checked with the model.
        let is_zero = |embedding: &Vec<f32>| !embedding.is_empty() && embedding.iter().all(|value| *value == 0.0);
        if self.embedding.as_ref().is_some_and(is_zero) {
            return Err(Error::field(
                "embedding",
                "All values of the embedding are 0, so that nothing can be near to it.",
            ));
        }
        Ok(())
    }

    fn filter(&self) -> Filter {
        let prefix = self.filter.path_prefix.as_deref().unwrap_or_default();
        let mut filter = Filter { prefix: prefix.trim_start_matches("./").to_owned(), ..Filter::default() };
        for tag in &self.filter.tags {
            filter.require(tag);
        }
        filter
    }

    pub(super) fn request(&self) -> Request<'_> {
        Request {
            query: self.query.as_deref().unwrap_or_default(),
            embedding: self.embedding.as_deref(),
            filter: self.filter(),
            top_k: self.top_k,
            rerank: self.rerank,
            granularity: Granularity::Guess,
            ..Request::default()
        }
    }
}

impl FilterArgs {
    pub(super) fn is_empty(&self) -> bool {
        self.path_prefix.as_deref().unwrap_or_default().is_empty() && self.tags.is_empty()
    }

    /// The filter for documents of a namespace, of which `only` those with these ids may be found. Their tags are their
    /// authors' own.
    pub(super) fn of_namespace(&self, only: Option<Vec<String>>) -> Filter {
        let own_tags = self.tags.iter().map(|tag| tag_hash(tag)).collect();
        Filter { only: only.map(|ids| ids.into_iter().collect()), own_tags, ..Filter::default() }
    }
}

/// Searches a snapshot, and says what ran.
pub(super) fn ranked(snapshot: &Snapshot, embedder: &dyn Embedder, request: &Request<'_>) -> Result<(Vec<Hit>, Usage)> {
    let answer = ranking::search(snapshot, embedder, request).map_err(search_failure)?;
    let usage = Usage {
        embedding_model: answer.usage.dense.then(|| embedder.id().to_owned()),
        embed_time_ms: answer.usage.embed_time.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
        rerank_model: answer.usage.ranking.then(|| RANKING.to_owned()),
    };
    Ok((answer.hits, usage))
}

/// Why a search has no answer, as an error of a call.
pub(super) fn search_failure(error: SearchError) -> Error {
    match error {
        SearchError::Embedding(error) => Error::field("embedding", format!("{}.", capitalized(&error.to_string()))),
        SearchError::Unavailable(error) => provider_failure(&error),
        SearchError::NoSuchDocument => Error::field("path", "The index has no such file; see index_status."),
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
