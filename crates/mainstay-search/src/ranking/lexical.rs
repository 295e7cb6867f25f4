//! Scores by words: BM25F over the impacts that segments store.
//!
//! An impact is a word's frequency in a chunk, weighted by field and already divided by length. What is left to do here
//! is what depends on the query and on the rest of the index: saturation and rarity.

use rayon::prelude::*;

use super::constants::{K1_CHUNK, K1_DOCUMENT, LEXICAL_FILES, NEAREST};
use super::filter::{ChunkPlace, PartView, View};
use crate::document::{frequencies, term_hash};
use crate::index::DocumentPlace;
use crate::segment::Postings;

/// With more chunks than this, chunks and documents are scored by two threads.
const PARALLEL_CHUNKS: u64 = 100_000;

/// Whether words are counted in chunks or in whole documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Chunks,
    Documents,
}

/// The scores of all chunks and documents.
pub(super) struct LexicalScores {
    /// By segment and id.
    /// One number for every chunk, found or not: adding to an array is faster than looking up a map for each posting.
    chunks: Vec<Vec<f32>>,
    documents: Vec<Vec<f32>>,
    /// The best of both, the best first.
    best_chunks: Vec<(ChunkPlace, f32)>,
    best_documents: Vec<(DocumentPlace, f32)>,
    /// How rare each term is among documents; 0 if none has it.
    pub(super) rarities: Vec<f32>,
    pub(super) highest_chunk: f32,
    pub(super) highest_document: f32,
}

impl LexicalScores {
    pub(super) fn new(view: &View<'_>, terms: &[String]) -> Self {
        let hashes: Vec<u64> = terms.iter().map(|term| term_hash(term)).collect();
        let of_chunks = || {
            // Rarity among documents is also what weighs the words of file names, so that only that one is kept.
            let (scores, _) = scores(view, Level::Chunks, &hashes);
            let best = best(&scores, NEAREST, |part, chunk| ChunkPlace { part, chunk });
            (scores, best)
        };
        let of_documents = || {
            let (scores, rarities) = scores(view, Level::Documents, &hashes);
            let best = best(&scores, LEXICAL_FILES, |part, document| DocumentPlace { part, document });
            (scores, rarities, best)
        };
        // In a small index, both take less time than waking another thread.
        let ((chunks, best_chunks), (documents, rarities, best_documents)) = if view.chunks > PARALLEL_CHUNKS {
            rayon::join(of_chunks, of_documents)
        } else {
            (of_chunks(), of_documents())
        };
        Self {
            highest_chunk: best_chunks.first().map_or(0.0, |(_, score)| *score),
            highest_document: best_documents.first().map_or(0.0, |(_, score)| *score),
            chunks,
            documents,
            best_chunks,
            best_documents,
            rarities,
        }
    }

    pub(super) fn chunk(&self, place: ChunkPlace) -> f32 {
        score(&self.chunks, place.part, place.chunk)
    }

    pub(super) fn document(&self, place: DocumentPlace) -> f32 {
        score(&self.documents, place.part, place.document)
    }

    /// The best chunks, the best first: at most [`NEAREST`].
    pub(super) fn best_chunks(&self) -> &[(ChunkPlace, f32)] {
        &self.best_chunks
    }

    /// The best documents, the best first: at most [`LEXICAL_FILES`].
    pub(super) fn best_documents(&self) -> &[(DocumentPlace, f32)] {
        &self.best_documents
    }
}

fn score(scores: &[Vec<f32>], part: usize, id: u32) -> f32 {
    scores.get(part).and_then(|scores| scores.get(id as usize)).copied().unwrap_or(0.0)
}

/// What has a score above 0, the best first; equal ones in the order of their ids.
fn best<P: Copy + Ord>(scores: &[Vec<f32>], count: usize, place: impl Fn(usize, u32) -> P) -> Vec<(P, f32)> {
    let by_score = |one: &(P, f32), other: &(P, f32)| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0));
    let mut found: Vec<(P, f32)> = Vec::new();
    // A common word is in a million chunks. Only what beats the worst of the best so far is kept; an equal score does not,
    // because ids ascend.
    let mut worst = 0.0;
    for (part, scores) in scores.iter().enumerate() {
        for (id, score) in (0..).zip(scores) {
            if *score <= worst {
                continue;
            }
            found.push((place(part, id), *score));
            if found.len() >= 2 * count.max(1) {
                found.select_nth_unstable_by(count.saturating_sub(1), by_score);
                found.truncate(count);
                worst = found.last().map_or(0.0, |(_, score)| *score);
            }
        }
    }
    found.sort_unstable_by(by_score);
    found.truncate(count);
    found
}

fn postings<'s>(part: &'s PartView<'_>, level: Level, hash: u64) -> Postings<'s> {
    match level {
        Level::Chunks => part.segment.postings(hash),
        Level::Documents => part.segment.document_postings(hash),
    }
}

/// How rare a word is. Deleted documents do not count, so that the order does not depend on when segments are merged.
pub(super) fn rarity(view: &View<'_>, level: Level, hash: u64) -> f32 {
    let count = |part: &PartView<'_>| match (part.live, level) {
        // Without deletions the number is stored with the list, which need not be read.
        (None, _) => u64::from(postings(part, level, hash).length()),
        (Some((live, _)), Level::Chunks) | (Some((_, live)), Level::Documents) => {
            postings(part, level, hash).fold(0, |count, posting| count + u64::from(live.contains(posting.id)))
        }
    };
    let own: u64 = view.parts.iter().map(count).sum();
    // At least what is here: counts of a database may be older than the documents that it gave.
    let (count, all) = match (view.statistics, level) {
        (None, Level::Chunks) => (own, view.chunks),
        (None, Level::Documents) => (own, view.documents),
        (Some(of), Level::Chunks) => {
            (of.terms.get(&hash).map_or(0, |term| term.chunks).max(own), of.chunks.max(view.chunks))
        }
        (Some(of), Level::Documents) => {
            (of.terms.get(&hash).map_or(0, |term| term.documents).max(own), of.documents.max(view.documents))
        }
    };
    if count == 0 {
        return 0.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "a rarity has seven digits")]
    let (without, with) = (all.saturating_sub(count) as f32, count as f32);
    (1.0 + (without + 0.5) / (with + 0.5)).ln()
}

fn scores(view: &View<'_>, level: Level, hashes: &[u64]) -> (Vec<Vec<f32>>, Vec<f32>) {
    let k1 = match level {
        Level::Chunks => K1_CHUNK,
        Level::Documents => K1_DOCUMENT,
    };
    let size = |part: &PartView<'_>| match level {
        Level::Chunks => part.segment.chunks() as usize,
        Level::Documents => part.segment.documents() as usize,
    };
    let rarities: Vec<f32> = hashes.iter().map(|hash| rarity(view, level, *hash)).collect();
    // There are 256 impacts, so that saturation is computed once per word and not for every posting.
    let by_impact = |rarity: f32| frequencies().map(|frequency| rarity * frequency * (k1 + 1.0) / (frequency + k1));
    let words: Vec<(u64, [f32; 256])> = hashes
        .iter()
        .zip(&rarities)
        .filter(|(_, rarity)| **rarity > 0.0)
        .map(|(hash, rarity)| (*hash, by_impact(*rarity)))
        .collect();
    let of_part = |part: &PartView<'_>| {
        let mut scores = vec![0.0; size(part)];
        let allowed = part.allowed.as_deref().map(|(chunks, documents)| match level {
            Level::Chunks => chunks,
            Level::Documents => documents,
        });
        for (hash, by_impact) in &words {
            for posting in postings(part, level, *hash) {
                let is_allowed = allowed.is_none_or(|allowed| allowed.contains(posting.id));
                if let Some(score) = scores.get_mut(posting.id as usize).filter(|_| is_allowed) {
                    *score += by_impact.get(usize::from(posting.impact)).copied().unwrap_or(0.0);
                }
            }
        }
        scores
    };
    let scores = if view.chunks > PARALLEL_CHUNKS {
        view.parts.par_iter().map(of_part).collect()
    } else {
        view.parts.iter().map(of_part).collect()
    };
    (scores, rarities)
}
