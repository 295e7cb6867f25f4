//! Definitions by name, and documents in which a name occurs.

use mainstay_code::SymbolKind;

use super::definitions::{find, is_type};
use super::filter::{Filter, View};
use super::penalties::Penalties;
use super::query::{Query, flat_last};
use crate::chunk::Tags;
use crate::document::{language, path, term_hash};
use crate::index::Snapshot;
use crate::vectors::IdSet;
use crate::words::terms;

/// A definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// The place of its segment in the snapshot.
    pub part: usize,
    pub path: String,
    /// With the names around it.
    pub name: String,
    pub kind: SymbolKind,
    /// Counted from 1, both part of it.
    pub first_line: u32,
    pub last_line: u32,
    pub language: &'static str,
    pub tags: Tags,
    /// Whether it is spelled as it was asked for.
    pub is_exact: bool,
}

/// The definitions of a name, at most `count`: those of the type that was named (`Stack::push`) first, then those spelled
/// the same before those that differ in case and signs, tests and the like after others, types before functions before
/// constants.
pub fn symbols(snapshot: &Snapshot, name: &str, filter: &Filter, count: usize) -> Vec<Symbol> {
    let view = View::new(snapshot, filter, None);
    let query = Query::new(name);
    let (Some(last), Some(flat)) = (query.segments.last(), flat_last(&query.segments)) else { return Vec::new() };
    let penalties = Penalties::new(&query, snapshot);
    let owner = query.segments.iter().rev().nth(1);
    let mut found: Vec<_> = find(&view, &flat)
        .into_iter()
        .map(|found| {
            let is_exact = found.simple.trim_start_matches('$') == last.trim_start_matches('$');
            let penalty = penalties.of(found.path, found.document_record.tags);
            let is_of_other = owner.is_some_and(|owner| owner != found.owner);
            let is_member = owner.is_none() && !found.owner.is_empty() && !is_type(found.kind);
            // The owner comes first: whoever asks for `Stack::push` wants no other `push`, however it is spelled.
            (is_of_other, !is_exact, penalty > 0.0, kind_rank(found.kind), is_member, found)
        })
        .collect();
    found.sort_by(|one, other| {
        let key = |entry: &(bool, bool, bool, u8, bool, _)| (entry.0, entry.1, entry.2, entry.3, entry.4);
        let place = |found: &super::definitions::Found<'_>| (found.path.to_owned(), found.record.start_line);
        key(one).cmp(&key(other)).then_with(|| place(&one.5).cmp(&place(&other.5)))
    });
    let symbol =
        |(_, is_other_spelling, _, _, _, found): (bool, bool, bool, u8, bool, super::definitions::Found<'_>)| Symbol {
            part: found.document.part,
            path: found.path.to_owned(),
            name: found.name.to_owned(),
            kind: found.kind,
            first_line: found.record.start_line,
            last_line: found.record.end_line,
            language: language(found.document_record.language),
            tags: path::tags(found.document_record.tags),
            is_exact: !is_other_spelling,
        };
    found.into_iter().take(count).map(symbol).collect()
}

fn kind_rank(kind: SymbolKind) -> u8 {
    match kind {
        SymbolKind::Class
        | SymbolKind::Struct
        | SymbolKind::Enum
        | SymbolKind::Trait
        | SymbolKind::Interface
        | SymbolKind::Type => 0,
        SymbolKind::Function | SymbolKind::Method => 1,
        SymbolKind::Constant => 2,
        SymbolKind::Module => 3,
    }
}

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
                    let also: IdSet = with_word.collect();
                    ids.into_iter().filter(|id| also.contains(*id)).collect()
                }
            });
        }
        // A name of stop words alone, such as `is`, is in no list: every document may have it.
        let ids = ids.unwrap_or_else(|| (0..of.segment.documents()).collect());
        for id in ids.into_iter().filter(|id| of.allows_document(*id)) {
            let Some(record) = of.segment.document(id).filter(|record| record.chunks > 0) else { continue };
            let is_aside = path::tags(record.tags) != Tags::default();
            found.push((is_aside, NamingDocument { part, path: of.segment.path(&record).to_owned() }));
        }
    }
    found.sort_by(|(aside, one), (other_aside, other)| (aside, &one.path).cmp(&(other_aside, &other.path)));
    found.truncate(count);
    found.into_iter().map(|(_, document)| document).collect()
}
