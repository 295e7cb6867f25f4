//! Searches a namespace of the store.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use mainstay_core::Result;
use mainstay_search::embedding::Embedder;
use mainstay_search::ranking::{MAX_QUERY_BYTES, Request};
use mainstay_store::StoredSearchDocument;

use super::matches::{Match, Matches, snippet};
use super::query::{Args, ranked, search_failure};
use super::search_tools::SearchTools;
use crate::progress::blocking;

impl SearchTools {
    /// Searches a namespace of the store.
    pub(super) async fn search_namespace(&self, args: Args) -> Result<Matches> {
        let namespaces = self.namespaces();
        let name = args.namespace.clone().unwrap_or_default();
        let found = namespaces.find(&name).await?;
        // In an index, documents have their ids for paths.
        let only = match args.filter.path_prefix.as_deref().filter(|prefix| !prefix.is_empty()) {
            Some(prefix) => Some(namespaces.ids_with_prefix(&name, prefix).await?),
            None => None,
        };
        // A model behind HTTP is asked on a thread that may block, and once for each search.
        let (args, embed_time) = with_embedding(namespaces.embedder()?.clone(), args).await?;
        let searched = namespaces.searched(&found, &args).await?;
        let embedder = namespaces.embedder()?.clone();
        let snapshot = searched.snapshot.clone();
        let (hits, mut usage, args) = blocking(move || {
            let filter = args.filter.of_namespace(only);
            let request = Request { filter, statistics: searched.statistics.as_ref(), ..args.request() };
            let (hits, usage) = ranked(&snapshot, &*embedder, &request)?;
            Ok((hits, usage, args))
        })
        .await?;
        usage.embed_time_ms = embed_time.or(usage.embed_time_ms);
        let ids: Vec<String> = hits.iter().map(|hit| hit.path.clone()).collect();
        let documents = namespaces.documents(&name, &ids).await?;
        let documents: HashMap<String, StoredSearchDocument> =
            documents.into_iter().map(|document| (document.id.clone(), document)).collect();
        let mut matches = Vec::with_capacity(hits.len());
        for hit in hits {
            // Deleted since it was found.
            let Some(document) = documents.get(&hit.path) else { continue };
            let part = searched.snapshot.parts.get(hit.place.0).filter(|_| args.include_vectors);
            let vector = part.and_then(|part| part.segment.unit_vector(hit.place.1));
            let text = Some(document.text.as_bytes()).filter(|_| args.snippet_lines > 0);
            let text = text.and_then(|text| snippet(text, hit.start_byte, hit.end_byte, args.snippet_lines));
            let id = match document.chunks {
                0 | 1 => document.id.clone(),
                _ => format!("{}:{}-{}", document.id, hit.first_line, hit.last_line),
            };
            let mut one = Match::of(hit, document.path.clone(), None);
            one.metadata.tags.extend(document.tags.iter().cloned());
            one.metadata.etag = Some(document.etag.clone());
            (one.id, one.metadata.snippet, one.vector) = (id, text, vector);
            matches.push(one);
        }
        Ok(Matches { matches, usage })
    }
}

/// The arguments with the query's vector, and how long the model took for it.
async fn with_embedding(embedder: Arc<dyn Embedder>, mut args: Args) -> Result<(Args, Option<u64>)> {
    let is_asked = args.embedding.is_none() && args.query.as_deref().is_some_and(|query| !query.trim().is_empty());
    if !is_asked {
        return Ok((args, None));
    }
    blocking(move || {
        let began = Instant::now();
        let mut vector = Vec::new();
        let query = args.query.as_deref().unwrap_or_default();
        let query = query.get(..query.floor_char_boundary(MAX_QUERY_BYTES)).unwrap_or_default();
        let embedded = embedder.embed_query(query, &mut vector);
        embedded.map_err(|error| search_failure(error.into()))?;
        args.embedding = Some(vector);
        let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok((args, Some(took)))
    })
    .await
}
