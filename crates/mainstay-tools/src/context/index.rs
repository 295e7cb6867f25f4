//! The words of a cache in memory, so that a question reads nothing but the documents it is answered with.

use std::collections::HashMap;
use std::ops::Range;

use mainstay_core::Result;
use mainstay_sandbox::{Dir, Facts};

use super::cache::Cache;
use super::crew;
use super::select::{Measure, Question, answer};
use super::words::words;
use crate::progress::Progress;

/// Whether a change of a file would show in what the system says of it.
pub(super) type Trust = fn(&Facts) -> bool;

/// A cache whose documents have all been read and checked.
#[derive(Debug)]
pub(super) struct Index {
    cache: Cache,
    measures: Vec<Measure>,
    /// What the file system said of each document.
    facts: Vec<Facts>,
    shards: Vec<Shard>,
}

/// After so many words it is asked whether anybody still waits.
pub(super) const OFTEN: u64 = 4096;

/// Every shard has words that the others have, too: more of them are faster to read and take more memory.
const MOST_SHARDS: usize = 8;

/// The words of a run of documents, in order, and for each in which of them it stands and how often.
#[derive(Debug, Default)]
struct Shard {
    documents: Range<usize>,
    words: String,
    /// Where each word ends in `words`, and its places in `places`.
    ends: Vec<(u32, u32)>,
    /// Pairs of numbers of varying length: how many documents further, how often.
    places: Vec<u8>,
}

impl Index {
    /// Reads all of a cache. If its words would take more than `most` bytes, or nobody could tell later whether it has
    /// changed, the cache is given back.
    pub(super) fn read(cache: Cache, most: u64, trust: Trust, progress: &Progress) -> Result<Result<Self, Cache>> {
        let count = cache.entries.len();
        progress.expect(count);
        if !trust(&cache.manifest) {
            return Ok(Err(cache));
        }
        let part = count.div_ceil(crew::hands().min(MOST_SHARDS)).max(1);
        let parts: Vec<Range<usize>> = (0..count).step_by(part).map(|from| from..count.min(from + part)).collect();
        let share = most / parts.len().max(1) as u64;
        let read = |nth: usize| gather(&cache, parts[nth].clone(), share, trust, progress);
        let gathered = crew::on_threads(parts.len(), read)?;
        let mut index = Self { measures: Vec::new(), facts: Vec::new(), shards: Vec::new(), cache };
        for part in gathered {
            let Some(Gathered { measures, facts, shard }) = part else { return Ok(Err(index.cache)) };
            index.measures.extend(measures);
            index.facts.extend(facts);
            index.shards.push(shard);
        }
        Ok(Ok(index))
    }

    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> u64 {
        let shards = self.shards.iter().map(|shard| shard.words.len() + shard.ends.len() * 8 + shard.places.len());
        let documents = self.cache.entries.iter().map(|entry| entry.id.len() + entry.version.len() + entry.file.len());
        let fixed = size_of::<Facts>() + size_of::<Measure>() + 3 * size_of::<String>();
        (shards.sum::<usize>() + documents.sum::<usize>() + fixed * self.measures.len()) as u64
    }

    pub(super) fn into_cache(self) -> Cache {
        self.cache
    }

    /// Whether this is what lies in the directory now.
    pub(super) fn is_of(&self, directory: &Dir) -> bool {
        self.cache.is_still(directory, &self.facts)
    }

    pub(super) fn resolve(&self, question: &Question<'_>, progress: &Progress) -> Result<String> {
        let mut matches = vec![0; self.measures.len()];
        for term in question.terms.distinct() {
            for shard in &self.shards {
                shard.add(term, &mut matches[shard.documents.clone()]);
            }
        }
        answer(&self.cache, &self.measures, &matches, question, progress)
    }
}

struct Gathered {
    measures: Vec<Measure>,
    facts: Vec<Facts>,
    shard: Shard,
}

/// Where a word stands, as long as documents are still being read.
#[derive(Default)]
struct Places {
    written: Vec<u8>,
    /// The document it was last seen in, and how often; not written yet.
    last: usize,
    times: u64,
    /// The document that was written last.
    before: usize,
}

impl Places {
    /// What one word costs besides its letters, while it is gathered.
    const COST: u64 = 180;

    fn see(&mut self, nth: usize) -> u64 {
        let mut more = 0;
        if self.times > 0 && self.last != nth {
            more = self.write();
        }
        self.last = nth;
        self.times += 1;
        more
    }

    fn write(&mut self) -> u64 {
        let before = self.written.len();
        put(&mut self.written, (self.last - self.before) as u64);
        put(&mut self.written, self.times);
        (self.before, self.times) = (self.last, 0);
        (self.written.len() - before) as u64
    }
}

/// Reads a run of documents. Nothing if their words take more than `most` bytes, or one was changed just now.
fn gather(
    cache: &Cache,
    documents: Range<usize>,
    most: u64,
    trust: Trust,
    progress: &Progress,
) -> Result<Option<Gathered>> {
    let mut seen: HashMap<Box<str>, Places> = HashMap::new();
    let (mut measures, mut facts) = (Vec::with_capacity(documents.len()), Vec::with_capacity(documents.len()));
    let mut bytes = 0;
    for (nth, entry) in cache.entries[documents.clone()].iter().enumerate() {
        progress.check()?;
        let document = cache.read(entry)?;
        if !trust(&document.facts) {
            return Ok(None);
        }
        let mut count = 0;
        for word in words(&document.content) {
            count += 1;
            if count % OFTEN == 0 {
                progress.check()?;
            }
            if let Some(places) = seen.get_mut(word.as_ref()) {
                bytes += places.see(nth);
                continue;
            }
            let mut places = Places::default();
            places.see(nth);
            bytes += word.len() as u64 + Places::COST;
            seen.insert(word.into(), places);
            if bytes > most {
                return Ok(None);
            }
        }
        measures.push(Measure::of(&document.content, count));
        facts.push(document.facts);
        progress.add(1);
    }
    Ok(Shard::of(documents, seen).map(|shard| Gathered { measures, facts, shard }))
}

impl Shard {
    /// Nothing if it is too large to be counted in 32 bits.
    fn of(documents: Range<usize>, seen: HashMap<Box<str>, Places>) -> Option<Self> {
        let mut seen: Vec<(Box<str>, Places)> = seen.into_iter().collect();
        seen.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let mut shard = Self { documents, ends: Vec::with_capacity(seen.len()), ..Self::default() };
        for (word, mut places) in seen {
            places.write();
            shard.words.push_str(&word);
            shard.places.extend_from_slice(&places.written);
            shard.ends.push((u32::try_from(shard.words.len()).ok()?, u32::try_from(shard.places.len()).ok()?));
        }
        shard.words.shrink_to_fit();
        shard.places.shrink_to_fit();
        Some(shard)
    }

    fn end(&self, nth: usize) -> (usize, usize) {
        let (word, places) = self.ends[nth];
        (word as usize, places as usize)
    }

    fn start(&self, nth: usize) -> (usize, usize) {
        if nth == 0 { (0, 0) } else { self.end(nth - 1) }
    }

    /// Adds how often a term stands in each of the documents.
    fn add(&self, term: &str, matches: &mut [u64]) {
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
