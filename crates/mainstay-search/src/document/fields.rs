//! The fields of chunks and documents: which words count how much.
//!
//! A word's weighted frequency is that of BM25F: the sum over the fields of `weight · tf / (1 - b + b · length /
//! average)`. The averages are constants, so that an impact never changes because other documents do. They are the
//! means of six repositories in six languages (aiohttp, gin, gson, libuv, serde, zod), each counting the same, as
//! `cargo xtask bench search --json FILE` saves them. Averages over all their chunks instead change the mean NDCG@10 by 0.3 points.

use super::hashing::term_hash;
use super::impact::quantize;
use crate::words::Terms;

/// How a field counts.
#[derive(Debug, Clone, Copy)]
struct Field {
    weight: f32,
    /// How much a long field makes a word in it count less, from 0 to 1.
    b: f32,
    /// In terms.
    average: f32,
}

const fn field(weight: f32, b: f32, average: f32) -> Field {
    Field { weight, b, average }
}

/// Places of the fields of a chunk.
pub(super) const PATH: usize = 0;
pub(super) const NAME: usize = 1;
pub(super) const ENCLOSING: usize = 2;
pub(super) const DOC: usize = 3;
pub(super) const BODY: usize = 4;
/// Of a document: the name by which its file is known, in the place of the enclosing names.
pub(super) const KNOWN_AS: usize = 2;

const FIELDS: usize = 5;

/// In the order of the places above. A name counts three times, as it is chosen to say what the code is about; a long
/// body (the greater `b`) has a word more easily by chance than a long name.
const CHUNK_FIELDS: [Field; FIELDS] =
    [field(1.0, 0.5, 4.5), field(3.0, 0.5, 3.0), field(1.5, 0.5, 1.5), field(1.0, 0.75, 11.0), field(1.0, 0.75, 78.0)];

/// Here the names are those of all definitions of a file, which count as other text does. What counts three times is
/// the name of the file itself.
const DOCUMENT_FIELDS: [Field; FIELDS] = [
    field(1.0, 0.5, 5.4),
    field(1.0, 0.6, 52.0),
    field(3.0, 0.5, 2.3),
    field(1.0, 0.6, 73.0),
    field(1.0, 0.75, 1250.0),
];

/// How many terms each field has.
pub type Lengths = [u32; FIELDS];

/// The terms of a chunk or a document, counted by field.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Hash and counts, by hash once they are sorted.
    /// One entry for each occurrence until `sort` brings them together, which saves a lookup for each word.
    terms: Vec<(u64, [u16; FIELDS])>,
    pub(super) lengths: Lengths,
}

impl Counts {
    pub(super) fn add(&mut self, terms: &mut Terms, field: usize, text: &str) {
        let Some(length) = self.lengths.get_mut(field) else { return };
        let mut one = [0; FIELDS];
        if let Some(count) = one.get_mut(field) {
            *count = 1;
        }
        terms.for_each(text, |term| {
            *length += 1;
            self.terms.push((term_hash(term), one));
        });
    }

    /// Adds the counts of some fields of a chunk to those of its document.
    pub(super) fn add_fields(&mut self, of: &Self, fields: &[usize]) {
        let is_taken = |field: usize| fields.contains(&field);
        for (field, (to, from)) in self.lengths.iter_mut().zip(of.lengths).enumerate() {
            *to += if is_taken(field) { from } else { 0 };
        }
        for (hash, counts) in &of.terms {
            let mut taken = *counts;
            for (field, count) in taken.iter_mut().enumerate() {
                *count = if is_taken(field) { *count } else { 0 };
            }
            if taken.iter().any(|count| *count > 0) {
                self.terms.push((*hash, taken));
            }
        }
    }

    /// Brings equal terms together.
    pub(super) fn sort(&mut self) {
        self.terms.sort_unstable_by_key(|(hash, _)| *hash);
        self.terms.dedup_by(|from, to| {
            let is_same = from.0 == to.0;
            if is_same {
                for (to, from) in to.1.iter_mut().zip(from.1) {
                    *to = to.saturating_add(from);
                }
            }
            is_same
        });
    }

    pub(super) fn chunk_impacts(&self) -> Vec<(u64, u8)> {
        self.impacts(&CHUNK_FIELDS)
    }

    pub(super) fn document_impacts(&self) -> Vec<(u64, u8)> {
        self.impacts(&DOCUMENT_FIELDS)
    }

    fn impacts(&self, fields: &[Field; FIELDS]) -> Vec<(u64, u8)> {
        let mut per_occurrence = [0.0; FIELDS];
        for ((share, field), length) in per_occurrence.iter_mut().zip(fields).zip(self.lengths) {
            #[expect(clippy::cast_precision_loss, reason = "a length of some millions is exact")]
            let length = length as f32;
            *share = field.weight / (1.0 - field.b + field.b * length / field.average);
        }
        let impact = |(hash, counts): &(u64, [u16; FIELDS])| {
            let frequency = counts.iter().zip(per_occurrence).map(|(count, share)| f32::from(*count) * share).sum();
            (*hash, quantize(frequency))
        };
        self.terms.iter().map(impact).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::impact::frequencies;

    fn frequency(counts: &Counts, term: &str) -> f32 {
        let impacts = counts.chunk_impacts();
        let found = impacts.iter().find(|(hash, _)| *hash == term_hash(term));
        found.map_or(0.0, |(_, impact)| frequencies()[usize::from(*impact)])
    }

    #[test]
    fn a_name_counts_three_times_and_a_long_body_less() {
        let mut counts = Counts::default();
        counts.add(&mut Terms::default(), NAME, "open");
        counts.add(&mut Terms::default(), BODY, "read read file");
        counts.sort();
        let body = 1.0 / (0.25 + 0.75 * 3.0 / CHUNK_FIELDS[BODY].average);
        for (term, expected) in [
            ("open", 3.0 / (0.5 + 0.5 / CHUNK_FIELDS[NAME].average)),
            ("read", 2.0 * body),
            ("file", body),
            ("none", 0.0),
        ] {
            let found = frequency(&counts, term);
            assert!((found - expected).abs() <= expected * 0.02, "{term}: {found}, expected {expected}");
        }
    }

    #[test]
    fn a_document_takes_the_fields_of_its_chunks_that_it_is_told() {
        let mut chunk = Counts::default();
        chunk.add(&mut Terms::default(), ENCLOSING, "stack");
        chunk.add(&mut Terms::default(), BODY, "push");
        chunk.sort();
        let mut document = Counts::default();
        document.add_fields(&chunk, &[NAME, DOC, BODY]);
        document.sort();
        assert_eq!(document.document_impacts().len(), 1);
        assert_eq!(document.lengths, [0, 0, 0, 0, 1]);
    }
}
