//! Which documents a search may find.

use crate::chunk::Tags;
use crate::document::{language, path};
use crate::index::{DocumentPlace, Part, Snapshot};
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
    /// It has all of these.
    pub tags: Tags,
    /// It is in one of these. None: any language.
    pub languages: Vec<String>,
    pub tests: Tests,
}

impl Filter {
    fn is_empty(&self) -> bool {
        *self == Self::default()
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
    pub(super) live: Option<(IdSet, IdSet)>,
    /// Which of them may be found.
    pub(super) allowed: Option<(IdSet, IdSet)>,
}

/// What a search may see of an index.
pub(super) struct View<'a> {
    pub(super) parts: Vec<PartView<'a>>,
    /// How many chunks and documents are not deleted.
    pub(super) chunks: u64,
    pub(super) documents: u64,
}

impl<'a> View<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, filter: &Filter) -> Self {
        let (mut chunks, mut documents) = (0, 0);
        let mut view = |part: &'a Part| {
            let segment = &part.segment;
            let live = part.has_deleted().then(|| ids(part, |_, _| true));
            let of_set = |set: &IdSet| set.count();
            chunks += live.as_ref().map_or(u64::from(segment.chunks()), |(live, _)| of_set(live));
            documents += live.as_ref().map_or(u64::from(segment.documents()), |(_, live)| of_set(live));
            let allowed = if filter.is_empty() {
                live.clone()
            } else {
                Some(ids(part, |segment, record| filter.accepts(segment.path(record), record)))
            };
            PartView { segment, live, allowed }
        };
        let parts = snapshot.parts.iter().map(&mut view).collect();
        Self { parts, chunks, documents }
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
        self.allowed.as_ref().is_none_or(|(chunks, _)| chunks.contains(id)) && id < self.segment.chunks()
    }

    pub(super) fn allows_document(&self, id: u32) -> bool {
        self.allowed.as_ref().is_none_or(|(_, documents)| documents.contains(id)) && id < self.segment.documents()
    }

    /// The chunks of a document. Of a damaged record, those that exist.
    pub(super) fn chunks_of(&self, record: &DocumentRecord) -> std::ops::Range<u32> {
        let end = record.first_chunk.saturating_add(record.chunks).min(self.segment.chunks());
        record.first_chunk.min(end)..end
    }
}

/// The chunks and documents of a segment that are not deleted and are accepted.
fn ids(part: &Part, accepts: impl Fn(&Segment, &DocumentRecord) -> bool) -> (IdSet, IdSet) {
    let (mut chunks, mut documents) = (IdSet::default(), IdSet::default());
    let last = part.segment.chunks();
    for (id, record) in part.documents().filter(|(_, record)| accepts(&part.segment, record)) {
        documents.insert(id);
        let end = record.first_chunk.saturating_add(record.chunks).min(last);
        (record.first_chunk..end).for_each(|chunk| chunks.insert(chunk));
    }
    (chunks, documents)
}
