//! An inverted index of a range of documents: for each word, in which documents it occurs and how often.
//!
//! `ShardBuilder` takes the words as they are read; `Shard` is the compact, sorted form that queries use.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, BuildHasherDefault, Hasher, RandomState};
use std::ops::Range;

#[derive(Debug, Default)]
pub(crate) struct Shard {
    /// The numbers of its documents in the cache; postings count from the first of them.
    pub(super) documents: Range<usize>,
    /// All words, sorted, without separators.
    words: String,
    /// Where each word ends in `words`, and its postings in `postings`.
    ends: Vec<(u32, u32)>,
    /// For each document of a word: the difference to the number of the one before, and the number of occurrences, both
    /// as varints.
    postings: Vec<u8>,
}

/// Building is bound by memory latency. So what is looked up for every word lies close together, and occurrences are
/// first appended to one list, then sorted and moved to the words' postings in batches; that halves the time.
#[derive(Default)]
pub(crate) struct ShardBuilder {
    hasher: RandomState,
    /// The number of a word by its hash. A word whose hash is taken by another one is under the next free hash.
    numbers: HashMap<u64, u32, BuildHasherDefault<IdentityHasher>>,
    words: String,
    /// Where each word ends in `words`, by number.
    ends: Vec<u32>,
    postings: Vec<Postings>,
    /// Occurrences that are not in the postings yet: the word's number in the upper half, the document's in the lower.
    pending: Vec<u64>,
    postings_bytes: u64,
}

/// The documents of one word.
#[derive(Default)]
struct Postings {
    bytes: Vec<u8>,
    last_document: u32,
}

/// How many occurrences are sorted at once.
const BATCH: usize = 1 << 20;

impl ShardBuilder {
    /// Memory for a word besides its letters: entries of the map and the lists, and an allocation for the postings.
    const WORD_BYTES: u64 = 120;

    /// Adds an occurrence. Documents have to come in order. False if the shard is full: numbers have 32 bits.
    pub(crate) fn add(&mut self, word: &str, document: u32) -> bool {
        let Some(number) = self.number(word) else { return false };
        self.pending.push((number as u64) << 32 | u64::from(document));
        if self.pending.len() >= BATCH {
            self.flush();
        }
        true
    }

    /// About how much memory it takes.
    pub(crate) fn bytes(&self) -> u64 {
        self.words.len() as u64 + self.postings.len() as u64 * Self::WORD_BYTES + self.postings_bytes
    }

    /// The number of a word, which is given to it if it is new. `None` if there are too many.
    fn number(&mut self, word: &str) -> Option<usize> {
        let mut hash = self.hasher.hash_one(word);
        while let Some(number) = self.numbers.get(&hash).map(|number| *number as usize) {
            if &self.words[self.word_range(number)] == word {
                return Some(number);
            }
            hash = hash.wrapping_add(1);
        }
        let number = self.postings.len();
        self.words.push_str(word);
        self.ends.push(u32::try_from(self.words.len()).ok()?);
        self.numbers.insert(hash, u32::try_from(number).ok()?);
        self.postings.push(Postings::default());
        Some(number)
    }

    /// Where a word stands in `words`.
    fn word_range(&self, number: usize) -> Range<usize> {
        let start = if number == 0 { 0 } else { self.ends[number - 1] as usize };
        start..self.ends[number] as usize
    }

    /// Moves pending occurrences to the postings, sorted by word so that each word's postings are written together.
    fn flush(&mut self) {
        self.pending.sort_unstable();
        for same in self.pending.chunk_by(|a, b| a == b) {
            let (number, document) = (same[0] >> 32, same[0] & u64::from(u32::MAX));
            let (Ok(number), Ok(document)) = (usize::try_from(number), u32::try_from(document)) else { continue };
            self.postings_bytes += self.postings[number].push(document, same.len() as u64);
        }
        self.pending.clear();
    }

    /// `None` if the shard is too large for 32-bit positions.
    pub(crate) fn finish(mut self, documents: Range<usize>) -> Option<Shard> {
        self.flush();
        (self.numbers, self.pending) = (HashMap::default(), Vec::new());
        let mut order: Vec<usize> = (0..self.postings.len()).collect();
        order.sort_unstable_by(|a, b| self.words[self.word_range(*a)].cmp(&self.words[self.word_range(*b)]));
        let mut shard = Shard { documents, ends: Vec::with_capacity(order.len()), ..Shard::default() };
        shard.words.reserve_exact(self.words.len());
        for number in order {
            // Taken, so that its memory is free before the next one is copied.
            let postings = std::mem::take(&mut self.postings[number]);
            shard.words.push_str(&self.words[self.word_range(number)]);
            shard.postings.extend_from_slice(&postings.bytes);
            shard.ends.push((u32::try_from(shard.words.len()).ok()?, u32::try_from(shard.postings.len()).ok()?));
        }
        shard.postings.shrink_to_fit();
        Some(shard)
    }
}

impl Postings {
    /// Returns how many bytes it has grown by. A document at the end of one batch may come again in the next; then it
    /// has two postings, and both count.
    fn push(&mut self, document: u32, occurrences: u64) -> u64 {
        let before = self.bytes.len();
        write_varint(&mut self.bytes, (document - self.last_document).into());
        write_varint(&mut self.bytes, occurrences);
        self.last_document = document;
        (self.bytes.len() - before) as u64
    }
}

/// The keys of `numbers` are hashes already.
#[derive(Default)]
struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    /// Not called: a key is written as the number that it is.
    fn write(&mut self, _bytes: &[u8]) {}

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Shard {
    pub(crate) fn bytes(&self) -> usize {
        self.words.len() + self.ends.len() * size_of::<(u32, u32)>() + self.postings.len()
    }

    /// Where the word with this number ends, and where its postings do.
    fn end(&self, nth: usize) -> (usize, usize) {
        let (word, postings) = self.ends[nth];
        (word as usize, postings as usize)
    }

    /// Where the word and its postings begin: at the end of the word before.
    fn start(&self, nth: usize) -> (usize, usize) {
        if nth == 0 { (0, 0) } else { self.end(nth - 1) }
    }

    /// Adds the occurrences of a term to the counts of the documents.
    pub(crate) fn add_matches(&self, term: &str, matches: &mut [u64]) {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low.midpoint(high);
            let word = &self.words[self.start(middle).0..self.end(middle).0];
            match word.cmp(term) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.add_postings(middle, matches),
            }
        }
    }

    /// Numbers of documents are differences, so they are summed up.
    fn add_postings(&self, nth: usize, matches: &mut [u64]) {
        let mut postings = &self.postings[self.start(nth).1..self.end(nth).1];
        let mut document = 0;
        while !postings.is_empty() {
            document += usize::try_from(read_varint(&mut postings)).unwrap_or(usize::MAX);
            matches[document] += read_varint(&mut postings);
        }
    }
}

/// LEB128: seven bits a byte, the lowest first; the highest bit says that more follow.
#[expect(clippy::cast_possible_truncation, reason = "seven bits fit")]
fn write_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 128 {
        bytes.push((number & 127) as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn read_varint(bytes: &mut &[u8]) -> u64 {
    let (mut number, mut shift) = (0, 0);
    while let Some((byte, rest)) = bytes.split_first() {
        *bytes = rest;
        number |= u64::from(byte & 127) << shift;
        if byte & 128 == 0 {
            break;
        }
        shift += 7;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_with_more_words_than_one_batch_is_counted_in_full() {
        let mut builder = ShardBuilder::default();
        for document in [0, 1] {
            for _ in 0..=BATCH {
                assert!(builder.add("again", document));
            }
        }
        let mut matches = vec![0; 2];
        builder.finish(0..2).unwrap().add_matches("again", &mut matches);
        assert_eq!(matches, [BATCH as u64 + 1; 2]);
    }

    #[test]
    fn words_with_equal_hashes_are_told_apart() {
        let mut builder = ShardBuilder::default();
        assert!(builder.add("one", 0));
        // As if the other word had the same hash.
        let hash = builder.hasher.hash_one("two");
        builder.numbers.insert(hash, 0);
        for document in [0, 2, 2] {
            assert!(builder.add("two", document));
        }
        let shard = builder.finish(0..3).unwrap();
        let matches = |term: &str| {
            let mut matches = vec![0; 3];
            shard.add_matches(term, &mut matches);
            matches
        };
        assert_eq!((matches("one"), matches("two"), matches("three")), (vec![1, 0, 0], vec![1, 0, 2], vec![0; 3]));
    }

    #[test]
    fn varints_are_read_as_they_were_written() {
        let numbers = [0, 1, 127, 128, 300, 1 << 35, u64::MAX];
        let mut bytes = Vec::new();
        for number in numbers {
            write_varint(&mut bytes, number);
        }
        let mut rest = bytes.as_slice();
        assert_eq!(numbers.map(|_| read_varint(&mut rest)), numbers);
        assert!(rest.is_empty());
    }
}
