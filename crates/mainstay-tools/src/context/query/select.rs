//! Selecting documents for a budget, best first; one that does not fit is left out and the next is tried. The rules and the
//! answer's bytes are the contract's.

use std::borrow::Cow;
use std::collections::BTreeSet;

use mainstay_core::{Error, Kind, Result};
use serde::Serialize;

use crate::context::cache::Cache;
use crate::context::parallel;
use crate::progress::Progress;

/// The size of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WordCount {
    pub(crate) words: u64,
    /// A quarter of its bytes, rounded up.
    pub(crate) tokens: u64,
}

impl WordCount {
    pub(crate) fn new(content: &str, words: u64) -> Self {
        Self { words, tokens: (content.len() as u64).div_ceil(4) }
    }
}

/// The share of words that are terms; 0 for a document without words.
#[expect(clippy::cast_precision_loss, reason = "the contract computes in f32")]
fn score(matches: u64, words: u64) -> f32 {
    if words == 0 { 0.0 } else { matches as f32 / words as f32 }
}

/// The numbers of the selected documents. They are numbered in the order of their ids, which breaks ties; those without a
/// match come last.
pub(crate) fn select(counts: &[WordCount], matches: &[u64], budget: u64) -> Vec<usize> {
    let mut matching: Vec<(f32, usize)> = matches
        .iter()
        .enumerate()
        .filter(|(_, matches)| **matches > 0)
        .map(|(nth, matches)| (score(*matches, counts[nth].words), nth))
        .collect();
    // Unstable, but total: no two documents compare equal.
    matching.sort_unstable_by(|(a, first), (b, second)| b.total_cmp(a).then(first.cmp(second)));
    let others = matches.iter().enumerate().filter(|(_, matches)| **matches == 0).map(|(nth, _)| nth);
    let mut left = budget;
    let mut selected = Vec::new();
    for nth in matching.into_iter().map(|(_, nth)| nth).chain(others) {
        let tokens = counts[nth].tokens;
        // A budget of 0 selects nothing, not even an empty document.
        if tokens <= left && budget > 0 {
            left -= tokens;
            selected.push(nth);
        }
    }
    selected
}

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// On one line.
    Json,
    Pretty,
}

/// What is asked of a cache.
#[derive(Debug)]
pub(crate) struct Query<'a> {
    pub(crate) text: &'a str,
    /// In lower case, as often as they occur in the text.
    pub(crate) terms: Vec<String>,
    pub(crate) budget: u64,
    pub(crate) format: Format,
    /// The largest answer, in bytes.
    pub(crate) max_bytes: u64,
}

impl<'a> Query<'a> {
    /// A query without a limit on the answer.
    pub(crate) fn new(text: &'a str, budget: u64) -> Self {
        Self {
            text,
            terms: words(text).map(Cow::into_owned).collect(),
            budget,
            format: Format::Json,
            max_bytes: u64::MAX,
        }
    }
}

// The contract's answer; serde writes the members in this order.

#[derive(Serialize)]
struct AnswerJson<'a> {
    documents: Vec<DocumentJson<'a>>,
    selection: SelectionJson<'a>,
}

#[derive(Serialize)]
struct DocumentJson<'a> {
    id: &'a str,
    version: &'a str,
    content: &'a str,
    score: f32,
    tokens: u64,
    why: WhyJson<'a>,
}

#[derive(Serialize)]
struct WhyJson<'a> {
    query_terms: &'a [String],
    term_matches: u64,
    total_words: u64,
}

#[derive(Serialize)]
struct SelectionJson<'a> {
    query: &'a str,
    budget: u64,
    tokens_used: u64,
    documents_considered: usize,
    documents_selected: usize,
    documents_excluded_by_budget: usize,
}

/// The answer, with a newline at its end. Only the selected documents are read, and their hashes verified again, so that
/// memory is bounded by the budget.
pub(crate) fn answer(
    cache: &Cache,
    counts: &[WordCount],
    matches: &[u64],
    query: &Query<'_>,
    progress: &Progress,
) -> Result<String> {
    let selected = select(counts, matches, query.budget);
    check_size(counts, &selected, query)?;
    let read = |nth: usize| cache.read(&cache.entries[selected[nth]]).map(|document| document.content);
    let contents = parallel::map_documents(selected.len(), progress, read)?;
    let documents = selected.iter().zip(&contents).map(|(&nth, content)| {
        let (entry, count, term_matches) = (&cache.entries[nth], counts[nth], matches[nth]);
        DocumentJson {
            id: &entry.id,
            version: &entry.version,
            content,
            score: score(term_matches, count.words),
            tokens: count.tokens,
            why: WhyJson { query_terms: &query.terms, term_matches, total_words: count.words },
        }
    });
    let answer = AnswerJson {
        documents: documents.collect(),
        selection: SelectionJson {
            query: query.text,
            budget: query.budget,
            tokens_used: selected.iter().map(|&nth| counts[nth].tokens).sum(),
            documents_considered: counts.len(),
            documents_selected: selected.len(),
            documents_excluded_by_budget: counts.len() - selected.len(),
        },
    };
    let mut text = BoundedBuffer { bytes: Vec::new(), max_bytes: query.max_bytes };
    let written = match query.format {
        Format::Json => serde_json::to_writer(&mut text, &answer),
        Format::Pretty => serde_json::to_writer_pretty(&mut text, &answer),
    };
    written.map_err(|error| if error.is_io() { too_large(query.max_bytes) } else { Error::internal(error) })?;
    text.bytes.push(b'\n');
    String::from_utf8(text.bytes).map_err(Error::internal)
}

/// The answer to a query, by reading all documents twice at most: once to count, the selected ones again. For the command
/// line, which asks once, and for caches whose index does not fit into memory.
pub(crate) fn scan(cache: &Cache, query: &Query<'_>, progress: &Progress) -> Result<String> {
    progress.expect(cache.entries.len());
    let terms = distinct(&query.terms);
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

/// A buffer that refuses to grow past a size: escaping in JSON makes an answer up to six times as long as its documents.
struct BoundedBuffer {
    bytes: Vec<u8>,
    max_bytes: u64,
}

impl std::io::Write for BoundedBuffer {
    /// Fails instead of writing a part: the answer is discarded anyway.
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if (self.bytes.len() + bytes.len()) as u64 > self.max_bytes {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A lower bound before anything is read: the answer holds the documents, and all terms with each of them.
fn check_size(counts: &[WordCount], selected: &[usize], query: &Query<'_>) -> Result<()> {
    let terms: u64 = query.terms.iter().map(|term| term.len() as u64 + 3).sum();
    let size = |nth: &usize| counts[*nth].tokens.saturating_sub(1).saturating_mul(4).saturating_add(terms);
    let sizes = selected.iter().map(size);
    if sizes.fold(0, u64::saturating_add) > query.max_bytes { Err(too_large(query.max_bytes)) } else { Ok(()) }
}

/// Names the setting, because the operator can raise it.
fn too_large(max_bytes: u64) -> Error {
    let message = format!(
        "The answer would be larger than {max_bytes} bytes (context.reply_bytes); use a smaller budget or a shorter query."
    );
    Error::new(Kind::TooLarge, message)
}

// Words of documents and terms of queries: both are split at white space and compared in lower case.

/// After so many words, cancellation is checked: a single document may have millions.
const CHECK_INTERVAL: u64 = 4096;

/// The words of a text in lower case. Lowering them one by one gives the same as lowering the text: no letter's lower
/// case depends on what is beyond white space.
fn words(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    text.split_whitespace().map(lowered)
}

/// Calls `visit` with every word and returns their number. Stops early if `visit` returns false or the call is
/// cancelled.
pub(crate) fn count_words(
    text: &str,
    progress: &Progress,
    mut visit: impl FnMut(Cow<'_, str>) -> bool,
) -> Result<Option<u64>> {
    let mut count = 0;
    for word in words(text) {
        count += 1;
        if count % CHECK_INTERVAL == 0 {
            progress.check()?;
        }
        if !visit(word) {
            return Ok(None);
        }
    }
    Ok(Some(count))
}

fn lowered(word: &str) -> Cow<'_, str> {
    if word.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(word.to_lowercase())
}

/// Each term of a query once, sorted: one that occurs twice is shown twice in the answer and counts once.
pub(crate) fn distinct(terms: &[String]) -> BTreeSet<&str> {
    terms.iter().map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn words_are_those_of_the_text_in_lower_case(text in r"[\PC\s]{0,80}") {
            let lower = text.to_lowercase();
            let expected: Vec<&str> = lower.split_whitespace().collect();
            prop_assert_eq!(words(&text).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn final_sigma_of_a_word_does_not_depend_on_the_next_word() {
        let text = "ΟΔΟΣ ΟΔΟΣ. Σ ΑΣ\u{2003}ΣΑ İI ẞ";
        let lower = text.to_lowercase();
        assert_eq!(words(text).collect::<Vec<_>>(), lower.split_whitespace().collect::<Vec<_>>());
    }

    #[test]
    fn repeated_term_is_shown_twice_and_counts_once() {
        let query = crate::context::query::Query::new(" Deploy\tnow deploy ", 1);
        assert_eq!(query.terms, ["deploy", "now", "deploy"]);
        assert_eq!(distinct(&query.terms), BTreeSet::from(["deploy", "now"]));
    }
}
