//! Scores by meaning: the cosine of vectors.

use super::SearchError;
use super::filter::{ChunkPlace, PartView, View};
use crate::vectors::{PartMatch, PartVectors, VectorError, cosines, nearest_of_parts};

/// The query's vector, checked against the index.
pub(super) struct QueryVector(Vec<f32>);

impl QueryVector {
    pub(super) fn new(vector: Vec<f32>, dimensions: usize) -> Result<Self, SearchError> {
        if vector.len() != dimensions {
            return Err(VectorError::Dimensions { expected: dimensions, found: vector.len() }.into());
        }
        if let Some(index) = vector.iter().position(|value| !value.is_finite()) {
            return Err(VectorError::NotFinite { index }.into());
        }
        Ok(Self(vector))
    }

    /// The nearest chunks, the nearest first.
    pub(super) fn nearest(&self, view: &View<'_>, count: usize) -> Vec<(ChunkPlace, f32)> {
        // A segment whose vectors are damaged has none that is near.
        let (places, parts): (Vec<usize>, Vec<PartVectors<'_>>) = view
            .parts
            .iter()
            .enumerate()
            .filter_map(|(place, of)| {
                let filter = of.allowed.as_deref().map(|(chunks, _)| chunks);
                let vectors = of.segment.all_vectors().ok()?;
                Some((place, PartVectors { vectors, sketches: of.segment.sketches(), filter }))
            })
            .unzip();
        let found = nearest_of_parts(&parts, &self.0, count).unwrap_or_default();
        let place =
            |(part, chunk, cosine): PartMatch| places.get(part).map(|part| (ChunkPlace { part: *part, chunk }, cosine));
        found.into_iter().filter_map(place).collect()
    }

    /// The cosines of some chunks of a segment; 0 where there is none.
    pub(super) fn cosines(&self, part: &PartView<'_>, chunks: &[u32]) -> Vec<f32> {
        let found = part.segment.all_vectors().and_then(|vectors| cosines(vectors, &self.0, chunks));
        found.unwrap_or_else(|_| vec![0.0; chunks.len()])
    }
}
