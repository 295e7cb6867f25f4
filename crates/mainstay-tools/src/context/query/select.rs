//! Which documents go into a budget, and why: the best first, what does not fit is left out and the next is tried.

use mainstay_core::{Error, Kind, Result};
use serde::Serialize;

use super::terms::Terms;
use crate::context::cache::reader::Cache;
use crate::context::worker_pool;
use crate::progress::Progress;

/// What is known of a document once its words have been counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Measure {
    pub(crate) words: u64,
    /// Bytes divided by four, rounded up.
    pub(crate) tokens: u64,
}

impl Measure {
    pub(crate) fn of(content: &str, words: u64) -> Self {
        Self { words, tokens: (content.len() as u64).div_ceil(4) }
    }
}

/// A document that goes into the budget: which, and how many of its words are terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) nth: usize,
    matches: u64,
}

/// In steps of what a number of this width can tell apart; 0 for a document without words.
#[expect(clippy::cast_precision_loss, reason = "the contract counts in f32")]
fn score(matches: u64, words: u64) -> f32 {
    if words == 0 { 0.0 } else { matches as f32 / words as f32 }
}

/// Documents are numbered in the order of their ids, which breaks ties.
pub(crate) fn choose(measures: &[Measure], matches: &[u64], budget: u64) -> Vec<Chosen> {
    let mut found: Vec<(f32, usize)> = matches
        .iter()
        .enumerate()
        .filter(|(_, matches)| **matches > 0)
        .map(|(nth, matches)| (score(*matches, measures[nth].words), nth))
        .collect();
    found.sort_unstable_by(|(a, first), (b, second)| b.total_cmp(a).then(first.cmp(second)));
    let rest = matches.iter().enumerate().filter(|(_, matches)| **matches == 0).map(|(nth, _)| nth);
    let mut left = budget;
    let mut chosen = Vec::new();
    for nth in found.into_iter().map(|(_, nth)| nth).chain(rest) {
        let tokens = measures[nth].tokens;
        // Nothing is in a budget of nothing, not even what takes none of it.
        if tokens <= left && budget > 0 {
            left -= tokens;
            chosen.push(Chosen { nth, matches: matches[nth] });
        }
    }
    chosen
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
pub(crate) struct Question<'a> {
    pub(crate) query: &'a str,
    pub(crate) terms: Terms,
    pub(crate) budget: u64,
    pub(crate) format: Format,
    /// The most bytes that the answer may have.
    pub(crate) most: u64,
}

impl<'a> Question<'a> {
    pub(crate) fn new(query: &'a str, budget: u64) -> Self {
        Self { query, terms: Terms::of(query), budget, format: Format::Json, most: u64::MAX }
    }
}

#[derive(Serialize)]
struct Selection<'a> {
    documents: Vec<Selected<'a>>,
    selection: Summary<'a>,
}

#[derive(Serialize)]
struct Selected<'a> {
    id: &'a str,
    version: &'a str,
    content: &'a str,
    score: f32,
    tokens: u64,
    why: Why<'a>,
}

#[derive(Serialize)]
struct Why<'a> {
    query_terms: &'a [String],
    term_matches: u64,
    total_words: u64,
}

#[derive(Serialize)]
struct Summary<'a> {
    query: &'a str,
    budget: u64,
    tokens_used: u64,
    documents_considered: usize,
    documents_selected: usize,
    documents_excluded_by_budget: usize,
}

/// The answer, with its last newline. What is chosen is read again and held against its hash, so that no more than the
/// budget is ever in memory.
pub(crate) fn answer(
    cache: &Cache,
    measures: &[Measure],
    matches: &[u64],
    question: &Question<'_>,
    progress: &Progress,
) -> Result<String> {
    let chosen = choose(measures, matches, question.budget);
    check_size(measures, &chosen, question)?;
    let read = |nth: usize| cache.read(&cache.entries[chosen[nth].nth]).map(|document| document.content);
    let contents = worker_pool::for_each(chosen.len(), progress, read)?;
    let documents = chosen.iter().zip(&contents).map(|(chosen, content)| {
        let (entry, measure) = (&cache.entries[chosen.nth], measures[chosen.nth]);
        Selected {
            id: &entry.id,
            version: &entry.version,
            content,
            score: score(chosen.matches, measure.words),
            tokens: measure.tokens,
            why: Why { query_terms: question.terms.shown(), term_matches: chosen.matches, total_words: measure.words },
        }
    });
    let selection = Selection {
        documents: documents.collect(),
        selection: Summary {
            query: question.query,
            budget: question.budget,
            tokens_used: chosen.iter().map(|chosen| measures[chosen.nth].tokens).sum(),
            documents_considered: measures.len(),
            documents_selected: chosen.len(),
            documents_excluded_by_budget: measures.len() - chosen.len(),
        },
    };
    let mut text = Bounded { bytes: Vec::new(), most: question.most };
    let written = match question.format {
        Format::Json => serde_json::to_writer(&mut text, &selection),
        Format::Pretty => serde_json::to_writer_pretty(&mut text, &selection),
    };
    written.map_err(|error| if error.is_io() { too_large(question.most) } else { Error::internal(error) })?;
    text.bytes.push(b'\n');
    String::from_utf8(text.bytes).map_err(Error::internal)
}

/// An answer that is not written to its end if it is too long.
struct Bounded {
    bytes: Vec<u8>,
    most: u64,
}

impl std::io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if (self.bytes.len() + bytes.len()) as u64 > self.most {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Before anything of it is read or put together: it would be at least as long as its documents, and every one of them is
/// told with all of the terms.
fn check_size(measures: &[Measure], chosen: &[Chosen], question: &Question<'_>) -> Result<()> {
    let terms: u64 = question.terms.shown().iter().map(|term| term.len() as u64 + 3).sum();
    let each = chosen
        .iter()
        .map(|chosen| measures[chosen.nth].tokens.saturating_sub(1).saturating_mul(4).saturating_add(terms));
    if each.fold(0, u64::saturating_add) > question.most { Err(too_large(question.most)) } else { Ok(()) }
}

fn too_large(most: u64) -> Error {
    let told = format!(
        "The answer would have more than {most} bytes, which is the most (context.reply_bytes): ask with a smaller budget \
         or a shorter query."
    );
    Error::new(Kind::TooLarge, told)
}
