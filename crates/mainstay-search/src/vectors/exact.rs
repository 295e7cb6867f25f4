//! The exact index: compares a query with every vector.

use std::ops::Range;

use rayon::prelude::*;

use super::dot::{dot_rows, dot_selected};
use super::quantize::Query;
use super::top_k::TopK;
use super::{IdSet, VectorError, VectorIndex, Vectors};

/// Vectors whose products are taken at one go: the bits of one word of a filter, and a piece that stays in the first cache.
const BLOCK: u32 = 64;
/// Work for one thread: half a millisecond at 256 dimensions, to which handing it over adds little.
const BYTES_PER_TASK: usize = 4 << 20;

/// All vectors are compared, so the result is exact. The time is that of reading the memory once.
#[derive(Clone, Copy, Debug)]
pub struct ExactIndex<'a> {
    vectors: Vectors<'a>,
}

impl<'a> ExactIndex<'a> {
    pub fn new(vectors: Vectors<'a>) -> Self {
        Self { vectors }
    }
}

impl VectorIndex for ExactIndex<'_> {
    fn search(&self, query: &[f32], k: usize, filter: Option<&IdSet>) -> Result<Vec<(u32, f32)>, VectorError> {
        let Some(query) = Query::new(query, self.vectors.dimensions())? else { return Ok(Vec::new()) };
        let scan = Scan { vectors: self.vectors, query: &query, filter };
        Ok(scan.best_of(0..self.vectors.len(), k).into_sorted())
    }
}

/// The cosines of a query with the vectors of these ids, in their order. A vector that has no direction, or does not exist,
/// has the cosine 0, and so has every vector with a query of length zero.
pub fn cosines(vectors: Vectors<'_>, query: &[f32], ids: &[u32]) -> Result<Vec<f32>, VectorError> {
    let Some(query) = Query::new(query, vectors.dimensions())? else { return Ok(vec![0.0; ids.len()]) };
    let mut products = vec![0; ids.len()];
    dot_selected(&query.codes, vectors.codes(), ids, &mut products);
    #[expect(clippy::cast_precision_loss, reason = "a cosine has seven digits")]
    let cosine =
        |(id, product): (&u32, i32)| (product as f32 * (query.scale * vectors.scale(*id).max(0.0))).clamp(-1.0, 1.0);
    Ok(ids.iter().zip(products).map(cosine).collect())
}

/// One query over some vectors.
#[derive(Clone, Copy)]
pub(super) struct Scan<'a> {
    pub(super) vectors: Vectors<'a>,
    pub(super) query: &'a Query,
    pub(super) filter: Option<&'a IdSet>,
}

impl Scan<'_> {
    /// The best of a range of ids, by several threads where that is worth it.
    pub(super) fn best_of(&self, ids: Range<u32>, k: usize) -> TopK {
        let per_task = BYTES_PER_TASK / self.vectors.dimensions();
        let per_task = u32::try_from(per_task).unwrap_or(u32::MAX).next_multiple_of(BLOCK);
        if ids.end.saturating_sub(ids.start) <= per_task {
            let mut top = TopK::new(k);
            self.scan(ids, &mut top);
            return top;
        }
        // Tasks begin at multiples of a block, so that a word of the filter belongs to one of them.
        (ids.start / per_task..ids.end.div_ceil(per_task))
            .into_par_iter()
            .map(|task| {
                let start = task.saturating_mul(per_task);
                let mut top = TopK::new(k);
                self.scan(start.max(ids.start)..start.saturating_add(per_task).min(ids.end), &mut top);
                top
            })
            .reduce(|| TopK::new(k), TopK::merge)
    }

    fn scan(&self, ids: Range<u32>, top: &mut TopK) {
        let mut start = ids.start;
        while start < ids.end {
            let end = (start / BLOCK + 1).saturating_mul(BLOCK).min(ids.end);
            match self.filter.map(|filter| filter.word(start / BLOCK)) {
                None | Some(u64::MAX) => self.scan_block(start..end, top),
                Some(0) => {}
                Some(word) => self.scan_bits(word, start..end, top),
            }
            start = end;
        }
    }

    fn scan_block(&self, ids: Range<u32>, top: &mut TopK) {
        let dimensions = self.vectors.dimensions();
        let rows = &self.vectors.codes()[ids.start as usize * dimensions..ids.end as usize * dimensions];
        let mut products = [0; BLOCK as usize];
        dot_rows(&self.query.codes, rows, &mut products);
        for (id, product) in ids.zip(products) {
            self.offer(id, product, top);
        }
    }

    fn scan_bits(&self, mut word: u64, ids: Range<u32>, top: &mut TopK) {
        let base = ids.start / BLOCK * BLOCK;
        let mut allowed = [0; BLOCK as usize];
        let mut count = 0;
        while word != 0 {
            let id = base + word.trailing_zeros();
            word &= word - 1;
            if ids.contains(&id) {
                allowed[count] = id;
                count += 1;
            }
        }
        self.scan_selected(&allowed[..count], top);
    }

    /// Compares the query with vectors of these ids, whether or not they are in the filter.
    pub(super) fn scan_selected(&self, ids: &[u32], top: &mut TopK) {
        let mut products = [0; BLOCK as usize];
        for ids in ids.chunks(BLOCK as usize) {
            dot_selected(&self.query.codes, self.vectors.codes(), ids, &mut products);
            for (id, product) in ids.iter().zip(products) {
                self.offer(*id, product, top);
            }
        }
    }

    fn offer(&self, id: u32, product: i32, top: &mut TopK) {
        let scale = self.vectors.scale(id);
        #[expect(clippy::cast_precision_loss, reason = "a score has seven digits")]
        let score = product as f32 * (self.query.scale * scale);
        // A scale of 0 is the zero vector or damage; neither has a direction.
        if scale > 0.0 {
            // Rounding can give a little more than 1.
            top.offer(id, score.clamp(-1.0, 1.0));
        }
    }
}
