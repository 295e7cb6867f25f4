//! Search: which chunks of an index answer a query, and in which order.
//!
//! 1. The query is taken apart ([`QueryClass`]): a symbol, a sentence about one function, or words.
//! 2. Chunks are found by vector and by words. The best of both are candidates, whose tokens are compared with those of
//!    the query.
//! 3. Each file gets a score of its own: by its best chunks, its name, the words of the whole file, what it defines,
//!    and penalties for tests, prose, other platforms and old versions.
//! 4. A chunk's place is by both scores. Several chunks of one file stand apart, and copies are shown once.
//!
//! All weights are in `constants`.

mod candidates;
mod constants;
mod definitions;
mod dense;
mod files;
mod filter;
mod lexical;
mod max_sim;
mod order;
mod penalties;
mod query;
mod results;
mod similar;
mod symbols;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use constants::{MAX_QUERY_BYTES, MAX_RESULTS};
pub use filter::{Filter, Tests};
pub use query::{QueryClass, query_names, query_words};
pub use results::{Answer, Hit, Usage};
pub use similar::{Span, similar, similar_with_statistics};
pub use symbols::{NamingDocument, Symbol, documents_naming, symbols};

use std::time::Instant;

use candidates::{CandidateTokens, candidates};
use constants::{FILE_WEIGHT, FILE_WEIGHT_DEFINITION};
use definitions::definition_scores;
use dense::QueryVector;
use files::{FileScorer, add_tokens, considered};
use filter::View;
use lexical::LexicalScores;
use max_sim::{QueryTokens, Similarities};
use order::{Balance, Ranked, best, by_file};
use penalties::Penalties;
use query::Query;
use results::hits as hits_of;

use crate::embedding::{EmbedError, Embedder};
use crate::index::{Snapshot, Statistics};
use crate::vectors::VectorError;

/// What is to be found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Granularity {
    /// As the query sounds.
    #[default]
    Guess,
    /// The file comes first: "how routes are matched".
    File,
    /// One definition comes first: "Returns the first value."
    Definition,
    /// Chunks stand for themselves, as where each document is one function.
    Chunk,
}

/// A search.
#[derive(Debug, Clone, Default)]
pub struct Request<'a> {
    /// In words, or a name. Of more than [`MAX_QUERY_BYTES`], the first count.
    pub query: &'a str,
    /// Takes the place of the query's own vector. Without a query, chunks are found by it alone.
    pub embedding: Option<&'a [f32]>,
    pub filter: Filter,
    /// At most [`MAX_RESULTS`].
    pub top_k: usize,
    /// Whether tokens, files and definitions decide on the order, or vectors and words alone.
    pub rerank: bool,
    pub granularity: Granularity,
    /// The counts of the collection, where the snapshot has only those documents of it that may be results: scores by
    /// words are then the same as among all. None: the snapshot is the collection.
    pub statistics: Option<&'a Statistics>,
}

/// Why a search has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// An embedding with another number of dimensions, or with a value that is no number.
    #[error(transparent)]
    Embedding(#[from] VectorError),
    /// The query has no vector, since the service of the model failed. What it says can be shown to the operator.
    #[error(transparent)]
    Unavailable(#[from] EmbedError),
    #[error("the document is not in the index")]
    NoSuchDocument,
}

/// Searches an index. The embedder is the one with which it was built.
pub fn search(snapshot: &Snapshot, embedder: &dyn Embedder, request: &Request<'_>) -> Result<Answer, SearchError> {
    let view = View::new(snapshot, &request.filter, request.statistics);
    let top_k = request.top_k.min(MAX_RESULTS);
    let query = Query::new(request.query);
    let mut vector = Vec::new();
    let mut embed_time = None;
    match request.embedding {
        Some(embedding) => vector.extend_from_slice(embedding),
        // Before the embedder is asked: some services reject an empty text.
        None if query.text.trim().is_empty() => return Ok(nothing()),
        None => {
            let began = Instant::now();
            embedder.embed_query(&query.text, &mut vector)?;
            embed_time = Some(began.elapsed());
        }
    }
    let vector = QueryVector::new(vector, embedder.dimensions())?;
    // Words, tokens and definitions need a text. An embedding alone can only be compared with vectors.
    if query.text.trim().is_empty() {
        return Ok(nearest(&view, &vector, top_k));
    }
    let lexical = LexicalScores::new(&view, &query.terms);
    let mut found = candidates(&view, Some(&vector), &lexical);
    let mut usage = Usage {
        dense: true,
        lexical: !query.terms.is_empty(),
        class: Some(query.class),
        candidates: found.chunks.len(),
        embed_time,
        ..Usage::default()
    };
    if !request.rerank {
        let fused =
            found.chunks.iter().map(|one| Ranked { place: one.place, document: one.document, score: one.first });
        let ranked = best(&view, fused.collect(), top_k, Some(0.0));
        return Ok(Answer { hits: hits_of(&view, &ranked), usage });
    }
    let model = embedder.token_model();
    (usage.tokens, usage.ranking) = (model.is_some(), true);
    let penalties = Penalties::new(&query, snapshot);
    let definitions = definition_scores(&view, &query, &penalties);
    // Definitions come before the files: a file may be considered only because it defines what the query names.
    let considered = considered(&view, &found, &lexical, &definitions, model);
    // All tokens are collected before any is compared, so that a token that many chunks share is compared once.
    let tokens = model.map(|model| QueryTokens::new(model, &query.text));
    let similarities = tokens.as_ref().map(|tokens| {
        let read = CandidateTokens::read(&view, &found.chunks, tokens);
        let mut similarities = Similarities::new(tokens);
        read.add_to(&mut similarities);
        add_tokens(&considered, &mut similarities);
        similarities.compare();
        read.score(&similarities, &mut found.chunks);
        similarities
    });
    let scorer = FileScorer {
        view: &view,
        query: &query,
        vector: Some(&vector),
        lexical: &lexical,
        definitions: &definitions,
        penalties: &penalties,
        similarities: similarities.as_ref(),
    };
    let files = scorer.score(&considered, &found);
    let balance = balance(request.granularity, query.class);
    let ranked = best(&view, by_file(&found.chunks, &files, balance), top_k, Some(balance.file_weight));
    Ok(Answer { hits: hits_of(&view, &ranked), usage })
}

/// What a caller says about granularity wins over the guess, which takes about one such sentence in eight for words.
fn balance(granularity: Granularity, class: QueryClass) -> Balance {
    let is_definition = class == QueryClass::Definition;
    match granularity {
        Granularity::Chunk => Balance { file_weight: 0.0, is_folded: false },
        Granularity::Guess if is_definition => Balance { file_weight: FILE_WEIGHT_DEFINITION, is_folded: false },
        Granularity::Definition => Balance { file_weight: FILE_WEIGHT_DEFINITION, is_folded: false },
        Granularity::Guess | Granularity::File => Balance { file_weight: FILE_WEIGHT, is_folded: true },
    }
}

/// By vector alone.
fn nearest(view: &View<'_>, vector: &QueryVector, top_k: usize) -> Answer {
    // Duplicates among the nearest are left out, so that more than are shown are looked at.
    let nearest = vector.nearest(view, top_k * 4);
    let candidates = nearest.len();
    let ranked =
        nearest.into_iter().filter_map(|(place, score)| Some(Ranked { place, document: view.owner(place)?, score }));
    let ranked = best(view, ranked.collect(), top_k, None);
    Answer { hits: hits_of(view, &ranked), usage: Usage { dense: true, candidates, ..Usage::default() } }
}

fn nothing() -> Answer {
    Answer { hits: Vec::new(), usage: Usage::default() }
}
