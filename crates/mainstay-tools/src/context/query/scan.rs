//! Counting terms by reading every document: for the command line, which asks once, and for caches whose index does not
//! fit into memory.

use std::collections::HashSet;

use mainstay_core::Result;

use super::select::{Query, WordCount, answer};
use super::terms::count_words;
use crate::context::cache::Cache;
use crate::context::parallel;
use crate::progress::Progress;

/// The answer to a query, by reading all documents twice at most: once to count, the selected ones again.
pub(crate) fn scan(cache: &Cache, query: &Query<'_>, progress: &Progress) -> Result<String> {
    progress.expect(cache.entries.len());
    let terms: HashSet<&str> = query.terms.distinct().into_iter().collect();
    let counted = parallel::map_documents(cache.entries.len(), progress, |nth| {
        let content = cache.read(&cache.entries[nth])?.content;
        let mut matches = 0;
        let words = count_words(&content, progress, |word| {
            matches += u64::from(terms.contains(word.as_ref()));
            true
        })?;
        Ok((WordCount::new(&content, words.unwrap_or(0)), matches))
    })?;
    let (counts, matches): (Vec<_>, Vec<_>) = counted.into_iter().unzip();
    answer(cache, &counts, &matches, query, progress)
}
