//! Comparing texts token by token.
//!
//! A set of tokens meets another as far as each of its tokens is near to one of the other's. Tokens count by the
//! length of their vectors, which is how much they say. In contrast to the vectors of whole texts, a word that is not
//! met at all is noticed.

use crate::embedding::{Embedder as _, StaticModel};
use crate::vectors::dot_selected;

use super::constants::MAX_QUERY_TOKENS;

/// The tokens of a query.
pub(super) struct QueryTokens<'a> {
    model: &'a StaticModel,
    tokens: Vec<u32>,
    weights: Vec<f32>,
    sum: f32,
}

/// The cosines of some tokens with those of a query. A token is compared once, however many texts have it.
pub(super) struct Similarities<'q> {
    query: &'q QueryTokens<'q>,
    /// For each token of the model its place plus one, or 0.
    /// An array, because it is read for every token of every candidate.
    places: Vec<u32>,
    tokens: Vec<u32>,
    /// One row for each token that was added, a column for each of the query.
    cosines: Vec<f32>,
    /// The best of each row, and the token's weight.
    best: Vec<(f32, f32)>,
}

impl<'a> QueryTokens<'a> {
    pub(super) fn new(model: &'a StaticModel, text: &str) -> Self {
        Self::of_tokens(model, model.distinct_tokens(&[text]))
    }

    pub(super) fn of_tokens(model: &'a StaticModel, mut tokens: Vec<u32>) -> Self {
        tokens.truncate(MAX_QUERY_TOKENS);
        let weights: Vec<f32> = tokens.iter().map(|token| weight(model, *token)).collect();
        Self { model, tokens, sum: weights.iter().sum(), weights }
    }

    pub(super) fn model(&self) -> &'a StaticModel {
        self.model
    }
}

/// The length of a token's vector.
fn weight(model: &StaticModel, token: u32) -> f32 {
    model.weight(token).abs() * length(model, token)
}

fn length(model: &StaticModel, token: u32) -> f32 {
    model.row_lengths().get(token as usize).copied().unwrap_or(0.0)
}

impl<'q> Similarities<'q> {
    pub(super) fn new(query: &'q QueryTokens<'q>) -> Self {
        let places = vec![0; query.model.row_lengths().len()];
        Self { query, places, tokens: Vec::new(), cosines: Vec::new(), best: Vec::new() }
    }

    /// Notes tokens that will be compared. A token that the model does not have is nothing.
    pub(super) fn add(&mut self, tokens: impl IntoIterator<Item = u32>) {
        for token in tokens {
            if let Some(place) = self.places.get_mut(token as usize).filter(|place| **place == 0) {
                self.tokens.push(token);
                *place = u32::try_from(self.tokens.len()).unwrap_or(0);
            }
        }
    }

    /// Compares all tokens that were added with all of the query.
    pub(super) fn compare(&mut self) {
        let QueryTokens { model, tokens: wanted, .. } = self.query;
        let columns = wanted.len();
        self.cosines = vec![0.0; self.tokens.len() * columns];
        let mut products = vec![0; self.tokens.len()];
        // A token's vector is its row times its weight. Of the weight only the sign changes a cosine.
        let factor = |token: u32| inverse(length(model, token)) * model.weight(token).signum();
        let factors: Vec<f32> = self.tokens.iter().map(|token| factor(*token)).collect();
        for (column, token) in wanted.iter().enumerate() {
            let start = *token as usize * model.dimensions();
            let row = model.rows().get(start..start + model.dimensions()).unwrap_or_default();
            let codes: Vec<i16> = row.iter().map(|byte| i16::from(byte.cast_signed())).collect();
            dot_selected(&codes, model.rows(), &self.tokens, &mut products);
            let own = factor(*token);
            let cells = self.cosines.iter_mut().skip(column).step_by(columns.max(1));
            for ((cell, product), factor) in cells.zip(&products).zip(&factors) {
                #[expect(clippy::cast_precision_loss, reason = "a cosine has seven digits")]
                let product = *product as f32;
                *cell = product * own * factor;
            }
        }
        let of_row = |(place, token): (usize, &u32)| {
            let row = self.cosines.get(place * columns..(place + 1) * columns).unwrap_or_default();
            (row.iter().copied().fold(f32::NEG_INFINITY, f32::max), weight(model, *token))
        };
        self.best = self.tokens.iter().enumerate().map(of_row).collect();
    }

    fn place(&self, token: u32) -> Option<usize> {
        let place = self.places.get(token as usize)?.checked_sub(1)?;
        usize::try_from(place).ok()
    }

    /// How well the query is met by some tokens, and they by the query. Both are 0 if either has no token.
    pub(super) fn meets(&self, tokens: impl IntoIterator<Item = u32>) -> (f32, f32) {
        let columns = self.query.tokens.len();
        // Not from 0: tokens that are all opposite to the query count against it.
        let mut maxima = vec![f32::NEG_INFINITY; columns];
        let (mut met, mut sum) = (0.0, 0.0);
        for place in tokens.into_iter().filter_map(|token| self.place(token)) {
            let Some(row) = self.cosines.get(place * columns..(place + 1) * columns) else { continue };
            for (maximum, cosine) in maxima.iter_mut().zip(row) {
                *maximum = maximum.max(*cosine);
            }
            if let Some((best, weight)) = self.best.get(place) {
                met += best * weight;
                sum += weight;
            }
        }
        // Also keeps the infinities above from reaching a score.
        if sum <= 0.0 || self.query.sum <= 0.0 {
            return (0.0, 0.0);
        }
        let query: f32 = maxima.iter().zip(&self.query.weights).map(|(maximum, weight)| maximum * weight).sum();
        (query / self.query.sum, met / sum)
    }
}

fn inverse(length: f32) -> f32 {
    if length > 0.0 { 1.0 / length } else { 0.0 }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Tokens with vectors that are known: `up` (0, 2), `down` (0, -2), `right` (1, 0), `slant` (3, 4), `none` (0, 0).
    pub(in crate::ranking) fn model() -> StaticModel {
        let header = concat!(
            r#"{"embeddings":{"dtype":"I8","shape":[5,2],"data_offsets":[0,10]},"#,
            r#""weights":{"dtype":"F32","shape":[5],"data_offsets":[10,30]}}"#,
        );
        let mut bytes = u64::try_from(header.len()).unwrap().to_le_bytes().to_vec();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend([0_i8, 2, 0, -2, 1, 0, 3, 4, 0, 0].map(i8::cast_unsigned));
        bytes.extend([1.0_f32, 1.0, 3.0, -1.0, 1.0].iter().flat_map(|weight| weight.to_le_bytes()));
        StaticModel::from_bytes(bytes, b"up\ndown\nright\nslant\nnone\n".to_vec()).unwrap()
    }

    fn meets(query: &str, text: &str) -> (f32, f32) {
        let model = model();
        let query = QueryTokens::new(&model, query);
        let tokens = model.distinct_tokens(&[text]);
        let mut similarities = Similarities::new(&query);
        similarities.add(tokens.iter().copied());
        similarities.compare();
        similarities.meets(tokens)
    }

    fn is_near(found: (f32, f32), expected: (f32, f32)) {
        let far = (found.0 - expected.0).abs().max((found.1 - expected.1).abs());
        assert!(far < 1e-6, "{found:?}, expected {expected:?}");
    }

    #[test]
    fn a_set_meets_another_as_far_as_its_tokens_have_near_ones() {
        is_near(meets("up", "up"), (1.0, 1.0));
        is_near(meets("up", "down"), (-1.0, -1.0));
        is_near(meets("up", "up right"), (1.0, 2.0 / 5.0));
        // "right" is half again as long as "up", and counts so much more.
        is_near(meets("up right", "up"), (2.0 / 5.0, 1.0));
        // The weight of "slant" turns it around: its vector is (-3, -4).
        is_near(meets("slant", "up right"), (-0.6, (2.0 * -0.8 + 3.0 * -0.6) / 5.0));
    }

    #[test]
    fn what_has_no_token_meets_nothing() {
        for (query, text) in [("", "up"), ("up", ""), ("", ""), ("none", "up"), ("up", "none")] {
            is_near(meets(query, text), (0.0, 0.0));
        }
    }

    #[test]
    fn tokens_that_do_not_exist_or_were_not_added_are_nothing() {
        let model = model();
        let query = QueryTokens::new(&model, "up");
        let mut similarities = Similarities::new(&query);
        similarities.add([0, 77, u32::MAX]);
        similarities.compare();
        is_near(similarities.meets([0, 77, 1, u32::MAX]), (1.0, 1.0));
    }
}
