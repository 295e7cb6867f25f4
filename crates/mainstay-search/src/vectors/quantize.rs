//! Vectors as small integers.
//!
//! A byte for each number is a quarter of the memory, and memory is what limits a scan. Only directions are kept: the scale
//! of a vector is what brings its codes to length 1, so that a product of codes and scales is a cosine.

use super::VectorError;

/// The greatest code. The range is symmetric, so that a vector and its opposite have opposite codes.
const MAX_CODE: f64 = 127.0;

/// Replaces `codes` with the vector's direction in whole numbers from -127 to 127, and returns their scale: times it, they
/// are a vector of length 1. The zero vector has zeros and the scale 0.
pub fn quantize(vector: &[f32], codes: &mut Vec<i8>) -> Result<f32, VectorError> {
    codes.clear();
    #[expect(clippy::cast_possible_truncation, reason = "the values are rounded and at most 127")]
    codes.extend(scaled(vector, MAX_CODE)?.map(|value| value as i8));
    let squares: i64 = codes.iter().map(|code| i64::from(*code).pow(2)).sum();
    Ok(inverse_root(squares))
}

/// A query, in finer steps than stored vectors: its product with a stored code is taken in 32 bits anyway.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) codes: Vec<i16>,
    /// What brings the codes to length 1.
    pub(super) scale: f32,
}

impl Query {
    /// The query's codes, or none for a vector of length zero.
    pub(super) fn new(vector: &[f32], dimensions: usize) -> Result<Option<Self>, VectorError> {
        if vector.len() != dimensions {
            return Err(VectorError::Dimensions { expected: dimensions, found: vector.len() });
        }
        // Products with codes of up to 128 in this many dimensions stay below 2³¹.
        let limit = f64::from(i32::MAX) / 128.0 / f64::from(u32::try_from(dimensions.max(1)).unwrap_or(u32::MAX));
        let limit = limit.floor().min(f64::from(i16::MAX));
        #[expect(clippy::cast_possible_truncation, reason = "the values are rounded and at most the limit")]
        let codes: Vec<i16> = scaled(vector, limit)?.map(|value| value as i16).collect();
        let squares: i64 = codes.iter().map(|code| i64::from(*code).pow(2)).sum();
        Ok((squares > 0).then(|| Self { codes, scale: inverse_root(squares) }))
    }
}

/// The values as whole numbers, the greatest of which is `limit`.
fn scaled(vector: &[f32], limit: f64) -> Result<impl Iterator<Item = f64>, VectorError> {
    if let Some(index) = vector.iter().position(|value| !value.is_finite()) {
        return Err(VectorError::NotFinite { index });
    }
    let greatest = vector.iter().fold(0.0, |greatest: f32, value| greatest.max(value.abs()));
    // In 64 bits the quotient is finite for the smallest 32-bit number too.
    let factor = if greatest > 0.0 { limit / f64::from(greatest) } else { 0.0 };
    Ok(vector.iter().map(move |value| (f64::from(*value) * factor).round()))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "a scale has seven digits")]
fn inverse_root(squares: i64) -> f32 {
    if squares > 0 { (1.0 / (squares as f64).sqrt()) as f32 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_keep_the_direction_and_the_scale_brings_them_to_length_one() {
        let mut codes = vec![1];
        let scale = quantize(&[3.0, -4.0, 0.0], &mut codes).unwrap();
        assert_eq!(codes, [95, -127, 0]);
        let length = codes.iter().map(|code| (f32::from(*code) * scale).powi(2)).sum::<f32>();
        assert!((length - 1.0).abs() < 1e-6);
    }

    #[test]
    fn the_zero_vector_has_the_scale_zero() {
        let mut codes = Vec::new();
        assert_eq!(quantize(&[0.0, -0.0], &mut codes), Ok(0.0));
        assert_eq!(codes, [0, 0]);
        assert!(Query::new(&[0.0, 0.0], 2).unwrap().is_none());
    }

    #[test]
    fn values_of_every_size_are_quantised() {
        let mut codes = Vec::new();
        for size in [f32::MIN_POSITIVE / 4.0, 1e-30, 1.0, 1e30, f32::MAX] {
            assert!(quantize(&[size, -size], &mut codes).unwrap() > 0.0);
            assert_eq!(codes, [127, -127], "{size}");
        }
    }

    #[test]
    fn values_that_are_no_numbers_are_errors() {
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert_eq!(quantize(&[0.0, value], &mut Vec::new()), Err(VectorError::NotFinite { index: 1 }));
            assert_eq!(Query::new(&[value, 0.0], 2).unwrap_err(), VectorError::NotFinite { index: 0 });
        }
        assert_eq!(Query::new(&[1.0], 2).unwrap_err(), VectorError::Dimensions { expected: 2, found: 1 });
    }

    #[test]
    fn products_of_the_longest_vectors_fit_into_32_bits() {
        for dimensions in [1, 256, super::super::MAX_DIMENSIONS] {
            let query = Query::new(&vec![1.0; dimensions], dimensions).unwrap().unwrap();
            let mut products = [0];
            super::super::dot::dot_rows(&query.codes, &vec![0x80; dimensions], &mut products);
            let expected = -128 * query.codes.iter().map(|code| i64::from(*code)).sum::<i64>();
            assert_eq!(i64::from(products[0]), expected);
        }
    }
}
