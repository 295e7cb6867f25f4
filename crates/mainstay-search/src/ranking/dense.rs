//! Scores by meaning: the cosine of vectors.

use super::SearchError;
use super::constants::EXACT_VECTORS;
use super::filter::{ChunkPlace, PartView, View};
use crate::vectors::{ExactIndex, SketchIndex, VectorError, VectorIndex as _, cosines};

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
        let mut found: Vec<(ChunkPlace, f32)> = Vec::new();
        for (part, of) in view.parts.iter().enumerate() {
            // A segment whose vectors are damaged has none that is near.
            let nearest = self.nearest_in(of, count).unwrap_or_default();
            found.extend(nearest.into_iter().map(|(chunk, cosine)| (ChunkPlace { part, chunk }, cosine)));
        }
        found.sort_unstable_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        found.truncate(count);
        found
    }

    fn nearest_in(&self, part: &PartView<'_>, count: usize) -> Result<Vec<(u32, f32)>, VectorError> {
        let vectors = part.segment.all_vectors()?;
        let allowed = part.allowed.as_deref().map(|(chunks, _)| chunks);
        // Where the sketches do not fit the vectors, the exact search is slower and still right.
        if vectors.len() > EXACT_VECTORS
            && let Ok(index) = SketchIndex::new(vectors, part.segment.sketches())
        {
            return index.search(&self.0, count, allowed);
        }
        ExactIndex::new(vectors).search(&self.0, count, allowed)
    }

    /// The cosines of some chunks of a segment; 0 where there is none.
    pub(super) fn cosines(&self, part: &PartView<'_>, chunks: &[u32]) -> Vec<f32> {
        let found = part.segment.all_vectors().and_then(|vectors| cosines(vectors, &self.0, chunks));
        found.unwrap_or_else(|_| vec![0.0; chunks.len()])
    }
}
