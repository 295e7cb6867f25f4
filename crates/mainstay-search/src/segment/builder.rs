//! Builds a segment in memory from documents.

use std::io::{self, Write};

use super::format::{Section, SectionWriter, SegmentError, Versions};
use super::postings::{Posting, write_posting};
use super::records::{ChunkRecord, DefinitionRecord, DocumentRecord, Record, TermRecord, Text};
use crate::vectors::{Vectors, sketch};

/// A document to index.
pub struct NewDocument<'a> {
    /// The key of a document in an index. Who adds one that replaces another also names it in the update.
    pub path: &'a str,
    pub size: u64,
    pub lines: u32,
    pub modified_ns: i64,
    pub etag: [u8; 16],
    /// See [`DocumentRecord`]: these fields are stored as they are.
    pub tags: u32,
    pub language: u8,
    /// Hashes of its words with their impacts; each word once.
    pub terms: &'a [(u64, u8)],
    pub chunks: &'a [NewChunk],
    pub definitions: &'a [NewDefinition],
}

/// A chunk of it.
#[derive(Debug, Clone, PartialEq)]
pub struct NewChunk {
    pub name: String,
    pub kind: u8,
    pub start_line: u32,
    pub end_line: u32,
    pub start_byte: u32,
    pub end_byte: u32,
    /// Hashes of its words with their impacts; each word once.
    pub terms: Vec<(u64, u8)>,
    /// The distinct tokens of the model in its text.
    pub tokens: Vec<u16>,
    /// As many numbers as the index has dimensions.
    pub vector: Vec<i8>,
    /// What the numbers of the vector are multiplied by.
    pub scale: f32,
}

/// A definition in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDefinition {
    pub name_hash: u64,
    /// With the names around it.
    pub name: String,
    /// How many bytes of the name are those of what is around it.
    pub qualifier: u16,
    /// The place of its chunk among those of the document.
    pub chunk: u32,
    pub start_line: u32,
    pub end_line: u32,
    pub kind: u8,
}

/// One occurrence of a word, to be sorted.
/// The order of the fields is the order of sorting: by word, then by id, then by impact.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Occurrence {
    hash: u64,
    id: u32,
    impact: u8,
}

/// Collects documents, in memory.
pub struct SegmentBuilder {
    versions: Versions,
    documents: Vec<u8>,
    chunks: Vec<u8>,
    strings: Vec<u8>,
    /// Of words in chunks, and in documents.
    occurrences: Vec<Occurrence>,
    in_documents: Vec<Occurrence>,
    definitions: Vec<DefinitionRecord>,
    token_ends: Vec<u8>,
    tokens: Vec<u8>,
    scales: Vec<u8>,
    vectors: Vec<u8>,
}

impl SegmentBuilder {
    pub fn new(versions: Versions) -> Self {
        Self {
            versions,
            documents: Vec::new(),
            chunks: Vec::new(),
            strings: Vec::new(),
            occurrences: Vec::new(),
            in_documents: Vec::new(),
            definitions: Vec::new(),
            token_ends: Vec::new(),
            tokens: Vec::new(),
            scales: Vec::new(),
            vectors: Vec::new(),
        }
    }

    pub fn documents(&self) -> usize {
        self.documents.len() / DocumentRecord::BYTES
    }

    pub fn chunks(&self) -> usize {
        self.chunks.len() / ChunkRecord::BYTES
    }

    /// Whether there is nothing to write: a segment without documents would only slow down searches.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// About how much memory it takes.
    pub fn memory(&self) -> usize {
        self.documents.len()
            + self.chunks.len()
            + self.strings.len()
            + self.tokens.len()
            + self.vectors.len()
            + (self.occurrences.len() + self.in_documents.len()) * size_of::<Occurrence>()
            + self.definitions.len() * size_of::<DefinitionRecord>()
    }

    /// Adds a document. Fails if a chunk's vector has another length than the index's, or there are too many chunks.
    pub fn add(&mut self, document: &NewDocument<'_>) -> Result<(), SegmentError> {
        let dimensions = usize::try_from(self.versions.dimensions).unwrap_or(usize::MAX);
        if document.chunks.iter().any(|chunk| chunk.vector.len() != dimensions) {
            return Err(SegmentError::OtherVersion("of the model"));
        }
        let first = self.chunks();
        let number = |count: usize| u32::try_from(count).map_err(|_| SegmentError::TooLarge("4 billion chunks"));
        let (first_chunk, id) = (number(first)?, number(self.documents())?);
        number(first + document.chunks.len())?;
        for (place, chunk) in (first_chunk..).zip(document.chunks) {
            self.add_chunk(id, place, chunk);
        }
        for definition in document.definitions {
            let name = self.text(&definition.name);
            self.definitions.push(DefinitionRecord {
                name_hash: definition.name_hash,
                name,
                qualifier: definition.qualifier,
                chunk: first_chunk.saturating_add(definition.chunk),
                start_line: definition.start_line,
                end_line: definition.end_line,
                kind: definition.kind,
            });
        }
        let occurrence = |(hash, impact): &(u64, u8)| Occurrence { hash: *hash, id, impact: *impact };
        self.in_documents.extend(document.terms.iter().map(occurrence));
        let record = DocumentRecord {
            path: self.text(document.path),
            first_chunk,
            chunks: number(document.chunks.len())?,
            size: document.size,
            lines: document.lines,
            modified_ns: document.modified_ns,
            etag: document.etag,
            tags: document.tags,
            language: document.language,
        };
        record.write(&mut self.documents);
        Ok(())
    }

    fn add_chunk(&mut self, document: u32, id: u32, chunk: &NewChunk) {
        let record = ChunkRecord {
            document,
            name: self.text(&chunk.name),
            kind: chunk.kind,
            start_line: chunk.start_line,
            end_line: chunk.end_line,
            start_byte: chunk.start_byte,
            end_byte: chunk.end_byte,
        };
        record.write(&mut self.chunks);
        let occurrence = |(hash, impact): &(u64, u8)| Occurrence { hash: *hash, id, impact: *impact };
        self.occurrences.extend(chunk.terms.iter().map(occurrence));
        self.tokens.extend(chunk.tokens.iter().flat_map(|token| token.to_le_bytes()));
        self.token_ends.extend_from_slice(&u64::try_from(self.tokens.len()).unwrap_or(u64::MAX).to_le_bytes());
        self.scales.extend_from_slice(&chunk.scale.to_le_bytes());
        self.vectors.extend(chunk.vector.iter().map(|number| number.cast_unsigned()));
    }

    fn text(&mut self, text: &str) -> Text {
        let offset = u64::try_from(self.strings.len()).unwrap_or(u64::MAX);
        // A longer name says no more.
        let text = text.get(..text.floor_char_boundary(usize::from(u16::MAX))).unwrap_or_default();
        self.strings.extend_from_slice(text.as_bytes());
        Text { offset, length: u32::try_from(text.len()).unwrap_or(0) }
    }

    /// Writes the segment.
    pub fn write(mut self, to: impl Write) -> io::Result<()> {
        let ((terms, postings), (document_terms, document_postings)) =
            rayon::join(|| inverted(&mut self.occurrences), || inverted(&mut self.in_documents));
        // Lookups by name are a binary search, and merging goes through sorted lists.
        self.definitions.sort_by_key(|definition| (definition.name_hash, definition.chunk, definition.start_line));
        let mut definitions = Vec::with_capacity(self.definitions.len() * DefinitionRecord::BYTES);
        self.definitions.iter().for_each(|definition| definition.write(&mut definitions));
        let mut sketches = Vec::new();
        let dimensions = usize::try_from(self.versions.dimensions).unwrap_or(usize::MAX);
        if let Ok(vectors) = Vectors::new(dimensions, &self.vectors, &self.scales) {
            sketch(vectors, &mut sketches);
        }
        let mut writer = SectionWriter::new(to, self.versions);
        for (section, bytes) in [
            (Section::Documents, &self.documents),
            (Section::Chunks, &self.chunks),
            (Section::Definitions, &definitions),
            (Section::Strings, &self.strings),
            (Section::Postings, &postings),
            (Section::Terms, &terms),
            (Section::DocumentPostings, &document_postings),
            (Section::DocumentTerms, &document_terms),
            (Section::TokenEnds, &self.token_ends),
            (Section::Tokens, &self.tokens),
            (Section::Scales, &self.scales),
            (Section::Vectors, &self.vectors),
            (Section::Sketches, &sketches),
        ] {
            writer.begin(section)?;
            writer.write(bytes)?;
        }
        writer.finish()
    }
}

/// The table of terms and the lists of chunks or documents.
fn inverted(occurrences: &mut [Occurrence]) -> (Vec<u8>, Vec<u8>) {
    occurrences.sort_unstable();
    let (mut terms, mut postings) = (Vec::new(), Vec::new());
    for same in occurrences.chunk_by(|one, other| one.hash == other.hash) {
        let Some(first) = same.first() else { continue };
        let offset = postings.len();
        let (mut last, mut count) = (0, 0);
        for of_one in same.chunk_by(|one, other| one.id == other.id) {
            // A word that is given twice counts once, with its higher impact, which comes last.
            if let Some(Occurrence { id, impact, .. }) = of_one.last() {
                write_posting(&mut postings, last, Posting { id: *id, impact: *impact });
                last = *id;
                count += 1;
            }
        }
        let record = TermRecord {
            hash: first.hash,
            offset: u64::try_from(offset).unwrap_or(u64::MAX),
            length: u32::try_from(postings.len() - offset).unwrap_or(u32::MAX),
            count,
        };
        record.write(&mut terms);
    }
    (terms, postings)
}
