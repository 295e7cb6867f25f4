//! The words of a run of documents, and where they stand: first as they come, then in order and as small as can be.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, BuildHasherDefault, Hasher, RandomState};
use std::ops::Range;

/// The words of a run of documents, in order, and for each in which of them it stands and how often.
#[derive(Debug, Default)]
pub(crate) struct Shard {
    documents: Range<usize>,
    words: String,
    /// Where each word ends in `words`, and its places in `places`.
    ends: Vec<(u32, u32)>,
    /// Pairs of numbers of varying length: how many documents further, how often.
    places: Vec<u8>,
}

/// Words as long as documents are still being read. Most of the time goes by waiting for memory: what is looked up for
/// every word lies close together, and where it stands is noted in one line first and sorted in when that is long.
#[derive(Default)]
pub(crate) struct Seen {
    hasher: RandomState,
    /// The number of a word, by its hash; of another one with the same hash, by the one after that.
    numbers: HashMap<u64, u32, BuildHasherDefault<AsItIs>>,
    words: String,
    ends: Vec<u32>,
    places: Vec<Places>,
    /// The number of a word, and below it that of the document it stands in.
    noted: Vec<u64>,
    written: u64,
}

/// Where a word stands.
#[derive(Default)]
struct Places {
    written: Vec<u8>,
    /// The document that was written last.
    last: u32,
}

/// As many notes are sorted in at once.
const NOTES: usize = 1 << 20;

impl Seen {
    /// What a word costs besides its letters.
    const COST: u64 = 120;

    /// Notes that a word stands in a document, which is none before the last one. False if there is no more room.
    pub(crate) fn add(&mut self, word: &str, document: u32) -> bool {
        let Some(number) = self.number(word) else { return false };
        self.noted.push((number as u64) << 32 | u64::from(document));
        if self.noted.len() >= NOTES {
            self.sort_in();
        }
        true
    }

    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> u64 {
        self.words.len() as u64 + self.places.len() as u64 * Self::COST + self.written
    }

    fn number(&mut self, word: &str) -> Option<usize> {
        let mut hash = self.hasher.hash_one(word);
        while let Some(number) = self.numbers.get(&hash).map(|number| *number as usize) {
            if &self.words[self.place(number)] == word {
                return Some(number);
            }
            hash = hash.wrapping_add(1);
        }
        let number = self.places.len();
        self.words.push_str(word);
        self.ends.push(u32::try_from(self.words.len()).ok()?);
        self.numbers.insert(hash, u32::try_from(number).ok()?);
        self.places.push(Places::default());
        Some(number)
    }

    fn place(&self, number: usize) -> Range<usize> {
        let start = if number == 0 { 0 } else { self.ends[number - 1] as usize };
        start..self.ends[number] as usize
    }

    /// Words and documents come in order, so that what is written about one word is written together.
    fn sort_in(&mut self) {
        self.noted.sort_unstable();
        for same in self.noted.chunk_by(|a, b| a == b) {
            let (number, document) = (same[0] >> 32, same[0] & u64::from(u32::MAX));
            let (Ok(number), Ok(document)) = (usize::try_from(number), u32::try_from(document)) else { continue };
            self.written += self.places[number].write(document, same.len() as u64);
        }
        self.noted.clear();
    }

    /// Nothing if it is too large to be counted in 32 bits.
    pub(crate) fn into_shard(mut self, documents: Range<usize>) -> Option<Shard> {
        self.sort_in();
        (self.numbers, self.noted) = (HashMap::default(), Vec::new());
        let mut order: Vec<usize> = (0..self.places.len()).collect();
        order.sort_unstable_by(|a, b| self.words[self.place(*a)].cmp(&self.words[self.place(*b)]));
        let mut shard = Shard { documents, ends: Vec::with_capacity(order.len()), ..Shard::default() };
        shard.words.reserve_exact(self.words.len());
        for number in order {
            let places = std::mem::take(&mut self.places[number]);
            shard.words.push_str(&self.words[self.place(number)]);
            shard.places.extend_from_slice(&places.written);
            shard.ends.push((u32::try_from(shard.words.len()).ok()?, u32::try_from(shard.places.len()).ok()?));
        }
        shard.places.shrink_to_fit();
        Some(shard)
    }
}

impl Places {
    /// How many bytes more it takes. A document may be written twice in a row: both count.
    fn write(&mut self, document: u32, times: u64) -> u64 {
        let before = self.written.len();
        put(&mut self.written, (document - self.last).into());
        put(&mut self.written, times);
        self.last = document;
        (self.written.len() - before) as u64
    }
}

/// What is hashed already is not hashed again.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Shard {
    pub(crate) fn documents(&self) -> Range<usize> {
        self.documents.clone()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.words.len() + self.ends.len() * size_of::<(u32, u32)>() + self.places.len()
    }

    fn end(&self, nth: usize) -> (usize, usize) {
        let (word, places) = self.ends[nth];
        (word as usize, places as usize)
    }

    fn start(&self, nth: usize) -> (usize, usize) {
        if nth == 0 { (0, 0) } else { self.end(nth - 1) }
    }

    /// Adds how often a term stands in each of the documents.
    pub(crate) fn add(&self, term: &str, matches: &mut [u64]) {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low.midpoint(high);
            let word = &self.words[self.start(middle).0..self.end(middle).0];
            match word.cmp(term) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.add_places(middle, matches),
            }
        }
    }

    fn add_places(&self, nth: usize, matches: &mut [u64]) {
        let mut places = &self.places[self.start(nth).1..self.end(nth).1];
        let mut document = 0;
        while !places.is_empty() {
            document += usize::try_from(take(&mut places)).unwrap_or(usize::MAX);
            matches[document] += take(&mut places);
        }
    }
}

/// Seven bits a byte, the lowest first; the highest bit says that more follow.
#[expect(clippy::cast_possible_truncation, reason = "seven bits fit")]
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 128 {
        bytes.push((number & 127) as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(bytes: &mut &[u8]) -> u64 {
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
    fn a_document_may_have_more_words_than_are_noted_at_once() {
        let mut seen = Seen::default();
        for document in [0, 1] {
            for _ in 0..=NOTES {
                assert!(seen.add("again", document));
            }
        }
        let mut matches = vec![0; 2];
        seen.into_shard(0..2).unwrap().add("again", &mut matches);
        assert_eq!(matches, [NOTES as u64 + 1; 2]);
    }

    #[test]
    fn words_with_one_hash_are_still_two_words() {
        let mut seen = Seen::default();
        assert!(seen.add("one", 0));
        // As if the other one had the same hash.
        let hash = seen.hasher.hash_one("two");
        seen.numbers.insert(hash, 0);
        for document in [0, 2, 2] {
            assert!(seen.add("two", document));
        }
        let shard = seen.into_shard(0..3).unwrap();
        let matches = |term: &str| {
            let mut matches = vec![0; 3];
            shard.add(term, &mut matches);
            matches
        };
        assert_eq!((matches("one"), matches("two"), matches("three")), (vec![1, 0, 0], vec![1, 0, 2], vec![0; 3]));
    }

    #[test]
    fn numbers_are_read_as_they_were_written() {
        let numbers = [0, 1, 127, 128, 300, 1 << 35, u64::MAX];
        let mut bytes = Vec::new();
        for number in numbers {
            put(&mut bytes, number);
        }
        let mut rest = bytes.as_slice();
        assert_eq!(numbers.map(|_| take(&mut rest)), numbers);
        assert!(rest.is_empty());
    }
}
