//! How many chunks and documents of a collection have each term.

use std::collections::HashMap;

use super::snapshot::{Part, Snapshot};
use crate::document::term_hash;

/// The counts from which it follows how rare a term is. They replace those of a snapshot that has only a part of the
/// collection, such as documents that were fetched from a database because they may be results: their scores are then
/// those that they have among all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// All chunks of the collection, and all documents.
    pub chunks: u64,
    pub documents: u64,
    /// By the hash of the term ([`term_hash`]). A term that is missing counts as often as the snapshot has it.
    pub terms: HashMap<u64, TermCounts>,
}

/// How many have a term.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TermCounts {
    /// Chunks with the term.
    pub chunks: u64,
    /// Documents with the term.
    pub documents: u64,
}

impl Statistics {
    /// The counts of a snapshot, for these terms alone: a query needs no others.
    pub fn of(snapshot: &Snapshot, terms: &[String]) -> Self {
        let count = |term: &String| {
            let hash = term_hash(term);
            let mut counts = TermCounts::default();
            for part in &snapshot.parts {
                let of_part = count_in(part, hash);
                counts.chunks += of_part.chunks;
                counts.documents += of_part.documents;
            }
            (hash, counts)
        };
        Self {
            chunks: snapshot.chunks(),
            documents: u64::try_from(snapshot.documents()).unwrap_or(u64::MAX),
            terms: terms.iter().map(count).collect(),
        }
    }
}

/// Documents that are gone do not count: it must not matter when segments are merged.
fn count_in(part: &Part, hash: u64) -> TermCounts {
    let is_live = |chunk: u32| part.segment.chunk(chunk).is_some_and(|chunk| !part.is_deleted(chunk.document));
    let chunks = part.segment.postings(hash).filter(|posting| is_live(posting.id));
    let documents = part.segment.document_postings(hash).filter(|posting| !part.is_deleted(posting.id));
    TermCounts {
        chunks: u64::try_from(chunks.count()).unwrap_or(u64::MAX),
        documents: u64::try_from(documents.count()).unwrap_or(u64::MAX),
    }
}
