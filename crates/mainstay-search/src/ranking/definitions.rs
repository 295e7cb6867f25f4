//! Files that define what a query names.
//!
//! Vectors and words find where a name is used as well as where it is defined. The table of definitions tells the two
//! apart; without it, NDCG@10 falls by 0.04, and by 0.1 for symbols.

use std::collections::{BTreeSet, HashMap};

use mainstay_code::SymbolKind;

use super::constants::{
    CAPITALISED, COMPOUND, COMPOUND_FUNCTION, F_DEFINITION, F_SYMBOL, MENTIONED_FUNCTION, MENTIONED_MEMBER,
    MENTIONED_NEARLY, SYMBOL_CONSTANT, SYMBOL_FILE_NAME, SYMBOL_FUNCTION, SYMBOL_MEMBER, SYMBOL_MODULE, SYMBOL_NEARLY,
    SYMBOL_OTHER_SPELLING, SYMBOL_PENALISED, SYMBOL_SAME_OWNER,
};
use super::filter::{ChunkPlace, View};
use super::penalties::Penalties;
use super::query::{Mention, Query, QueryClass, flat_last};
use crate::chunk::Tags;
use crate::document::{flat_name, name_hash, path, symbol_kind};
use crate::index::DocumentPlace;
use crate::segment::{DefinitionRecord, DocumentRecord};

/// A definition with its place.
pub(super) struct Found<'a> {
    pub(super) document: DocumentPlace,
    pub(super) document_record: DocumentRecord,
    pub(super) record: DefinitionRecord,
    pub(super) chunk: ChunkPlace,
    /// With the names around it.
    pub(super) name: &'a str,
    /// Without them.
    pub(super) simple: &'a str,
    /// The last name around it; empty if there is none.
    pub(super) owner: &'a str,
    pub(super) kind: SymbolKind,
    pub(super) path: &'a str,
}

/// How much a file's definitions count, and the chunk with the one that counts most.
#[derive(Debug, Clone, Copy)]
pub(super) struct DefinitionScore {
    pub(super) score: f32,
    pub(super) chunk: ChunkPlace,
}

/// The definitions with a flat name.
pub(super) fn find<'v>(view: &'v View<'_>, flat: &str) -> Vec<Found<'v>> {
    let mut found = Vec::new();
    if flat.is_empty() {
        return found;
    }
    let hash = name_hash(flat);
    for (part, of) in view.parts.iter().enumerate() {
        for record in of.segment.definitions(hash) {
            let chunk = ChunkPlace { part, chunk: record.chunk };
            let Some(document) = view.owner(chunk) else { continue };
            let Some(document_record) = of.segment.document(document.document) else { continue };
            let name = of.segment.definition_name(&record);
            let Some((around, simple)) = name.split_at_checked(usize::from(record.qualifier)) else { continue };
            // Names with the same hash may still differ.
            if flat_name(simple) != flat {
                continue;
            }
            let path = of.segment.path(&document_record);
            let kind = symbol_kind(record.kind);
            let owner = around.trim_end_matches(['.', ':', '#']);
            let owner = owner.rsplit(['.', ':', '#']).next().unwrap_or(owner);
            found.push(Found { document, document_record, record, chunk, name, simple, owner, kind, path });
        }
    }
    found
}

pub(super) fn is_type(kind: SymbolKind) -> bool {
    match kind {
        SymbolKind::Class
        | SymbolKind::Struct
        | SymbolKind::Enum
        | SymbolKind::Trait
        | SymbolKind::Interface
        | SymbolKind::Type => true,
        SymbolKind::Function | SymbolKind::Method | SymbolKind::Constant | SymbolKind::Module => false,
    }
}

fn is_function(kind: SymbolKind) -> bool {
    matches!(kind, SymbolKind::Function | SymbolKind::Method)
}

/// Points for each file that defines what the query names.
pub(super) fn definition_scores(
    view: &View<'_>,
    query: &Query,
    penalties: &Penalties<'_>,
) -> HashMap<DocumentPlace, DefinitionScore> {
    match query.class {
        QueryClass::Symbol => symbol_scores(view, query, penalties),
        QueryClass::Definition | QueryClass::Words => mention_scores(view, query),
    }
}

/// The best definition counts, not their sum: five overloads do not make a file five times as good.
fn raise(scores: &mut HashMap<DocumentPlace, DefinitionScore>, found: &Found<'_>, score: f32) {
    let entry = scores.entry(found.document).or_insert(DefinitionScore { score, chunk: found.chunk });
    if score > entry.score {
        *entry = DefinitionScore { score, chunk: found.chunk };
    }
}

fn symbol_scores(view: &View<'_>, query: &Query, penalties: &Penalties<'_>) -> HashMap<DocumentPlace, DefinitionScore> {
    let mut scores = HashMap::new();
    let (Some(last), Some(flat)) = (query.segments.last(), flat_last(&query.segments)) else { return scores };
    let asked_owner = query.segments.iter().rev().nth(1);
    for found in find(view, &flat) {
        let mut score = if found.simple == last {
            1.0
        } else if found.simple.trim_start_matches('$') == last {
            SYMBOL_NEARLY
        } else {
            SYMBOL_OTHER_SPELLING
        };
        let is_value = is_function(found.kind) || found.kind == SymbolKind::Constant;
        score *= match found.kind {
            SymbolKind::Function | SymbolKind::Method => SYMBOL_FUNCTION,
            SymbolKind::Constant => SYMBOL_CONSTANT,
            SymbolKind::Module => SYMBOL_MODULE,
            SymbolKind::Class
            | SymbolKind::Struct
            | SymbolKind::Enum
            | SymbolKind::Trait
            | SymbolKind::Interface
            | SymbolKind::Type => 1.0,
        };
        score *= match asked_owner {
            None if is_value && !found.owner.is_empty() => SYMBOL_MEMBER,
            Some(owner) if owner == found.owner => SYMBOL_SAME_OWNER,
            _ => 1.0,
        };
        let stem = flat_name(path::file_stem(found.path));
        if flat == stem || flat == stem.trim_end_matches('s') {
            score *= SYMBOL_FILE_NAME;
        }
        // The points for a symbol outweigh a penalty of the file, and mocks in tests have the names of what they
        // replace.
        if penalties.of(found.path, found.document_record.tags) > 0.0 {
            score *= SYMBOL_PENALISED;
        }
        raise(&mut scores, &found, F_SYMBOL * score);
    }
    scores
}

fn mention_scores(view: &View<'_>, query: &Query) -> HashMap<DocumentPlace, DefinitionScore> {
    let mut scores: HashMap<DocumentPlace, DefinitionScore> = HashMap::new();
    let mut mentioned = 0.0;
    for mention in &query.mentions {
        let (hits, share) = files_with(view, mention);
        mentioned += if hits.is_empty() { 0.0 } else { 1.0 };
        for (document, hit) in hits {
            let sum = scores.entry(document).or_insert(DefinitionScore { score: 0.0, chunk: hit.chunk });
            sum.score += hit.score * share;
        }
    }
    for sum in scores.values_mut() {
        // The mean, so that a query with many identifiers does not drown the other parts of the score.
        sum.score /= f32::max(mentioned, 1.0);
    }
    // In a fixed order, so that equal scores show the same chunk each time.
    for compound in query.compounds.iter().collect::<BTreeSet<_>>() {
        for found in find(view, compound) {
            if is_type(found.kind) {
                raise(&mut scores, &found, COMPOUND);
            } else if is_function(found.kind) && found.owner.is_empty() {
                raise(&mut scores, &found, COMPOUND * COMPOUND_FUNCTION);
            }
        }
    }
    for sum in scores.values_mut() {
        sum.score *= F_DEFINITION;
    }
    scores
}

/// The files that define an identifier, and the share that each of several gets.
fn files_with(view: &View<'_>, mention: &Mention) -> (HashMap<DocumentPlace, DefinitionScore>, f32) {
    let mut hits = HashMap::new();
    let mut outside_tests = BTreeSet::new();
    for found in find(view, &flat_name(&mention.name)) {
        let is_value = is_function(found.kind) || found.kind == SymbolKind::Constant;
        let by_kind = if is_type(found.kind) {
            1.0
        // A word with a capital may be any word: "Read" would be every method `read`. Only types are looked up by it.
        } else if is_value && mention.is_strong {
            if found.owner.is_empty() { MENTIONED_FUNCTION } else { MENTIONED_MEMBER }
        } else {
            continue;
        };
        let by_name = if found.simple == mention.name {
            1.0
        } else if found.simple.trim_start_matches('$') == mention.name {
            MENTIONED_NEARLY
        } else {
            continue;
        };
        raise(&mut hits, &found, by_kind * by_name);
        // Copies in tests do not make the one definition outside of them less special.
        if !path::tags(found.document_record.tags).contains(Tags::TEST) {
            outside_tests.insert(found.document);
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "a count of files")]
    let files = outside_tests.len().max(1) as f32;
    let share = if mention.is_strong { 1.0 } else { CAPITALISED };
    // A name that many files define says little about each. The root, because a few definitions are usual.
    (hits, share / files.sqrt())
}
