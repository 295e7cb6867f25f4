//! How much a word counts in a chunk or document, as one byte.
//!
//! What is stored is the weighted frequency of BM25F, before saturation and rarity. It depends on nothing but the
//! document itself, since the average lengths it is compared with are constants ([`fields`](super::fields)): a
//! segment stays valid whatever is added to the index. The scale is logarithmic, because a frequency matters by its
//! ratio to others.

use std::sync::LazyLock;

/// The least weighted frequency that is told from a smaller one; impact 1.
const LEAST: f32 = 1.0 / 64.0;
/// The greatest; impact 255. Saturation makes everything above some 20 the same.
const GREATEST: f32 = 256.0;
/// Steps between the two, of 4% each: the error of a score is at most 2%.
const STEPS: f32 = 254.0;

/// Frequencies by impact. 0 is never written; it counts nothing.
static FREQUENCIES: LazyLock<[f32; 256]> = LazyLock::new(|| {
    let mut table = [0.0; 256];
    for (impact, frequency) in (0_u8..=255).zip(&mut table).skip(1) {
        *frequency = LEAST * (GREATEST / LEAST).powf(f32::from(impact - 1) / STEPS);
    }
    table
});

/// The weighted frequency of every impact.
pub fn frequencies() -> &'static [f32; 256] {
    &FREQUENCIES
}

/// The impact nearest to a weighted frequency.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounded, and from 1 to 255")]
pub(super) fn quantize(frequency: f32) -> u8 {
    let step = (frequency.max(LEAST) / LEAST).ln() / (GREATEST / LEAST).ln() * STEPS;
    (step.round().clamp(0.0, STEPS) + 1.0) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impact_is_within_two_percent_of_its_frequency() {
        for frequency in [0.0157, 0.05, 0.3, 1.0, 1.7, 3.0, 20.0, 255.0_f32] {
            let read = frequencies()[usize::from(quantize(frequency))];
            assert!((read / frequency - 1.0).abs() < 0.02, "{frequency} {read}");
        }
        assert_eq!((quantize(0.0), quantize(1e9), quantize(f32::NAN)), (1, 255, 1));
    }

    #[test]
    fn a_greater_frequency_has_a_greater_impact() {
        assert!(frequencies().is_sorted_by(|one, other| one < other));
    }
}
