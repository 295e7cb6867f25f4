//! Chunks that are like a given span.
//!
//! Only chunks are compared. What a file is called or defines says whether it answers a question, not whether its code
//! resembles other code.

use std::ops::RangeInclusive;

use super::SearchError;
use super::candidates::{CandidateTokens, candidates};
use super::constants::{MAX_RESULTS, SIMILAR_TERMS};
use super::dense::QueryVector;
use super::filter::{ChunkPlace, Filter, View};
use super::lexical::{Level, LexicalScores, rarity};
use super::max_sim::{QueryTokens, Similarities};
use super::order::{Ranked, best};
use super::results::{Answer, Usage, hits};
use crate::document::term_hash;
use crate::embedding::Embedder;
use crate::index::{DocumentPlace, Snapshot, Statistics};
use crate::words::terms;

/// A span of a document in the index.
#[derive(Debug, Clone)]
pub struct Span<'a> {
    pub path: &'a str,
    /// Counted from 1.
    pub lines: RangeInclusive<u32>,
    /// Its text, if it is at hand: an index does not keep texts, and words make the result better.
    pub text: &'a str,
}

/// The chunks most like a span, without those of the span itself.
pub fn similar(
    snapshot: &Snapshot,
    embedder: &dyn Embedder,
    span: &Span<'_>,
    filter: &Filter,
    top_k: usize,
) -> Result<Answer, SearchError> {
    find_similar(&View::new(snapshot, filter, None), snapshot, embedder, span, top_k)
}

/// The same over a part of a collection, with the counts of the whole.
pub fn similar_with_statistics(
    snapshot: &Snapshot,
    embedder: &dyn Embedder,
    span: &Span<'_>,
    filter: &Filter,
    top_k: usize,
    statistics: &Statistics,
) -> Result<Answer, SearchError> {
    find_similar(&View::new(snapshot, filter, Some(statistics)), snapshot, embedder, span, top_k)
}

fn find_similar(
    view: &View<'_>,
    snapshot: &Snapshot,
    embedder: &dyn Embedder,
    span: &Span<'_>,
    top_k: usize,
) -> Result<Answer, SearchError> {
    let document = snapshot.find(span.path).ok_or(SearchError::NoSuchDocument)?;
    // Read from the snapshot, not from the view: the span itself need not pass the filter.
    let own = chunks_of(snapshot, document, &span.lines);
    let vector = QueryVector::new(mean(snapshot, &own, embedder.dimensions()), embedder.dimensions())?;
    let lexical = LexicalScores::new(view, &rare_terms(view, span.text));
    let mut found = candidates(view, Some(&vector), &lexical);
    found.chunks.retain(|candidate| !own.contains(&candidate.place));
    let model = embedder.token_model();
    if let Some(model) = model {
        let query = QueryTokens::of_tokens(model, tokens(snapshot, &own));
        let read = CandidateTokens::read(view, &found.chunks, &query);
        let mut similarities = Similarities::new(&query);
        read.add_to(&mut similarities);
        similarities.compare();
        read.score(&similarities, &mut found.chunks);
    }
    let ranked = found.chunks.iter().map(|candidate| Ranked {
        place: candidate.place,
        document: candidate.document,
        score: candidate.score,
    });
    let usage = Usage {
        dense: true,
        lexical: lexical.highest_chunk > 0.0,
        tokens: model.is_some(),
        candidates: found.chunks.len(),
        ..Usage::default()
    };
    let ranked = best(view, ranked.collect(), top_k.min(MAX_RESULTS), Some(0.0));
    Ok(Answer { hits: hits(view, &ranked), usage })
}

/// The chunks that a span touches.
fn chunks_of(snapshot: &Snapshot, document: DocumentPlace, lines: &RangeInclusive<u32>) -> Vec<ChunkPlace> {
    let Some(part) = snapshot.parts.get(document.part) else { return Vec::new() };
    let Some(record) = part.segment.document(document.document) else { return Vec::new() };
    let end = record.first_chunk.saturating_add(record.chunks).min(part.segment.chunks());
    let touches = |chunk: &u32| {
        let chunk = part.segment.chunk(*chunk);
        chunk.is_some_and(|chunk| chunk.start_line <= *lines.end() && chunk.end_line >= *lines.start())
    };
    (record.first_chunk..end).filter(touches).map(|chunk| ChunkPlace { part: document.part, chunk }).collect()
}

/// The direction of the mean: each chunk adds a vector of length 1, and a cosine ignores the length of the sum.
fn mean(snapshot: &Snapshot, chunks: &[ChunkPlace], dimensions: usize) -> Vec<f32> {
    let mut sum = vec![0.0; dimensions];
    for place in chunks {
        let Some(part) = snapshot.parts.get(place.part) else { continue };
        let scale = part.segment.scale(place.chunk);
        for (sum, code) in sum.iter_mut().zip(part.segment.vector(place.chunk).unwrap_or_default()) {
            *sum += f32::from(code.cast_signed()) * scale;
        }
    }
    sum
}

fn tokens(snapshot: &Snapshot, chunks: &[ChunkPlace]) -> Vec<u32> {
    let mut tokens = Vec::new();
    for place in chunks {
        let Some(part) = snapshot.parts.get(place.part) else { continue };
        tokens.extend(
            part.segment.tokens(place.chunk).map(u32::from).filter(|token| !tokens.contains(token)).collect::<Vec<_>>(),
        );
    }
    tokens
}

/// The terms of a text that say most about it.
/// Common ones have the longest lists to read, and are in chunks that have nothing to do with the text.
fn rare_terms(view: &View<'_>, text: &str) -> Vec<String> {
    let mut found = terms(text.get(..text.floor_char_boundary(super::MAX_QUERY_BYTES)).unwrap_or_default());
    found.sort_unstable();
    found.dedup();
    let mut by_rarity: Vec<(f32, String)> =
        found.into_iter().map(|term| (rarity(view, Level::Chunks, term_hash(&term)), term)).collect();
    by_rarity.retain(|(rarity, _)| *rarity > 0.0);
    by_rarity.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    by_rarity.into_iter().take(SIMILAR_TERMS).map(|(_, term)| term).collect()
}
