//! Documents in which a name occurs.

use super::filter::{Filter, View};
use crate::document::{path, term_hash};
use crate::index::Snapshot;
use crate::words::terms;

/// A document that may have a name in its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamingDocument {
    /// The place of its segment in the snapshot.
    pub part: usize,
    pub path: String,
}

/// The documents that have all words of a name, at most `count`, in the order of their paths; tests and the like after
/// others. A document may have the words and not the name: who wants the lines has to read it.
pub fn documents_naming(snapshot: &Snapshot, name: &str, filter: &Filter, count: usize) -> Vec<NamingDocument> {
    let view = View::new(snapshot, filter, None);
    let mut found = Vec::new();
    let hashes: Vec<u64> = terms(name).iter().map(|term| term_hash(term)).collect();
    for (part, of) in view.parts.iter().enumerate() {
        // Reading the shortest list and looking the others up would be faster; a name has few words.
        let mut ids: Option<Vec<u32>> = None;
        for hash in &hashes {
            let with_word = of.segment.document_postings(*hash).map(|posting| posting.id);
            ids = Some(match ids {
                None => with_word.collect(),
                Some(ids) => {
                    let also: crate::vectors::IdSet = with_word.collect();
                    ids.into_iter().filter(|id| also.contains(*id)).collect()
                }
            });
        }
        // A name of stop words alone, such as `is`, is in no list: every document may have it.
        let ids = ids.unwrap_or_else(|| (0..of.segment.documents()).collect());
        for id in ids.into_iter().filter(|id| of.allows_document(*id)) {
            let Some(record) = of.segment.document(id).filter(|record| record.chunks > 0) else { continue };
            let is_aside = path::tags(record.tags) != crate::chunk::Tags::default();
            found.push((is_aside, NamingDocument { part, path: of.segment.path(&record).to_owned() }));
        }
    }
    found.sort_by(|(aside, one), (other_aside, other)| (aside, &one.path).cmp(&(other_aside, &other.path)));
    found.truncate(count);
    found.into_iter().map(|(_, document)| document).collect()
}
