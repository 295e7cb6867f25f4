//! The words of a cache in memory, so that a question reads nothing but the documents it is answered with.

use std::ops::Range;

use mainstay_core::Result;
use mainstay_sandbox::{Dir, Metadata};

use super::select::{Measure, Question, answer};
use super::shard::{Seen, Shard};
use super::terms::words;
use crate::context::cache::reader::Cache;
use crate::context::worker_pool;
use crate::progress::Progress;

/// Whether a change of a file would show in what the system says of it.
pub(crate) type Trust = fn(&Metadata) -> bool;

/// A cache whose documents have all been read and checked.
#[derive(Debug)]
pub(crate) struct Index {
    cache: Cache,
    measures: Vec<Measure>,
    /// What the file system said of each document.
    facts: Vec<Metadata>,
    shards: Vec<Shard>,
}

/// After so many words it is asked whether anybody still waits.
pub(crate) const OFTEN: u64 = 4096;

/// Every shard has words that the others have, too: more of them are faster to read and take more memory.
const MOST_SHARDS: usize = 8;

impl Index {
    /// Reads all of a cache. If its words would take more than `most` bytes, or nobody could tell later whether it has
    /// changed, the cache is given back.
    pub(crate) fn read(cache: Cache, most: u64, trust: Trust, progress: &Progress) -> Result<Result<Self, Cache>> {
        let count = cache.entries.len();
        progress.expect(count);
        if !trust(&cache.manifest) {
            return Ok(Err(cache));
        }
        let part = count.div_ceil(worker_pool::hands().min(MOST_SHARDS)).max(1);
        let parts: Vec<Range<usize>> = (0..count).step_by(part).map(|from| from..count.min(from + part)).collect();
        let share = most / parts.len().max(1) as u64;
        let read = |nth: usize| gather(&cache, parts[nth].clone(), share, trust, progress);
        let gathered = worker_pool::on_threads(parts.len(), read)?;
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
    pub(crate) fn bytes(&self) -> u64 {
        let shards = self.shards.iter().map(Shard::bytes);
        let documents = self.cache.entries.iter().map(|entry| entry.id.len() + entry.version.len() + entry.file.len());
        let fixed = size_of::<Metadata>() + size_of::<Measure>() + 3 * size_of::<String>();
        (shards.sum::<usize>() + documents.sum::<usize>() + fixed * self.measures.len()) as u64
    }

    pub(crate) fn into_cache(self) -> Cache {
        self.cache
    }

    /// Whether this is what lies in the directory now.
    pub(crate) fn is_of(&self, directory: &Dir) -> bool {
        self.cache.is_still(directory, &self.facts)
    }

    pub(crate) fn resolve(&self, question: &Question<'_>, progress: &Progress) -> Result<String> {
        let mut matches = vec![0; self.measures.len()];
        for term in question.terms.distinct() {
            for shard in &self.shards {
                shard.add(term, &mut matches[shard.documents()]);
            }
        }
        answer(&self.cache, &self.measures, &matches, question, progress)
    }
}

struct Gathered {
    measures: Vec<Measure>,
    facts: Vec<Metadata>,
    shard: Shard,
}

/// Reads a run of documents. Nothing if their words take more than `most` bytes, or one was changed just now.
fn gather(
    cache: &Cache,
    documents: Range<usize>,
    most: u64,
    trust: Trust,
    progress: &Progress,
) -> Result<Option<Gathered>> {
    let mut seen = Seen::default();
    let (mut measures, mut facts) = (Vec::with_capacity(documents.len()), Vec::with_capacity(documents.len()));
    for (nth, entry) in (0..).zip(&cache.entries[documents.clone()]) {
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
            if !seen.add(&word, nth) || seen.bytes() > most {
                return Ok(None);
            }
        }
        measures.push(Measure::of(&document.content, count));
        facts.push(document.facts);
        progress.add(1);
    }
    Ok(seen.into_shard(documents).map(|shard| Gathered { measures, facts, shard }))
}
