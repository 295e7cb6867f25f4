//! The order of results: chunks with their files, folded by file, without duplicates.

use std::collections::HashMap;

use super::candidates::Candidate;
use super::constants::{DUPLICATE_COSINE, FILES, FOLD, SCORE_SPREAD};
use super::files::File;
use super::filter::{ChunkPlace, View};
use crate::index::DocumentPlace;
use crate::segment::ChunkRecord;

/// A result before its texts are read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ranked {
    pub(super) place: ChunkPlace,
    pub(super) document: DocumentPlace,
    pub(super) score: f32,
}

/// How much a chunk's file counts, and whether the chunks of one file stand behind each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Balance {
    pub(super) file_weight: f32,
    pub(super) is_folded: bool,
}

/// Chunks in their order, with the scores by which they were ordered.
pub(super) fn by_file(candidates: &[Candidate], files: &[File<'_>], balance: Balance) -> Vec<Ranked> {
    // A file without a candidate is shown by the score of the file alone: its chunk counts less than all that were
    // compared.
    let lowest = candidates.iter().map(|candidate| candidate.score).fold(f32::INFINITY, f32::min);
    let lowest = if lowest.is_finite() { lowest } else { 0.0 } - 1.0;
    let mut by_file: HashMap<DocumentPlace, Vec<&Candidate>> = HashMap::new();
    for candidate in candidates {
        by_file.entry(candidate.document).or_default().push(candidate);
    }
    let mut ranked = Vec::new();
    for file in files.iter().take(FILES) {
        let base = balance.file_weight * file.score;
        let Some(own) = by_file.get_mut(&file.place) else {
            let shown = file.chunk.map(|place| Ranked { place, document: file.place, score: lowest + base });
            ranked.extend(shown);
            continue;
        };
        own.sort_by(|one, other| other.score.total_cmp(&one.score).then(one.place.cmp(&other.place)));
        let mut fold = 0.0;
        for candidate in own {
            ranked.push(Ranked { place: candidate.place, document: file.place, score: candidate.score + base - fold });
            fold += if balance.is_folded { FOLD } else { 0.0 };
        }
    }
    ranked
}

/// Sorts results and takes the best, without duplicates. What is equal is in the order of paths and lines, which does
/// not depend on how the index is divided into segments. Scores become shares of the best from 0 to 1.
pub(super) fn best(view: &View<'_>, mut ranked: Vec<Ranked>, count: usize, spread: Option<f32>) -> Vec<Ranked> {
    let key = |one: &Ranked| {
        let part = view.parts.get(one.place.part)?;
        let path = part.segment.path(&part.segment.document(one.document.document)?);
        Some((path, part.segment.chunk(one.place.chunk)?.start_byte))
    };
    ranked.sort_by(|one, other| other.score.total_cmp(&one.score).then_with(|| key(one).cmp(&key(other))));
    let mut shown: Vec<Ranked> = Vec::new();
    for one in ranked {
        if shown.len() >= count {
            break;
        }
        if !shown.iter().any(|other| are_duplicates(view, one.place, other.place)) {
            shown.push(one);
        }
    }
    // Sums of weights mean nothing to a reader, and their spread grows with the weight of the file.
    let highest = shown.first().map_or(0.0, |best| best.score);
    for one in &mut shown {
        one.score = match spread {
            Some(spread) => ((one.score - highest) / (SCORE_SPREAD * (1.0 + spread))).exp(),
            None => one.score.clamp(0.0, 1.0),
        };
    }
    shown
}

/// Whether two chunks are nearly the same code: they have one name and nearly one vector. Without names, vectors say
/// less, so they are also of one length.
fn are_duplicates(view: &View<'_>, one: ChunkPlace, other: ChunkPlace) -> bool {
    let read = |place: ChunkPlace| {
        let segment = view.parts.get(place.part)?.segment;
        let chunk = segment.chunk(place.chunk)?;
        Some((segment, chunk, segment.chunk_name(&chunk)))
    };
    let Some(((segment, chunk, name), (other_segment, other_chunk, other_name))) = read(one).zip(read(other)) else {
        return false;
    };
    let length = |chunk: &ChunkRecord| chunk.end_byte.saturating_sub(chunk.start_byte);
    if name != other_name || (name.is_empty() && length(&chunk) != length(&other_chunk)) {
        return false;
    }
    let Some((codes, other_codes)) = segment.vector(one.chunk).zip(other_segment.vector(other.chunk)) else {
        return false;
    };
    let product = |(code, other): (&u8, &u8)| i32::from(code.cast_signed()) * i32::from(other.cast_signed());
    let product: i32 = codes.iter().zip(other_codes).map(product).sum();
    #[expect(clippy::cast_precision_loss, reason = "a cosine has seven digits")]
    let cosine = product as f32 * segment.scale(one.chunk) * other_segment.scale(other.chunk);
    cosine > DUPLICATE_COSINE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(document: u32, chunk: u32) -> (ChunkPlace, DocumentPlace) {
        (ChunkPlace { part: 0, chunk }, DocumentPlace { part: 0, document })
    }

    fn candidate(document: u32, chunk: u32, score: f32) -> Candidate {
        let (place, document) = place(document, chunk);
        Candidate { place, document, first: score, score, name: 0.0 }
    }

    fn file(document: u32, score: f32) -> File<'static> {
        let (chunk, place) = place(document, document * 10 + 9);
        File { place, path: "", score, chunk: Some(chunk) }
    }

    /// Chunks in their order.
    fn order(balance: Balance) -> Vec<u32> {
        let candidates = [
            candidate(0, 1, 8.0),
            candidate(0, 2, 7.5),
            candidate(0, 3, 7.0),
            candidate(1, 11, 7.8),
            candidate(2, 21, 6.0),
        ];
        let files = [file(0, 3.0), file(3, 2.0), file(1, 1.5), file(2, 1.0)];
        let mut ranked = by_file(&candidates, &files, balance);
        ranked.sort_by(|one, other| other.score.total_cmp(&one.score));
        ranked.iter().map(|one| one.place.chunk).collect()
    }

    #[test]
    fn chunks_of_one_file_fold_where_files_are_asked_for() {
        // The second chunk of the first file is behind the best of the others; a file without candidates shows one
        // chunk.
        assert_eq!(order(Balance { file_weight: 5.0, is_folded: true }), [1, 11, 39, 21, 2, 3]);
        assert_eq!(order(Balance { file_weight: 0.4, is_folded: false }), [1, 2, 11, 3, 21, 39]);
        assert_eq!(order(Balance { file_weight: 0.0, is_folded: false }), [1, 11, 2, 3, 21, 39]);
    }
}
