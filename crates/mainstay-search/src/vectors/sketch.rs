//! The approximate index: compares one bit of each number first, and then all of the vectors that come out best.
//!
//! A sketch of a vector is the signs of its numbers. Sketches are an eighth of the memory, and two of them differ in the
//! more bits the greater the angle between their vectors. So the vectors whose sketches are nearest to the query's contain
//! the nearest ones, if enough of them are taken. A vector's sketch depends on nothing else: there is nothing to train,
//! and a vector that is added needs no more than its own.

use std::ops::Range;

use rayon::prelude::*;

use super::exact::Scan;
use super::hamming::differing_bits;
use super::nearest_sketches::NearestSketches;
use super::quantize::Query;
use super::top_k::TopK;
use super::{IdSet, VectorError, VectorIndex, Vectors};

/// Sketches compared at one go: the bits of one word of a filter.
const BLOCK: u32 = 64;
/// Sketches for one thread: about half a millisecond at 256 dimensions.
const SKETCHES_PER_TASK: u32 = 128 << 10;
/// How many vectors are compared in full: one in a hundred, within these bounds, or so many for each that is asked for.
/// They lie far apart in memory: to read one takes as long as more than a hundred sketches.
const MIN_CANDIDATES: usize = 1_000;
const MAX_CANDIDATES: usize = 3_000;
const CANDIDATES_PER_RESULT: usize = 10;
/// Candidates for one thread.
const CANDIDATES_PER_TASK: usize = 500;

/// Appends the sketches of the vectors: for each, a bit for every number, in little-endian words of 64.
pub fn sketch(vectors: Vectors<'_>, sketches: &mut Vec<u8>) {
    sketches.reserve(vectors.len() as usize * words(vectors.dimensions()) * 8);
    for id in 0..vectors.len() {
        for codes in vectors.row(id).chunks(64) {
            sketches.extend(signs(codes.iter().map(|code| code.cast_signed() > 0)).to_le_bytes());
        }
    }
}

/// How many of so many vectors are compared in full to find `k`.
pub(super) fn candidates_for(vectors: usize, k: usize) -> usize {
    k.saturating_mul(CANDIDATES_PER_RESULT).max((vectors / 100).clamp(MIN_CANDIDATES, MAX_CANDIDATES))
}

fn signs(positive: impl Iterator<Item = bool>) -> u64 {
    positive.enumerate().fold(0, |word, (place, positive)| word | u64::from(positive) << place)
}

fn words(dimensions: usize) -> usize {
    dimensions.div_ceil(64)
}

/// Finds nearly all of the nearest vectors while reading an eighth of the memory: of the ten nearest to questions about
/// code, 99.7% among 11,400 functions and 98.6% among 200,000 pieces of source.
#[derive(Clone, Copy, Debug)]
pub struct SketchIndex<'a> {
    vectors: Vectors<'a>,
    sketches: &'a [[u8; 8]],
    /// How many vectors have a sketch: the first so many.
    sketched: u32,
    candidates: Option<usize>,
}

impl<'a> SketchIndex<'a> {
    /// An index over vectors and what [`sketch`] made of them. Vectors at the end without a sketch are compared in full.
    pub fn new(vectors: Vectors<'a>, sketches: &'a [u8]) -> Result<Self, VectorError> {
        let size = words(vectors.dimensions()) * 8;
        let sketched = u32::try_from(sketches.len() / size).ok().filter(|sketched| *sketched <= vectors.len());
        match sketched {
            Some(sketched) if sketches.len().is_multiple_of(size) => {
                Ok(Self { vectors, sketches: sketches.as_chunks().0, sketched, candidates: None })
            }
            _ => Err(VectorError::Sketches { vectors: vectors.len(), size, found: sketches.len() }),
        }
    }

    /// Compares at least this many vectors in full, instead of a number that suits the search.
    pub fn with_candidates(self, candidates: usize) -> Self {
        Self { candidates: Some(candidates), ..self }
    }

    /// How many vectors have a sketch.
    pub(super) fn sketched(&self) -> u32 {
        self.sketched
    }

    /// The vectors whose sketches are nearest to the query's.
    pub(super) fn nearest(&self, query: &Query, filter: Option<&IdSet>, wanted: usize) -> NearestSketches {
        let query: Vec<u64> = query.codes.chunks(64).map(|codes| signs(codes.iter().map(|code| *code > 0))).collect();
        let none = || NearestSketches::new(wanted, self.vectors.dimensions());
        let task = |start: u32| {
            let mut nearest = none();
            self.compare(&query, filter, start..start.saturating_add(SKETCHES_PER_TASK), &mut nearest);
            nearest
        };
        let tasks = self.sketched.div_ceil(SKETCHES_PER_TASK);
        match tasks {
            // Other threads would only add the time to wake them.
            0 | 1 => task(0),
            _ => (0..tasks)
                .into_par_iter()
                .map(|index| task(index * SKETCHES_PER_TASK))
                .reduce(none, NearestSketches::merge),
        }
    }

    fn compare(&self, query: &[u64], filter: Option<&IdSet>, ids: Range<u32>, nearest: &mut NearestSketches) {
        let mut distances = [0; BLOCK as usize];
        for start in (ids.start..ids.end.min(self.sketched)).step_by(BLOCK as usize) {
            let allowed = filter.map_or(u64::MAX, |filter| filter.word(start / BLOCK));
            if allowed == 0 {
                continue;
            }
            let count = (self.sketched - start).min(BLOCK) as usize;
            let first = start as usize * query.len();
            differing_bits(query, &self.sketches[first..first + count * query.len()], &mut distances);
            for (place, distance) in (0..).zip(&distances[..count]) {
                if nearest.may_take(*distance) && allowed >> place & 1 == 1 {
                    nearest.take(start + place, *distance);
                }
            }
        }
    }
}

impl VectorIndex for SketchIndex<'_> {
    fn search(&self, query: &[f32], k: usize, filter: Option<&IdSet>) -> Result<Vec<(u32, f32)>, VectorError> {
        let Some(query) = Query::new(query, self.vectors.dimensions())? else { return Ok(Vec::new()) };
        let scan = Scan { vectors: self.vectors, query: &query, filter };
        let candidates = self.candidates.unwrap_or_else(|| candidates_for(self.sketched as usize, k)).max(k);
        // An upper bound: a filter may contain ids that do not exist, which only costs the shortcut.
        let allowed = filter.map_or(u64::from(self.sketched), IdSet::count);
        // Where nearly all would be candidates, the sketches are a detour.
        if allowed <= candidates as u64 {
            return Ok(scan.best_of(0..self.vectors.len(), k).into_sorted());
        }
        let compare = |ids: &[u32]| {
            let mut top = TopK::new(k);
            scan.scan_selected(ids, &mut top);
            top
        };
        let nearest = self.nearest(&query, filter, candidates).into_ids();
        let top = nearest.par_chunks(CANDIDATES_PER_TASK).map(compare).reduce(|| TopK::new(k), TopK::merge);
        Ok(top.merge(scan.best_of(self.sketched..self.vectors.len(), k)).into_sorted())
    }
}
