//! Vectors as they are stored.

use super::{MAX_DIMENSIONS, VectorError};

/// Quantised vectors in two slices: the codes of all vectors one after the other (signed bytes), and a scale for each (F32,
/// little-endian). See [`quantize`](super::quantize).
#[derive(Clone, Copy, Debug)]
pub struct Vectors<'a> {
    dimensions: usize,
    codes: &'a [u8],
    scales: &'a [[u8; 4]],
}

impl<'a> Vectors<'a> {
    /// Fails unless there are as many scales as vectors. Later reads rely on that and do not check it again.
    pub fn new(dimensions: usize, codes: &'a [u8], scales: &'a [u8]) -> Result<Self, VectorError> {
        if !(1..=MAX_DIMENSIONS).contains(&dimensions) {
            return Err(VectorError::UnsupportedDimensions(dimensions));
        }
        let wrong = VectorError::Layout { dimensions, codes: codes.len(), scales: scales.len() };
        let (scales, rest) = scales.as_chunks();
        let fits = rest.is_empty() && scales.len().checked_mul(dimensions) == Some(codes.len());
        if !fits || u32::try_from(scales.len()).is_err() {
            return Err(wrong);
        }
        Ok(Self { dimensions, codes, scales })
    }

    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// How many vectors there are; their ids are the numbers below.
    #[expect(clippy::cast_possible_truncation, reason = "checked when it was made")]
    pub fn len(&self) -> u32 {
        self.scales.len() as u32
    }

    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    pub(super) fn codes(&self) -> &'a [u8] {
        self.codes
    }

    /// The codes of one vector; none for an id that does not exist.
    pub(super) fn row(&self, id: u32) -> &'a [u8] {
        let start = id as usize * self.dimensions;
        self.codes.get(start..start + self.dimensions).unwrap_or_default()
    }

    /// The scale of one vector, or 0, with which it is never found, where a damaged file has none that makes sense.
    pub(super) fn scale(&self, id: u32) -> f32 {
        let scale = self.scales.get(id as usize).map_or(0.0, |bytes| f32::from_le_bytes(*bytes));
        if scale.is_finite() { scale } else { 0.0 }
    }
}
