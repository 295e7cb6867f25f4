//! What can be wrong with vectors and queries.

use super::MAX_DIMENSIONS;

/// Why vectors cannot be stored or compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VectorError {
    /// Usually a vector of another model than those it is compared with.
    #[error("the vector has {found} dimensions, expected {expected}")]
    Dimensions { expected: usize, found: usize },
    /// NaN or infinity: a score made of it could not be ordered.
    #[error("dimension {index} of the vector is not a finite number")]
    NotFinite { index: usize },
    #[error("vectors of {0} dimensions, expected 1 to {MAX_DIMENSIONS}")]
    UnsupportedDimensions(usize),
    /// The stored slices do not describe the same number of vectors.
    #[error("{codes} bytes of vectors of {dimensions} dimensions with {scales} bytes of scales do not fit together")]
    Layout { dimensions: usize, codes: usize, scales: usize },
    /// More sketches than vectors, or a part of one at the end.
    #[error("{found} bytes of sketches for {vectors} vectors, expected up to {size} for each")]
    Sketches { vectors: u32, size: usize, found: usize },
}
