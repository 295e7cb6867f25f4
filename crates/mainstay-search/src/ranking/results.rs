//! What a search gives back.

use std::time::Duration;

use super::filter::View;
use super::order::Ranked;
use super::query::QueryClass;
use crate::chunk::{ChunkKind, Tags};
use crate::document::{chunk_kind, language, path};

/// A chunk that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Where it is in the snapshot: the place of its segment, and the chunk in it.
    pub place: (usize, u32),
    pub path: String,
    /// Counted from 1, both part of it.
    pub first_line: u32,
    pub last_line: u32,
    pub start_byte: u32,
    pub end_byte: u32,
    /// The name with those around it; empty if the chunk has none.
    pub name: String,
    pub kind: ChunkKind,
    pub language: &'static str,
    pub tags: Tags,
    /// From 0 to 1, comparable within one answer.
    pub score: f32,
    /// The document's, as it was when it was indexed.
    /// Lines and bytes are right only as long as the file still has it.
    pub etag: [u8; 16],
    pub modified_ns: i64,
}

/// Which parts of a search ran.
#[expect(clippy::struct_excessive_bools, reason = "each part runs or does not, whatever the others do")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub dense: bool,
    pub lexical: bool,
    /// Tokens were compared one by one.
    pub tokens: bool,
    /// Files, definitions and penalties decided on the order.
    pub ranking: bool,
    /// What the query was taken for; none without a query.
    pub class: Option<QueryClass>,
    /// How many chunks were compared in full.
    pub candidates: usize,
    /// How long the query's vector took; none if it was given.
    pub embed_time: Option<Duration>,
}

/// The results of a search, the best first.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub hits: Vec<Hit>,
    pub usage: Usage,
}

/// Reads what was found. What a damaged segment does not have is left out.
pub(super) fn hits(view: &View<'_>, ranked: &[Ranked]) -> Vec<Hit> {
    let hit = |one: &Ranked| {
        let segment = view.parts.get(one.place.part)?.segment;
        let chunk = segment.chunk(one.place.chunk)?;
        let document = segment.document(one.document.document)?;
        Some(Hit {
            place: (one.place.part, one.place.chunk),
            path: segment.path(&document).to_owned(),
            first_line: chunk.start_line,
            last_line: chunk.end_line,
            start_byte: chunk.start_byte,
            end_byte: chunk.end_byte,
            name: segment.chunk_name(&chunk).to_owned(),
            kind: chunk_kind(chunk.kind),
            language: language(document.language),
            tags: path::tags(document.tags),
            score: one.score,
            etag: document.etag,
            modified_ns: document.modified_ns,
        })
    };
    ranked.iter().filter_map(hit).collect()
}
