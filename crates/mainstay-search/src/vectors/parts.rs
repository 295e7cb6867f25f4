//! One search over the vectors of several segments.
//!
//! Candidates are chosen among all segments together. Chosen in each by itself, there would be as many times more of them to
//! compare in full as there are segments, although the nearest are mostly in one: segments are made of neighbouring files.

use rayon::prelude::*;

use super::exact::Scan;
use super::nearest_sketches::{NearestSketches, common_limit};
use super::quantize::Query;
use super::sketch::{SketchIndex, candidates_for};
use super::top_k::TopK;
use super::{IdSet, VectorError, Vectors};

/// Up to so many vectors are compared in full. The slowest of a hundred such searches take 5 ms on two cores of a server
/// (`cargo xtask bench search --only vectors`); they pass 10 ms at 200,000, which slower machines reach earlier.
pub const EXACT_VECTORS: u32 = 100_000;

/// The vectors of a segment, with their sketches.
#[derive(Clone, Copy)]
pub struct PartVectors<'a> {
    pub vectors: Vectors<'a>,
    pub sketches: &'a [u8],
    /// Only ids in it count.
    pub filter: Option<&'a IdSet>,
}

/// A vector that is near: its part, its id there and its cosine.
pub type PartMatch = (usize, u32, f32);

/// What a part has to be compared with in full.
enum Comparison {
    /// All of it.
    Whole,
    /// What is near by its sketch; and what has no sketch, from this id on.
    Sketched(NearestSketches, u32),
}

impl Comparison {
    fn sketched(&self) -> Option<&NearestSketches> {
        match self {
            Self::Sketched(nearest, _) => Some(nearest),
            Self::Whole => None,
        }
    }
}

/// At most `k` vectors with the highest cosine to the query, the best first. With many vectors, nearly all of the nearest:
/// see [`SketchIndex`].
pub fn nearest_of_parts(parts: &[PartVectors<'_>], query: &[f32], k: usize) -> Result<Vec<PartMatch>, VectorError> {
    let Some(dimensions) = parts.first().map(|part| part.vectors.dimensions()) else { return Ok(Vec::new()) };
    let Some(query) = Query::new(query, dimensions)? else { return Ok(Vec::new()) };
    let all: u64 = parts.iter().map(|part| u64::from(part.vectors.len())).sum();
    let wanted = candidates_for(usize::try_from(all).unwrap_or(usize::MAX), k);
    let is_large = all > u64::from(EXACT_VECTORS);
    let comparison = |part: &PartVectors<'_>| {
        let few = part.filter.is_some_and(|filter| filter.count() <= wanted as u64);
        // Where the sketches do not fit the vectors, comparing all is slower and still right.
        let index = SketchIndex::new(part.vectors, part.sketches).ok().filter(|_| !few && is_large);
        index.map_or(Comparison::Whole, |index| {
            Comparison::Sketched(index.nearest(&query, part.filter, wanted), index.sketched())
        })
    };
    let comparisons: Vec<Comparison> =
        if is_large { parts.par_iter().map(comparison).collect() } else { parts.iter().map(comparison).collect() };
    let limit = common_limit(&comparisons.iter().filter_map(Comparison::sketched).collect::<Vec<_>>(), wanted);
    let compare = |(at, (part, comparison)): (usize, (&PartVectors<'_>, Comparison))| {
        let scan = Scan { vectors: part.vectors, query: &query, filter: part.filter };
        let top = match comparison {
            Comparison::Whole => scan.best_of(0..part.vectors.len(), k),
            Comparison::Sketched(nearest, sketched) => {
                let mut top = TopK::new(k);
                scan.scan_selected(&nearest.into_ids_within(limit), &mut top);
                top.merge(scan.best_of(sketched..part.vectors.len(), k))
            }
        };
        top.into_sorted().into_iter().map(move |(id, score)| (at, id, score)).collect::<Vec<_>>()
    };
    let pairs: Vec<_> = parts.iter().zip(comparisons).enumerate().collect();
    let mut found: Vec<PartMatch> = if is_large {
        pairs.into_par_iter().flat_map_iter(compare).collect()
    } else {
        pairs.into_iter().flat_map(compare).collect()
    };
    found.sort_unstable_by(|one, other| other.2.total_cmp(&one.2).then((one.0, one.1).cmp(&(other.0, other.1))));
    found.truncate(k);
    Ok(found)
}
