//! Which documents a search may find.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::chunk::{ChunkKind, Tags};
use crate::document::{chunk_kind, language, language_number, path, tag_hash};
use crate::index::{DocumentPlace, Part, Snapshot, Statistics};
use crate::segment::{DocumentRecord, Segment};
use crate::vectors::IdSet;

/// Whether tests are found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tests {
    #[default]
    Included,
    Excluded,
    Only,
}

/// What a document has to be. The default lets every document pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Files or directories; one of them has to be the document or around it. None: any path.
    pub paths: Vec<String>,
    /// Its path begins with this.
    pub prefix: String,
    /// Its path is one of these. None: any path.
    pub only: Option<HashSet<String>>,
    /// It has all of these.
    pub tags: Tags,
    /// Of a chunk: it is all of these, so that more than one excludes everything.
    pub kinds: Vec<ChunkKind>,
    /// Hashes of tags that its author has given it ([`tag_hash`]); it has all of them.
    pub own_tags: Vec<u64>,
    /// It is in one of these. None: any language.
    pub languages: Vec<String>,
    pub tests: Tests,
}

impl Filter {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Requires a tag by its name: of a property, a language or a kind, or else one that an author has given.
    pub fn require(&mut self, tag: &str) {
        if let Some(tag) = Tags::named(tag) {
            self.tags.insert(tag);
        } else if let Some(kind) = ChunkKind::named(tag) {
            self.kinds.push(kind);
        } else if language_number(tag) != 0 && self.languages.is_empty() {
            self.languages.push(tag.to_owned());
        } else if !self.languages.iter().any(|language| language == tag) {
            // A second language, too: no document has two, and none has this tag.
            self.own_tags.push(tag_hash(tag));
        }
    }

    fn accepts(&self, path: &str, record: &DocumentRecord) -> bool {
        let tags = path::tags(record.tags);
        let is_around = |directory: &String| {
            let directory = directory.trim_start_matches("./").trim_end_matches('/');
            let rest = path.strip_prefix(directory);
            directory.is_empty()
                || directory == "."
                || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_test = tags.contains(Tags::TEST);
        let fits_tests = match self.tests {
            Tests::Included => true,
            Tests::Excluded => !is_test,
            Tests::Only => is_test,
        };
        fits_tests
            && path.starts_with(&self.prefix)
            && self.only.as_ref().is_none_or(|only| only.contains(path))
            && tags.contains(self.tags)
            && (self.languages.is_empty() || self.languages.iter().any(|name| name == language(record.language)))
            && (self.paths.is_empty() || self.paths.iter().any(is_around))
    }
}

/// A chunk of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ChunkPlace {
    pub(super) part: usize,
    pub(super) chunk: u32,
}

/// What a search may see of one segment. A set that is missing has everything.
pub(super) struct PartView<'a> {
    pub(super) segment: &'a Segment,
    /// Which chunks and documents are not deleted: they count for how rare a word is.
    /// Apart from `allowed`, so that a filter leaves scores as they are: a word is not rarer in a smaller directory.
    pub(super) live: Option<&'a (IdSet, IdSet)>,
    /// Which of them may be found.
    pub(super) allowed: Option<Cow<'a, (IdSet, IdSet)>>,
}

/// What a search may see of an index.
pub(super) struct View<'a> {
    pub(super) parts: Vec<PartView<'a>>,
    /// How many chunks and documents are not deleted.
    pub(super) chunks: u64,
    pub(super) documents: u64,
    /// The counts of the collection that the index is a part of, if it is not all of it.
    pub(super) statistics: Option<&'a Statistics>,
}

impl<'a> View<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, filter: &Filter, statistics: Option<&'a Statistics>) -> Self {
        let (mut chunks, mut documents) = (0, 0);
        let mut view = |part: &'a Part| {
            let segment = &part.segment;
            let live = part.live();
            let of_set = |set: &IdSet| set.count();
            chunks += live.map_or(u64::from(segment.chunks()), |(live, _)| of_set(live));
            documents += live.map_or(u64::from(segment.documents()), |(_, live)| of_set(live));
            let allowed =
                if filter.is_empty() { live.map(Cow::Borrowed) } else { Some(Cow::Owned(accepted(part, filter))) };
            PartView { segment, live, allowed }
        };
        let parts = snapshot.parts.iter().map(&mut view).collect();
        Self { parts, chunks, documents, statistics }
    }

    /// The document of a chunk, if both may be found.
    pub(super) fn owner(&self, place: ChunkPlace) -> Option<DocumentPlace> {
        let part = self.parts.get(place.part)?;
        let document = part.segment.chunk(place.chunk)?.document;
        let may_be_found = part.allows_chunk(place.chunk) && part.allows_document(document);
        may_be_found.then_some(DocumentPlace { part: place.part, document })
    }
}

impl PartView<'_> {
    pub(super) fn allows_chunk(&self, id: u32) -> bool {
        self.allowed.as_deref().is_none_or(|(chunks, _)| chunks.contains(id)) && id < self.segment.chunks()
    }

    pub(super) fn allows_document(&self, id: u32) -> bool {
        self.allowed.as_deref().is_none_or(|(_, documents)| documents.contains(id)) && id < self.segment.documents()
    }

    /// The chunks of a document. Of a damaged record, those that exist.
    pub(super) fn chunks_of(&self, record: &DocumentRecord) -> std::ops::Range<u32> {
        let end = record.first_chunk.saturating_add(record.chunks).min(self.segment.chunks());
        record.first_chunk.min(end)..end
    }
}

/// The chunks and documents of a segment that are not deleted and are accepted.
fn accepted(part: &Part, filter: &Filter) -> (IdSet, IdSet) {
    let (mut chunks, mut documents) = (IdSet::default(), IdSet::default());
    let segment = &part.segment;
    let tagged: Vec<IdSet> =
        filter.own_tags.iter().map(|tag| segment.document_postings(*tag).map(|posting| posting.id).collect()).collect();
    let is_accepted = |id: u32, record: &DocumentRecord| {
        tagged.iter().all(|tagged| tagged.contains(id)) && filter.accepts(segment.path(record), record)
    };
    let is_kind = |chunk: &u32| {
        let fits = |kind: ChunkKind| filter.kinds.iter().all(|wanted| *wanted == kind);
        filter.kinds.is_empty() || segment.chunk(*chunk).is_some_and(|chunk| fits(chunk_kind(chunk.kind)))
    };
    for (id, record) in part.documents().filter(|(id, record)| is_accepted(*id, record)) {
        documents.insert(id);
        let end = record.first_chunk.saturating_add(record.chunks).min(segment.chunks());
        (record.first_chunk..end).filter(is_kind).for_each(|chunk| chunks.insert(chunk));
    }
    (chunks, documents)
}
