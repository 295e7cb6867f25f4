//! Search in a database that finds candidates itself.

use std::sync::Arc;

use mainstay_core::{Error, Result};
use mainstay_search::document::{term_hash, versions};
use mainstay_search::embedding::Embedder;
use mainstay_search::index::{Snapshot, Statistics, TermCounts};
use mainstay_search::ranking::query_words;
use mainstay_store::{SearchCandidates, Store, WordFrequency};

use super::super::query::Args;
use super::prepared::restored;
use super::{NamespaceSnapshot, within_limit};
use crate::progress::blocking;

/// How many chunks the database finds by vector, and how many by words. Ranking an index in files compares as many.
const CANDIDATES: u32 = 200;

/// The candidates of a search; `None` if the database cannot find any by itself. The arguments have the query's vector.
pub(super) async fn find(
    store: &Store,
    embedder: Arc<dyn Embedder>,
    namespace: &str,
    args: &Args,
) -> Result<Option<NamespaceSnapshot>> {
    // Ranking refuses a vector of another length with its reason; a database would find nothing.
    let vector = args.embedding.as_deref().filter(|vector| vector.len() == embedder.dimensions());
    let words = query_words(args.query.as_deref().unwrap_or_default());
    let search = store.search();
    let found = within_limit(search.candidates(namespace, vector, &words, CANDIDATES)).await?;
    let Some(found) = found else { return Ok(None) };
    blocking(move || searched(&found, &*embedder).map(Some)).await
}

fn searched(found: &SearchCandidates, embedder: &dyn Embedder) -> Result<NamespaceSnapshot> {
    let documents: Result<Vec<_>> = found.documents.iter().map(|document| restored(document, embedder)).collect();
    let snapshot = Snapshot::in_memory(&documents?, &versions(embedder)).map_err(Error::internal)?;
    let counts = |WordFrequency { word, documents, chunks }: &WordFrequency| {
        (term_hash(word), TermCounts { chunks: *chunks, documents: *documents })
    };
    let statistics = Statistics {
        chunks: found.total_chunks,
        documents: found.total_documents,
        terms: found.frequencies.iter().map(counts).collect(),
    };
    Ok(NamespaceSnapshot { snapshot: Arc::new(snapshot), statistics: Some(statistics) })
}
