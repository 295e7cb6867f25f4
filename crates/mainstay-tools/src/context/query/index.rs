//! The words of a cache in memory, so that a query reads only the documents that it returns.

use std::ops::Range;
use std::sync::Arc;

use mainstay_core::Result;
use mainstay_sandbox::{Dir, Metadata};

use super::select::{Query, WordCount, answer, count_words, distinct};
use super::shard::{Shard, ShardBuilder};
use crate::context::cache::Cache;
use crate::context::parallel;
use crate::progress::Progress;

/// Whether any later change of a file would show in its metadata. One that was changed within the clock tick of the file
/// system might be changed again without a trace.
pub(crate) type IsSettled = fn(&Metadata) -> bool;

/// More shards are read faster in parallel but take more memory: each has its own copy of the words they share.
const MAX_SHARDS: usize = 8;

/// A cache whose documents have all been read and verified.
#[derive(Debug)]
pub(crate) struct Index {
    cache: Cache,
    counts: Vec<WordCount>,
    /// Metadata of each document's file when it was read.
    metadata: Vec<Metadata>,
    shards: Vec<Shard>,
}

/// A cache, with its words in memory if that is possible.
pub(crate) enum MaybeIndexed {
    Indexed(Arc<Index>),
    /// The index would be too large, or changes of the files could go unnoticed.
    OnDisk(Cache),
}

impl Index {
    /// Reads all of a cache, unless its index would take more than `max_bytes`.
    pub(crate) fn read(
        cache: Cache,
        max_bytes: u64,
        is_settled: IsSettled,
        progress: &Progress,
    ) -> Result<MaybeIndexed> {
        let count = cache.entries.len();
        progress.expect(count);
        if !is_settled(&cache.manifest) {
            return Ok(MaybeIndexed::OnDisk(cache));
        }
        let length = count.div_ceil(parallel::threads().min(MAX_SHARDS)).max(1);
        let ranges: Vec<Range<usize>> =
            (0..count).step_by(length).map(|start| start..count.min(start + length)).collect();
        // Each part stops at its share, so that all of them together cannot exceed the limit while they are read.
        let shard_bytes = max_bytes / ranges.len().max(1) as u64;
        let parts = parallel::map_parts(ranges.len(), |nth| {
            IndexPart::read(&cache, ranges[nth].clone(), shard_bytes, is_settled, progress)
        })?;
        let mut index = Self { counts: Vec::new(), metadata: Vec::new(), shards: Vec::new(), cache };
        for part in parts {
            let Some(IndexPart { counts, metadata, shard }) = part else {
                return Ok(MaybeIndexed::OnDisk(index.cache));
            };
            index.counts.extend(counts);
            index.metadata.extend(metadata);
            index.shards.push(shard);
        }
        if index.bytes() > max_bytes {
            return Ok(MaybeIndexed::OnDisk(index.cache));
        }
        Ok(MaybeIndexed::Indexed(Arc::new(index)))
    }

    /// About how much memory it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let shards = self.shards.iter().map(Shard::bytes);
        let entries = self.cache.entries.iter().map(|entry| entry.id.len() + entry.version.len() + entry.file.len());
        let fixed = size_of::<Metadata>() + size_of::<WordCount>() + 3 * size_of::<String>();
        (shards.sum::<usize>() + entries.sum::<usize>() + fixed * self.counts.len()) as u64
    }

    /// Whether the directory still holds what was indexed.
    pub(crate) fn is_current(&self, directory: &Dir) -> bool {
        self.cache.is_unchanged(directory, &self.metadata)
    }

    /// The answer to a query. Counts from memory; only the selected documents are read.
    pub(crate) fn resolve(&self, query: &Query<'_>, progress: &Progress) -> Result<String> {
        let mut matches = vec![0; self.counts.len()];
        for term in distinct(&query.terms) {
            for shard in &self.shards {
                shard.add_matches(term, &mut matches[shard.documents.clone()]);
            }
        }
        answer(&self.cache, &self.counts, &matches, query, progress)
    }
}

/// The index of a range of documents.
struct IndexPart {
    counts: Vec<WordCount>,
    metadata: Vec<Metadata>,
    shard: Shard,
}

impl IndexPart {
    /// Nothing if the words take more than `max_bytes`, or a document is not settled.
    fn read(
        cache: &Cache,
        documents: Range<usize>,
        max_bytes: u64,
        is_settled: IsSettled,
        progress: &Progress,
    ) -> Result<Option<Self>> {
        let mut shard = ShardBuilder::default();
        let (mut counts, mut metadata) = (Vec::with_capacity(documents.len()), Vec::with_capacity(documents.len()));
        for (nth, entry) in (0..).zip(&cache.entries[documents.clone()]) {
            progress.check()?;
            let document = cache.read(entry)?;
            // Then a later change might not show, and the index could not be trusted.
            if !is_settled(&document.metadata) {
                return Ok(None);
            }
            let fits = |word: std::borrow::Cow<'_, str>| shard.add(&word, nth) && shard.bytes() <= max_bytes;
            let Some(words) = count_words(&document.content, progress, fits)? else { return Ok(None) };
            counts.push(WordCount::new(&document.content, words));
            metadata.push(document.metadata);
            progress.add(1);
        }
        Ok(shard.finish(documents).map(|shard| Self { counts, metadata, shard }))
    }
}
