//! NDCG@10, and its means by group.

use std::collections::BTreeMap;

use serde::Serialize;

/// Results after these are not looked at.
const DEPTH: usize = 10;

/// The gain of results at these places, counted from 0, as a share of the greatest possible.
pub(crate) fn ndcg(places: impl Iterator<Item = usize>, relevant: usize) -> f64 {
    let gain = |place: usize| 1.0 / f64::from(u32::try_from(place).unwrap_or(u32::MAX).saturating_add(2)).log2();
    let ideal: f64 = (0..relevant.min(DEPTH)).map(gain).sum();
    let found: f64 = places.filter(|place| *place < DEPTH).map(gain).sum();
    if ideal > 0.0 { found / ideal } else { 0.0 }
}

/// The NDCG of a list of files: one that several chunks belong to counts at the place of its best chunk.
pub(crate) fn ndcg_of_files<'p>(chunks: impl Iterator<Item = &'p str>, relevant: &[&str]) -> f64 {
    let mut files: Vec<&str> = Vec::new();
    for path in chunks {
        if !files.contains(&path) {
            files.push(path);
        }
    }
    let places = files.iter().enumerate().filter(|(_, file)| relevant.contains(file)).map(|(place, _)| place);
    ndcg(places, relevant.len())
}

/// The figures of queries by group: the kind of the query, or a language.
#[derive(Clone, Default, Serialize)]
pub(crate) struct Scores(pub(crate) BTreeMap<String, Vec<f64>>);

impl Scores {
    pub(crate) fn add(&mut self, group: &str, score: f64) {
        self.0.entry(group.to_owned()).or_default().push(score);
    }

    pub(crate) fn extend(&mut self, other: &Self) {
        for (group, scores) in &other.0 {
            self.0.entry(group.clone()).or_default().extend(scores);
        }
    }

    /// Over all queries; `None` without any.
    pub(crate) fn mean(&self) -> Option<f64> {
        mean(self.0.values().flatten().copied())
    }

    pub(crate) fn mean_of(&self, group: &str) -> Option<f64> {
        mean(self.0.get(group)?.iter().copied())
    }

    pub(crate) fn count(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }
}

pub(crate) fn mean(figures: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = figures.fold((0.0, 0_u32), |(sum, count), figure| (sum + figure, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_counts_once_at_the_place_of_its_best_chunk() {
        let chunks = ["a.rs", "a.rs", "b.rs", "c.rs"];
        let second = ndcg_of_files(chunks.into_iter(), &["b.rs"]);
        assert!((second - 1.0 / 3_f64.log2()).abs() < 1e-9);
        assert!((ndcg_of_files(chunks.into_iter(), &["a.rs", "b.rs"]) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_found_after_the_tenth_place_counts_for_nothing() {
        assert!(ndcg(std::iter::once(9), 1) > 0.0);
        assert!(ndcg(std::iter::once(10), 1).abs() < 1e-9);
        assert!(ndcg(std::iter::empty(), 0).abs() < 1e-9);
    }

    #[test]
    fn means_are_over_queries_and_by_group() {
        let mut scores = Scores::default();
        scores.add("symbol", 1.0);
        scores.add("words", 0.0);
        scores.add("words", 0.5);
        assert_eq!((scores.mean(), scores.mean_of("words"), scores.count()), (Some(0.5), Some(0.25), 3));
        assert_eq!((Scores::default().mean(), scores.mean_of("other")), (None, None));
    }
}
