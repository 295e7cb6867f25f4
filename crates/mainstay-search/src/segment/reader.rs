//! A segment where it lies.
//!
//! Opening one reads a few hundred bytes; pages of the file are loaded when a search first touches them. Accessors give
//! `None` or nothing for what is not there, because the bytes may be damaged and a search has to go on.

use std::fmt;
use std::sync::Arc;

use super::format::{Contents, Place, SECTIONS, Section, SegmentError, Versions, hash};
use super::postings::Postings;
use super::records::{ChunkRecord, DefinitionRecord, DocumentRecord, Record, TermRecord, Text};
use crate::vectors::{VectorError, Vectors};

/// Bytes that stay where they are, such as a mapped file.
pub type Bytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A part of an index. Ids are those of this segment.
#[derive(Clone)]
pub struct Segment {
    bytes: Bytes,
    contents: Contents,
}

impl fmt::Debug for Segment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Segment").field("documents", &self.documents()).finish_non_exhaustive()
    }
}

impl Segment {
    /// Reads the table of contents. The sections are not looked at: see [`Segment::verify`].
    pub fn open(bytes: Bytes, versions: &Versions) -> Result<Self, SegmentError> {
        let contents = Contents::read((*bytes).as_ref())?;
        if contents.versions.model != versions.model || contents.versions.dimensions != versions.dimensions {
            return Err(SegmentError::OtherVersion("of the model"));
        }
        if contents.versions.recipe != versions.recipe {
            return Err(SegmentError::OtherVersion("of the recipe"));
        }
        let segment = Self { bytes, contents };
        let dimensions = usize::try_from(versions.dimensions).unwrap_or(usize::MAX);
        let chunks = segment.records::<ChunkRecord>(Section::Chunks);
        // Vectors have no ids of their own: the id of a chunk is the row of its vector.
        let fits = segment.section(Section::Vectors).len() == chunks.saturating_mul(dimensions)
            && segment.section(Section::Scales).len() == chunks * size_of::<f32>();
        if fits { Ok(segment) } else { Err(SegmentError::Damaged("it does not have one vector for each chunk")) }
    }

    /// Compares every section with its checksum. Reads the whole segment.
    pub fn verify(&self) -> Result<(), SegmentError> {
        let whole = |section: &Section| {
            self.contents
                .places
                .get(*section as usize)
                .is_some_and(|place| hash(self.section(*section)) == place.checksum)
        };
        if SECTIONS.iter().all(whole) { Ok(()) } else { Err(SegmentError::Damaged("a checksum does not match")) }
    }

    /// The length of the file in bytes.
    pub fn len(&self) -> usize {
        (*self.bytes).as_ref().len()
    }

    pub fn is_empty(&self) -> bool {
        self.documents() == 0
    }

    pub fn versions(&self) -> &Versions {
        &self.contents.versions
    }

    fn section(&self, section: Section) -> &[u8] {
        let Some(Place { offset, length, .. }) = self.contents.places.get(section as usize) else { return &[] };
        let start = usize::try_from(*offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::try_from(*length).unwrap_or(usize::MAX));
        (*self.bytes).as_ref().get(start..end).unwrap_or_default()
    }

    /// How many records a section has.
    fn records<R: Record>(&self, section: Section) -> usize {
        self.section(section).len() / R::BYTES
    }

    fn record<R: Record>(&self, section: Section, index: usize) -> Option<R> {
        let start = index.checked_mul(R::BYTES)?;
        self.section(section).get(start..start.checked_add(R::BYTES)?).map(R::read)
    }

    pub fn documents(&self) -> u32 {
        u32::try_from(self.records::<DocumentRecord>(Section::Documents)).unwrap_or(u32::MAX)
    }

    pub fn chunks(&self) -> u32 {
        u32::try_from(self.records::<ChunkRecord>(Section::Chunks)).unwrap_or(u32::MAX)
    }

    pub fn document(&self, id: u32) -> Option<DocumentRecord> {
        self.record(Section::Documents, usize::try_from(id).ok()?)
    }

    pub fn chunk(&self, id: u32) -> Option<ChunkRecord> {
        self.record(Section::Chunks, usize::try_from(id).ok()?)
    }

    /// The path of a document; empty if it is damaged.
    pub fn path(&self, document: &DocumentRecord) -> &str {
        self.text(document.path)
    }

    pub fn chunk_name(&self, chunk: &ChunkRecord) -> &str {
        self.text(chunk.name)
    }

    pub fn definition_name(&self, definition: &DefinitionRecord) -> &str {
        self.text(definition.name)
    }

    pub(super) fn text(&self, text: Text) -> &str {
        let start = usize::try_from(text.offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::try_from(text.length).unwrap_or(usize::MAX));
        let bytes = self.section(Section::Strings).get(start..end).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    /// The chunks that have a word.
    pub fn postings(&self, hash: u64) -> Postings<'_> {
        self.find_postings(Inverted::Chunks, hash)
    }

    /// The documents that have a word.
    pub fn document_postings(&self, hash: u64) -> Postings<'_> {
        self.find_postings(Inverted::Documents, hash)
    }

    fn find_postings(&self, of: Inverted, hash: u64) -> Postings<'_> {
        let is_before = |index| self.term(of, index).is_some_and(|term| term.hash < hash);
        // Words are stored as 64-bit hashes alone; two words with one hash share a list, which is too rare to matter.
        let first = partition_point(self.records::<TermRecord>(of.terms()), is_before);
        let found = self.term(of, first).filter(|term| term.hash == hash);
        found.map_or_else(|| Postings::new(&[], 0, 0), |term| self.postings_of(of, &term))
    }

    pub(super) fn postings_of(&self, of: Inverted, term: &TermRecord) -> Postings<'_> {
        let start = usize::try_from(term.offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::try_from(term.length).unwrap_or(usize::MAX));
        let bytes = self.section(of.postings()).get(start..end).unwrap_or_default();
        let ids = match of {
            Inverted::Chunks => self.chunks(),
            Inverted::Documents => self.documents(),
        };
        Postings::new(bytes, term.count.min(ids), ids)
    }

    pub(super) fn term(&self, of: Inverted, index: usize) -> Option<TermRecord> {
        self.record(of.terms(), index)
    }

    pub(super) fn definition_count(&self) -> usize {
        self.records::<DefinitionRecord>(Section::Definitions)
    }

    pub(super) fn definition(&self, index: usize) -> Option<DefinitionRecord> {
        self.record(Section::Definitions, index)
    }

    /// The definitions whose simple name has this hash.
    pub fn definitions(&self, name_hash: u64) -> impl Iterator<Item = DefinitionRecord> + '_ {
        let is_before = |index| self.definition(index).is_some_and(|definition| definition.name_hash < name_hash);
        let first = partition_point(self.definition_count(), is_before);
        let found = (first..).map_while(|index| self.definition(index));
        found.take_while(move |definition| definition.name_hash == name_hash)
    }

    /// The numbers of all vectors, as unsigned bytes, one vector after the other.
    pub fn vectors(&self) -> &[u8] {
        self.section(Section::Vectors)
    }

    /// The numbers of one vector, as unsigned bytes.
    pub fn vector(&self, chunk: u32) -> Option<&[u8]> {
        let dimensions = usize::try_from(self.contents.versions.dimensions).ok()?;
        let start = usize::try_from(chunk).ok()?.checked_mul(dimensions)?;
        self.vectors().get(start..start.checked_add(dimensions)?)
    }

    /// The vector of a chunk as it is compared: of length 1, up to the rounding of its numbers.
    pub fn unit_vector(&self, chunk: u32) -> Option<Vec<f32>> {
        let scale = self.scale(chunk);
        let numbers = self.vector(chunk)?.iter().map(|code| f32::from(code.cast_signed()) * scale);
        Some(numbers.collect())
    }

    /// All vectors, to search in.
    pub fn all_vectors(&self) -> Result<Vectors<'_>, VectorError> {
        let dimensions = usize::try_from(self.contents.versions.dimensions).unwrap_or(usize::MAX);
        Vectors::new(dimensions, self.vectors(), self.section(Section::Scales))
    }

    /// The sketches of all vectors; some at the end may be missing.
    pub fn sketches(&self) -> &[u8] {
        self.section(Section::Sketches)
    }

    pub(super) fn sketch(&self, chunk: u32) -> Option<&[u8]> {
        let size = usize::try_from(self.contents.versions.dimensions).ok()?.div_ceil(64) * size_of::<u64>();
        let start = usize::try_from(chunk).ok()?.checked_mul(size)?;
        self.sketches().get(start..start.checked_add(size)?)
    }

    /// The distinct tokens of a chunk, in the order in which they first occur.
    pub fn tokens(&self, chunk: u32) -> impl Iterator<Item = u16> + '_ {
        let end = |chunk: u32| -> Option<usize> {
            let start = usize::try_from(chunk).ok()?.checked_mul(size_of::<u64>())?;
            let bytes = self.section(Section::TokenEnds).get(start..)?.first_chunk::<8>()?;
            usize::try_from(u64::from_le_bytes(*bytes)).ok()
        };
        // Only ends are stored: the tokens of a chunk begin where those of the chunk before it end.
        let first = chunk.checked_sub(1).map_or(Some(0), end);
        let range = first.zip(end(chunk)).and_then(|(first, end)| self.section(Section::Tokens).get(first..end));
        range.unwrap_or_default().as_chunks::<2>().0.iter().map(|bytes| u16::from_le_bytes(*bytes))
    }

    /// What the numbers of a chunk's vector are multiplied by.
    pub fn scale(&self, chunk: u32) -> f32 {
        let start = usize::try_from(chunk).ok().and_then(|chunk| chunk.checked_mul(size_of::<f32>()));
        let bytes = start.and_then(|start| self.section(Section::Scales).get(start..)?.first_chunk::<4>().copied());
        // A number that is none would win every comparison.
        bytes.map(f32::from_le_bytes).filter(|scale| scale.is_finite()).unwrap_or(0.0)
    }
}

/// Which of the two inverted indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inverted {
    Chunks,
    Documents,
}

impl Inverted {
    pub(super) fn terms(self) -> Section {
        match self {
            Self::Chunks => Section::Terms,
            Self::Documents => Section::DocumentTerms,
        }
    }

    pub(super) fn postings(self) -> Section {
        match self {
            Self::Chunks => Section::Postings,
            Self::Documents => Section::DocumentPostings,
        }
    }
}

/// The first index for which the condition is false, if it is true for all before.
fn partition_point(count: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
