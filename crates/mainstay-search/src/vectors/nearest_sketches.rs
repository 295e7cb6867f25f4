//! The sketches nearest to a query: all that differ in no more bits than the last of those wanted.

/// Collects ids by their distance, which is a small number: counting how many there are of each is faster than a heap.
/// Those of the greatest distance that is kept are kept all, so that the result does not depend on the order.
pub(super) struct NearestSketches {
    wanted: usize,
    found: Vec<(u16, u32)>,
    /// How many of `found` have each distance.
    counts: Vec<usize>,
    /// How many of `found` are within the limit; the others are to be dropped.
    within: usize,
    limit: u16,
}

impl NearestSketches {
    /// For sketches of so many bits.
    pub(super) fn new(wanted: usize, bits: usize) -> Self {
        let limit = u16::try_from(bits.next_multiple_of(64)).unwrap_or(u16::MAX);
        Self { wanted: wanted.max(1), found: Vec::new(), counts: vec![0; usize::from(limit) + 1], within: 0, limit }
    }

    pub(super) fn may_take(&self, distance: u16) -> bool {
        distance <= self.limit
    }

    pub(super) fn take(&mut self, id: u32, distance: u16) {
        if !self.may_take(distance) {
            return;
        }
        self.found.push((distance, id));
        self.counts[usize::from(distance)] += 1;
        self.within += 1;
        // Lowers the limit while enough are left without those at it; ties at the limit stay.
        while self.limit > 0 && self.within - self.counts[usize::from(self.limit)] >= self.wanted {
            self.within -= self.counts[usize::from(self.limit)];
            self.limit -= 1;
        }
        // Seldom enough that the time for it is small for each id, often enough that memory stays bounded.
        if self.found.len() >= 4 * self.wanted + self.within {
            self.drop_far();
        }
    }

    fn drop_far(&mut self) {
        self.found.retain(|(distance, _)| *distance <= self.limit);
    }

    pub(super) fn merge(mut self, other: Self) -> Self {
        for (distance, id) in other.found {
            self.take(id, distance);
        }
        self
    }

    /// The same of those that differ in no more bits than this.
    pub(super) fn into_ids_within(mut self, limit: u16) -> Vec<u32> {
        self.limit = self.limit.min(limit);
        self.into_ids()
    }

    /// The ids in ascending order, so that their vectors are read in the order in which they lie in memory.
    pub(super) fn into_ids(mut self) -> Vec<u32> {
        self.drop_far();
        let mut ids: Vec<u32> = self.found.into_iter().map(|(_, id)| id).collect();
        ids.sort_unstable();
        ids
    }
}

/// In how many bits the nearest of several parts differ at most, if so many are wanted of all together.
pub(super) fn common_limit(parts: &[&NearestSketches], wanted: usize) -> u16 {
    let most = parts.iter().map(|part| part.limit).max().unwrap_or(0);
    let mut found = 0;
    for distance in 0..most {
        // Beyond its own limit, a part has dropped what it has counted.
        let count = |part: &&NearestSketches| {
            if distance > part.limit { 0 } else { part.counts.get(usize::from(distance)).copied().unwrap_or(0) }
        };
        found += parts.iter().map(count).sum::<usize>();
        if found >= wanted {
            return distance;
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearest(wanted: usize, distances: &[u16]) -> Vec<u32> {
        let mut nearest = NearestSketches::new(wanted, 64);
        (0..).zip(distances).for_each(|(id, distance)| nearest.take(id, *distance));
        nearest.into_ids()
    }

    #[test]
    fn all_within_the_distance_of_the_last_wanted_are_kept() {
        assert_eq!(nearest(2, &[9, 3, 5, 3, 64]), [1, 3]);
        assert_eq!(nearest(2, &[9, 3, 5, 5, 64]), [1, 2, 3]);
        assert_eq!(nearest(9, &[9, 3]), [0, 1]);
        assert_eq!(nearest(1, &[0, 0, 1]), [0, 1]);
        assert!(nearest(3, &[]).is_empty());
    }

    proptest::proptest! {
        #[test]
        fn the_result_does_not_depend_on_order_or_division(
            distances in proptest::collection::vec(0_u16..=64, 0..300), wanted in 1_usize..20, cut in 0_usize..300,
        ) {
            let mut sorted = distances.clone();
            sorted.sort_unstable();
            let limit = sorted.get(wanted - 1).or(sorted.last()).copied().unwrap_or(0);
            let expected: Vec<u32> = (0..).zip(&distances).filter(|(_, far)| **far <= limit).map(|(id, _)| id).collect();
            assert_eq!(nearest(wanted, &distances), expected);
            let mut parts = [NearestSketches::new(wanted, 64), NearestSketches::new(wanted, 64)];
            for (id, distance) in (0..).zip(&distances) {
                parts[usize::from(id as usize >= cut)].take(id, *distance);
            }
            let [left, right] = parts;
            let limit = common_limit(&[&left, &right], wanted);
            let of_both = |part: &NearestSketches| {
                let within = part.found.iter().filter(|(distance, _)| *distance <= limit.min(part.limit));
                within.map(|(_, id)| *id).collect::<Vec<u32>>()
            };
            let mut together = [of_both(&left), of_both(&right)].concat();
            together.sort_unstable();
            assert_eq!(together, expected);
            assert_eq!(left.merge(right).into_ids(), expected);
        }
    }
}
