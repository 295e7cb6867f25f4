//! The best of many candidates.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A vector and its score. The order is by rank: the less, the better. Equal scores go by id, so that the order of a
/// search does not depend on how it was divided among threads.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    id: u32,
    score: f32,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.id.cmp(&other.id))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

/// Keeps the best `k` of what it is offered.
#[derive(Debug)]
pub(super) struct TopK {
    k: usize,
    /// The worst is on top.
    heap: BinaryHeap<Candidate>,
    /// Scores below this are not among the best.
    threshold: f32,
}

impl TopK {
    pub(super) fn new(k: usize) -> Self {
        Self { k, heap: BinaryHeap::new(), threshold: if k == 0 { f32::INFINITY } else { f32::NEG_INFINITY } }
    }

    /// Almost every candidate of a scan ends at the first comparison.
    /// A score equal to the threshold is let through, since equal scores are decided by id.
    pub(super) fn offer(&mut self, id: u32, score: f32) {
        if score >= self.threshold {
            self.insert(Candidate { id, score });
        }
    }

    fn insert(&mut self, candidate: Candidate) {
        if self.heap.len() < self.k {
            self.heap.push(candidate);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && candidate < *worst
        {
            *worst = candidate;
        }
        if self.heap.len() == self.k {
            self.threshold = self.heap.peek().map_or(f32::INFINITY, |worst| worst.score);
        }
    }

    pub(super) fn merge(mut self, other: Self) -> Self {
        for candidate in other.heap {
            self.offer(candidate.id, candidate.score);
        }
        self
    }

    /// The best first.
    pub(super) fn into_sorted(self) -> Vec<(u32, f32)> {
        self.heap.into_sorted_vec().into_iter().map(|candidate| (candidate.id, candidate.score)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(k: usize, scores: &[f32]) -> Vec<(u32, f32)> {
        let mut top = TopK::new(k);
        (0..).zip(scores).for_each(|(id, score)| top.offer(id, *score));
        top.into_sorted()
    }

    #[test]
    fn the_best_are_kept_in_order_and_equals_go_by_id() {
        assert_eq!(best(3, &[0.1, 0.5, 0.5, -1.0, 0.9, 0.5]), [(4, 0.9), (1, 0.5), (2, 0.5)]);
        assert_eq!(best(9, &[0.1, 0.2]), [(1, 0.2), (0, 0.1)]);
        assert!(best(0, &[0.1]).is_empty());
    }

    #[test]
    fn a_merge_is_the_same_as_one_list() {
        let scores: Vec<f32> = (0..100_u8).map(|number| f32::from(number.wrapping_mul(37) % 23)).collect();
        let mut halves = [TopK::new(10), TopK::new(10)];
        (0..).zip(&scores).for_each(|(id, score)| halves[id as usize % 2].offer(id, *score));
        let [left, right] = halves;
        assert_eq!(left.merge(right).into_sorted(), best(10, &scores));
    }
}
