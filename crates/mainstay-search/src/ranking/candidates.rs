//! Chunks that may be results, and their scores.
//!
//! Two stages: vector and words are cheap and see every chunk; comparing tokens costs more and sees only the best few
//! hundred. A chunk that the first stage misses is shown only where its file is good as a whole, so that it takes far
//! more than are ever shown.

use std::collections::{HashMap, HashSet};

use super::constants::{
    C_DENSE, C_LEXICAL, C_NAME_IN_QUERY, C_QUERY_IN_NAME, C_QUERY_IN_TEXT, CANDIDATES, LEXICAL_CANDIDATES, NEAREST,
};
use super::dense::QueryVector;
use super::filter::{ChunkPlace, View};
use super::lexical::LexicalScores;
use super::max_sim::{QueryTokens, Similarities};
use crate::document::path;
use crate::index::DocumentPlace;

/// A chunk that may be a result.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) place: ChunkPlace,
    pub(super) document: DocumentPlace,
    /// By vector and words.
    pub(super) first: f32,
    /// And by tokens: the chunk score.
    pub(super) score: f32,
    /// How well the query is met by the name.
    pub(super) name: f32,
}

/// All chunks that were near in one way or the other, and which of them are candidates.
pub(super) struct Candidates {
    /// The best by vector and words first.
    pub(super) chunks: Vec<Candidate>,
    /// The documents of all that were looked at.
    pub(super) documents: HashSet<DocumentPlace>,
}

pub(super) fn candidates(view: &View<'_>, vector: Option<&QueryVector>, lexical: &LexicalScores) -> Candidates {
    let nearest = vector.map_or_else(Vec::new, |vector| vector.nearest(view, NEAREST));
    let best = lexical.best_chunks();
    let mut cosines: HashMap<ChunkPlace, f32> = nearest.into_iter().collect();
    if let Some(vector) = vector {
        // A chunk found by its words needs its cosine too: with 0, it would rank behind all found by vector.
        add_cosines(view, vector, best.iter().map(|(place, _)| *place), &mut cosines);
    }
    let mut places: HashSet<ChunkPlace> = cosines.keys().copied().collect();
    places.extend(best.iter().map(|(place, _)| *place));
    let candidate = |place: ChunkPlace| {
        let document = view.owner(place)?;
        let cosine = cosines.get(&place).copied().unwrap_or(0.0);
        let first = C_DENSE * cosine + C_LEXICAL * lexical.chunk(place);
        Some(Candidate { place, document, first, score: first, name: 0.0 })
    };
    let mut chunks: Vec<Candidate> = places.into_iter().filter_map(candidate).collect();
    chunks.sort_unstable_by(|one, other| other.first.total_cmp(&one.first).then(one.place.cmp(&other.place)));
    // Taken before the cut: a file may be good as a whole though none of its chunks is among the best.
    let documents = chunks.iter().map(|candidate| candidate.document).collect();
    let by_words: HashSet<ChunkPlace> = best.iter().take(LEXICAL_CANDIDATES).map(|(place, _)| *place).collect();
    let mut rank = 0;
    chunks.retain(|candidate| {
        rank += 1;
        rank <= CANDIDATES || by_words.contains(&candidate.place)
    });
    Candidates { chunks, documents }
}

/// Computes the cosines of chunks that have none yet.
fn add_cosines(
    view: &View<'_>,
    vector: &QueryVector,
    places: impl Iterator<Item = ChunkPlace>,
    cosines: &mut HashMap<ChunkPlace, f32>,
) {
    let mut missing: Vec<Vec<u32>> = vec![Vec::new(); view.parts.len()];
    for place in places.filter(|place| !cosines.contains_key(place)) {
        if let Some(of_part) = missing.get_mut(place.part) {
            of_part.push(place.chunk);
        }
    }
    for (part, (of, chunks)) in view.parts.iter().zip(&missing).enumerate() {
        let found = vector.cosines(of, chunks);
        cosines.extend(chunks.iter().zip(found).map(|(chunk, cosine)| (ChunkPlace { part, chunk: *chunk }, cosine)));
    }
}

/// The name of a chunk, with those around it; that of its file if it has none.
fn name_of<'v>(view: &'v View<'_>, candidate: &Candidate) -> &'v str {
    let Some(part) = view.parts.get(candidate.place.part) else { return "" };
    let name = part.segment.chunk(candidate.place.chunk).map_or("", |chunk| part.segment.chunk_name(&chunk));
    // Imports and loose statements have no name. That of the file is the next best description of them.
    if !name.is_empty() {
        return name;
    }
    let document = part.segment.document(candidate.document.document);
    document.map_or("", |document| path::file_stem(part.segment.path(&document)))
}

/// The tokens of candidates' names and texts.
pub(super) struct CandidateTokens {
    names: Vec<Vec<u32>>,
    texts: Vec<Vec<u32>>,
}

impl CandidateTokens {
    pub(super) fn read(view: &View<'_>, candidates: &[Candidate], query: &QueryTokens<'_>) -> Self {
        let text = |candidate: &Candidate| {
            let part = view.parts.get(candidate.place.part);
            part.map_or_else(Vec::new, |part| part.segment.tokens(candidate.place.chunk).map(u32::from).collect())
        };
        Self {
            names: candidates.iter().map(|one| query.model().distinct_name_tokens(name_of(view, one))).collect(),
            texts: candidates.iter().map(text).collect(),
        }
    }

    pub(super) fn add_to(&self, similarities: &mut Similarities<'_>) {
        similarities.add(self.names.iter().chain(&self.texts).flatten().copied());
    }

    /// Adds what the tokens tell to the scores of the candidates that they were read of.
    pub(super) fn score(&self, similarities: &Similarities<'_>, candidates: &mut [Candidate]) {
        for ((candidate, name), text) in candidates.iter_mut().zip(&self.names).zip(&self.texts) {
            let (query_in_name, name_in_query) = similarities.meets(name.iter().copied());
            let (query_in_text, _) = similarities.meets(text.iter().copied());
            candidate.name = query_in_name;
            candidate.score = candidate.first
                + C_NAME_IN_QUERY * name_in_query
                + C_QUERY_IN_NAME * query_in_name
                + C_QUERY_IN_TEXT * query_in_text;
        }
    }
}
