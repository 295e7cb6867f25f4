//! Vectors: which of many are nearest to one.
//!
//! Vectors are stored as small integers ([`quantize`]), one after the other, as in a memory-mapped file ([`Vectors`]).
//! [`ExactIndex`] compares the query with every one, which takes a few milliseconds for 50,000. [`SketchIndex`] compares one
//! bit of each number first and takes a tenth of the time. Both are a [`VectorIndex`], and both give the cosine of the
//! angle between query and vector as the score.

mod dot;
mod error;
mod exact;
mod hamming;
mod id_set;
mod nearest_sketches;
mod parts;
mod quantize;
mod sketch;
mod stored;
#[cfg(test)]
mod tests;
mod top_k;

pub(crate) use dot::dot_selected;
pub use error::VectorError;
pub use exact::{ExactIndex, cosines};
pub use id_set::IdSet;
pub use parts::{EXACT_VECTORS, PartMatch, PartVectors, nearest_of_parts};
pub use quantize::quantize;
pub use sketch::{SketchIndex, sketch};
pub use stored::Vectors;

/// The most numbers a vector may have: with more, a product of two vectors might not fit into 32 bits.
pub const MAX_DIMENSIONS: usize = 4096;

/// Finds the vectors nearest to a query.
pub trait VectorIndex: Send + Sync {
    /// At most `k` vectors with the highest cosine to the query, the best first, vectors of equal score by id. With a
    /// filter, only ids in it count.
    ///
    /// A vector of length zero has no direction: as a query it finds nothing, and it is never found. A query with another
    /// number of dimensions, or with a value that is not a finite number, is an error.
    fn search(&self, query: &[f32], k: usize, filter: Option<&IdSet>) -> Result<Vec<(u32, f32)>, VectorError>;
}
