//! Counting words by reading every document: for one question, or where the words do not fit into memory.

use std::collections::HashSet;

use mainstay_core::Result;

use super::index::OFTEN;
use super::select::{Measure, Question, answer};
use super::terms::words;
use crate::context::cache::reader::Cache;
use crate::context::worker_pool;
use crate::progress::Progress;

pub(crate) fn resolve(cache: &Cache, question: &Question<'_>, progress: &Progress) -> Result<String> {
    progress.expect(cache.entries.len());
    let terms: HashSet<&str> = question.terms.distinct().into_iter().collect();
    let counted = |nth: usize| count(&cache.read(&cache.entries[nth])?.content, &terms, progress);
    let (measures, matches): (Vec<_>, Vec<_>) =
        worker_pool::for_each(cache.entries.len(), progress, counted)?.into_iter().unzip();
    answer(cache, &measures, &matches, question, progress)
}

fn count(content: &str, terms: &HashSet<&str>, progress: &Progress) -> Result<(Measure, u64)> {
    let (mut all, mut matches) = (0, 0);
    for word in words(content) {
        all += 1;
        if all % OFTEN == 0 {
            progress.check()?;
        }
        matches += u64::from(terms.contains(word.as_ref()));
    }
    Ok((Measure::of(content, all), matches))
}
