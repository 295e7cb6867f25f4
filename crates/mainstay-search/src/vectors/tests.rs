//! The indexes against plain arithmetic, and the approximate one against the exact one.

use super::*;

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    /// Nearly normal: the sum of four even ones.
    #[expect(clippy::cast_precision_loss, reason = "random anyway")]
    fn normal(&mut self) -> f32 {
        (0..4).map(|_| (self.next() >> 40) as f32 / (1_u64 << 24) as f32 - 0.5).sum()
    }

    fn vector(&mut self, dimensions: usize) -> Vec<f32> {
        (0..dimensions).map(|_| self.normal()).collect()
    }

    /// A vector near one of the centres.
    fn near(&mut self, centres: &[Vec<f32>], spread: f32) -> Vec<f32> {
        let centre = self.below(centres.len());
        centres[centre].iter().map(|value| value + spread * self.normal()).collect()
    }
}

#[derive(Default)]
struct Stored {
    dimensions: usize,
    codes: Vec<u8>,
    scales: Vec<u8>,
}

impl Stored {
    fn new(vectors: &[Vec<f32>]) -> Self {
        let mut stored = Self { dimensions: vectors[0].len(), ..Self::default() };
        for vector in vectors {
            stored.push(vector);
        }
        stored
    }

    fn push(&mut self, vector: &[f32]) {
        let mut codes = Vec::new();
        let scale = quantize(vector, &mut codes).unwrap();
        self.codes.extend(codes.iter().map(|code| code.cast_unsigned()));
        self.scales.extend(scale.to_le_bytes());
    }

    fn vectors(&self) -> Vectors<'_> {
        Vectors::new(self.dimensions, &self.codes, &self.scales).unwrap()
    }

    fn sketches(&self) -> Vec<u8> {
        let mut sketches = Vec::new();
        sketch(self.vectors(), &mut sketches);
        sketches
    }

    fn exact(&self) -> ExactIndex<'_> {
        ExactIndex::new(self.vectors())
    }
}

fn cosine(left: &[f32], right: &[f32]) -> f32 {
    let dot = |left: &[f32], right: &[f32]| left.iter().zip(right).map(|(left, right)| left * right).sum::<f32>();
    dot(left, right) / (dot(left, left) * dot(right, right)).sqrt()
}

fn ids(found: &[(u32, f32)]) -> Vec<u32> {
    found.iter().map(|(id, _)| *id).collect()
}

#[test]
fn scores_are_cosines_of_the_unquantised_vectors() {
    let mut random = Random(1);
    for dimensions in [1, 3, 64, 255, 256] {
        let vectors: Vec<_> = (0..200).map(|_| random.vector(dimensions)).collect();
        let query = random.vector(dimensions);
        let found = Stored::new(&vectors).exact().search(&query, 1_000, None).unwrap();
        assert_eq!(found.len(), vectors.len());
        assert!(found.is_sorted_by(|left, right| left.1 >= right.1));
        for (id, score) in found {
            assert!((score - cosine(&query, &vectors[id as usize])).abs() < 0.01, "{dimensions}");
        }
    }
}

#[test]
fn a_filter_leaves_the_others_in_their_order() {
    let mut random = Random(2);
    let vectors: Vec<_> = (0..1_000).map(|_| random.vector(16)).collect();
    let stored = Stored::new(&vectors);
    let query = random.vector(16);
    let all = stored.exact().search(&query, 1_000, None).unwrap();
    for filter in [IdSet::below(0), IdSet::below(70), (0..1_000).step_by(7).collect(), IdSet::below(5_000)] {
        let expected: Vec<_> = all.iter().filter(|(id, _)| filter.contains(*id)).take(20).copied().collect();
        assert_eq!(stored.exact().search(&query, 20, Some(&filter)).unwrap(), expected);
    }
}

#[test]
fn many_vectors_on_several_threads_give_what_one_thread_gives() {
    let mut random = Random(3);
    // Few different vectors, so that most scores are equal and the order by id is put to the test.
    let few: Vec<_> = (0..50).map(|_| random.vector(8)).collect();
    let vectors: Vec<_> = (0..1_200_000).map(|_| random.below(few.len())).collect();
    let mut stored = Stored { dimensions: 8, ..Stored::default() };
    let quantised = Stored::new(&few);
    for index in &vectors {
        stored.codes.extend_from_slice(&quantised.codes[index * 8..index * 8 + 8]);
        stored.scales.extend_from_slice(&quantised.scales[index * 4..index * 4 + 4]);
    }
    let query = random.vector(8);
    let best = quantised.exact().search(&query, 1, None).unwrap()[0];
    let expected: Vec<_> = (0..).zip(&vectors).filter(|(_, index)| **index == best.0 as usize).take(500).collect();
    let found = stored.exact().search(&query, 500, None).unwrap();
    assert_eq!(ids(&found), expected.iter().map(|(id, _)| *id).collect::<Vec<u32>>());
}

#[test]
fn zero_vectors_find_nothing_and_are_not_found() {
    let stored = Stored::new(&[vec![0.0, 0.0], vec![-1.0, 0.0]]);
    assert_eq!(stored.exact().search(&[1.0, 0.0], 5, None), Ok(vec![(1, -1.0)]));
    assert_eq!(stored.exact().search(&[0.0, 0.0], 5, None), Ok(vec![]));
    assert_eq!(stored.exact().search(&[1.0, 0.0], 0, None), Ok(vec![]));
}

#[test]
fn wrong_queries_are_errors_in_both_indexes() {
    let stored = Stored::new(&[vec![1.0, 0.0], vec![0.0, 1.0]]);
    let sketches = stored.sketches();
    let approximate = SketchIndex::new(stored.vectors(), &sketches).unwrap();
    for index in [&stored.exact() as &dyn VectorIndex, &approximate] {
        assert_eq!(index.search(&[1.0], 1, None), Err(VectorError::Dimensions { expected: 2, found: 1 }));
        assert_eq!(index.search(&[1.0, f32::NAN], 1, None), Err(VectorError::NotFinite { index: 1 }));
        assert_eq!(index.search(&[0.0, 0.0], 1, None), Ok(vec![]));
        assert_eq!(index.search(&[1.0, 0.0], 1, None).map(|found| ids(&found)), Ok(vec![0]));
    }
}

#[test]
fn slices_that_do_not_fit_together_are_an_error() {
    for (dimensions, codes, scales) in [(2, 3, 4), (2, 4, 4), (2, 2, 5), (0, 0, 0), (MAX_DIMENSIONS + 1, 0, 0)] {
        assert!(Vectors::new(dimensions, &vec![0; codes], &vec![0; scales]).is_err());
    }
    assert!(ExactIndex::new(Vectors::new(2, &[], &[]).unwrap()).search(&[1.0, 0.0], 3, None).unwrap().is_empty());
}

/// The share of the ten nearest that an approximate search finds.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn recall(exact: &ExactIndex<'_>, approximate: &SketchIndex<'_>, queries: &[Vec<f32>]) -> f64 {
    let mut found = 0;
    for query in queries {
        let expected = ids(&exact.search(query, 10, None).unwrap());
        let approximate = ids(&approximate.search(query, 10, None).unwrap());
        found += expected.iter().filter(|id| approximate.contains(id)).count();
    }
    found as f64 / (10 * queries.len()) as f64
}

#[test]
fn an_approximate_search_finds_most_of_the_nearest_among_few_candidates() {
    let mut random = Random(4);
    let centres: Vec<_> = (0..50).map(|_| random.vector(128)).collect();
    let vectors: Vec<_> = (0..2_500).map(|_| random.near(&centres, 0.8)).collect();
    let queries: Vec<_> = (0..30).map(|_| random.near(&centres, 0.8)).collect();
    let stored = Stored::new(&vectors);
    let sketches = stored.sketches();
    let index = SketchIndex::new(stored.vectors(), &sketches).unwrap();
    let recall_at_10 = recall(&stored.exact(), &index.with_candidates(100), &queries);
    assert!(recall_at_10 >= 0.95, "recall@10 is {recall_at_10}");
    let recall_of_all = recall(&stored.exact(), &index.with_candidates(2_499), &queries);
    assert!((recall_of_all - 1.0).abs() < 1e-9, "recall@10 is {recall_of_all}");
}

#[test]
fn an_approximate_search_works_in_any_number_of_dimensions() {
    let mut random = Random(8);
    for dimensions in [1, 63, 65, 256, 300] {
        let vectors: Vec<_> = (0..300).map(|_| random.vector(dimensions)).collect();
        let stored = Stored::new(&vectors);
        let sketches = stored.sketches();
        let index = SketchIndex::new(stored.vectors(), &sketches).unwrap().with_candidates(100);
        let (best, score) = index.search(&vectors[7], 1, None).unwrap()[0];
        assert!(score > 0.999 && (best == 7 || dimensions == 1), "{dimensions} dimensions: {best} with {score}");
    }
}

#[test]
fn vectors_without_a_sketch_are_found() {
    let mut random = Random(5);
    let mut stored = Stored::new(&(0..500).map(|_| random.vector(16)).collect::<Vec<_>>());
    let sketches = stored.sketches();
    let new = random.vector(16);
    stored.push(&new);
    let index = SketchIndex::new(stored.vectors(), &sketches).unwrap().with_candidates(20);
    assert_eq!(ids(&index.search(&new, 1, None).unwrap()), [500]);
}

#[test]
fn a_filter_of_an_approximate_search_still_gives_as_many_as_asked_for() {
    let mut random = Random(6);
    let stored = Stored::new(&(0..2_000).map(|_| random.vector(16)).collect::<Vec<_>>());
    let sketches = stored.sketches();
    let index = SketchIndex::new(stored.vectors(), &sketches).unwrap().with_candidates(100);
    let query = random.vector(16);
    for filter in [(0..2_000).step_by(2).collect(), (0..2_000).step_by(100).collect::<IdSet>()] {
        let found = index.search(&query, 20, Some(&filter)).unwrap();
        assert_eq!(found.len(), 20);
        assert!(found.iter().all(|(id, _)| filter.contains(*id)));
    }
}

#[test]
fn sketches_that_do_not_fit_the_vectors_are_an_error() {
    let stored = Stored::new(&[vec![1.0, 0.0], vec![0.0, 1.0]]);
    for length in [1, 15, 24] {
        assert!(SketchIndex::new(stored.vectors(), &vec![0; length]).is_err());
    }
    let empty = Vectors::new(2, &[], &[]).unwrap();
    assert_eq!(SketchIndex::new(empty, &[]).unwrap().search(&[1.0, 0.0], 3, None), Ok(vec![]));
}

/// The same vectors in three parts, of which the last has no sketches.
fn in_parts(vectors: &[Vec<f32>]) -> Vec<(Stored, Vec<u8>)> {
    let size = vectors.len().div_ceil(3);
    let mut parts: Vec<(Stored, Vec<u8>)> = vectors
        .chunks(size)
        .map(|vectors| {
            let stored = Stored::new(vectors);
            let mut sketches = Vec::new();
            sketch(stored.vectors(), &mut sketches);
            (stored, sketches)
        })
        .collect();
    parts.last_mut().unwrap().1 = vec![0; 3];
    parts
}

#[test]
fn vectors_in_parts_are_found_as_in_one() {
    let mut random = Random(77);
    let centres: Vec<Vec<f32>> = (0..40).map(|_| random.vector(64)).collect();
    for (count, least) in [(3_000, 20), (EXACT_VECTORS as usize + 5_000, 19)] {
        let vectors: Vec<Vec<f32>> = (0..count).map(|_| random.near(&centres, 0.7)).collect();
        let (whole, parts) = (Stored::new(&vectors), in_parts(&vectors));
        let size = u32::try_from(count.div_ceil(3)).unwrap();
        let query = random.near(&centres, 0.7);
        let expected = ExactIndex::new(whole.vectors()).search(&query, 20, None).unwrap();
        let parts: Vec<PartVectors<'_>> = parts
            .iter()
            .map(|(stored, sketches)| PartVectors { vectors: stored.vectors(), sketches, filter: None })
            .collect();
        let found = nearest_of_parts(&parts, &query, 20).unwrap();
        let found: Vec<u32> = found.iter().map(|(part, id, _)| u32::try_from(*part).unwrap() * size + id).collect();
        let same = expected.iter().filter(|(id, _)| found.contains(id)).count();
        assert!(found.len() == 20 && same >= least, "{count}: {same}");
    }
    assert!(nearest_of_parts(&[], &[1.0], 5).unwrap().is_empty());
}
