//! A prepared document as bytes, for a database.
//!
//! The bytes come back from a place that others may write to, so they are not trusted: every length is compared with
//! what is left before anything is allocated, and what would lead from one document into another is refused. They carry
//! the format and the recipe, not the model: whoever stores them keeps the model's id with the whole collection.

use super::{Lengths, Prepared, RECIPE};
use crate::segment::{NewChunk, NewDefinition};
use crate::vectors::MAX_DIMENSIONS;

/// Changes with every change of the layout.
const FORMAT: u32 = 1;
/// The first bytes, so that a value of another column is not taken for a document.
const MAGIC: [u8; 4] = *b"MDOC";

/// The fewest bytes that an entry of each list takes. A count that needs more than is left is damage, and is noticed
/// before memory is taken for it.
const TERM_BYTES: usize = 8 + 1;
const TOKEN_BYTES: usize = 2;
const CHUNK_BYTES: usize = 4 + 1 + 4 * 4 + 4 + 4 + 4 + 4;
const DEFINITION_BYTES: usize = 8 + 4 + 2 + 4 * 3 + 1;

/// Why bytes are not a prepared document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoredError {
    /// Intact, but its chunks or terms cannot be compared with those of this version: it has to be prepared again.
    #[error("the stored document was made by another version")]
    OtherVersion,
    /// Cut off, altered, or never a document.
    #[error("the stored document is damaged: {0}")]
    Damaged(&'static str),
}

impl Prepared {
    /// The document as bytes, from which [`Self::from_bytes`] makes the same again.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut to = Output(Vec::with_capacity(256 + self.chunks.len() * 1024));
        to.0.extend_from_slice(&MAGIC);
        to.u32(FORMAT);
        to.u32(RECIPE);
        to.text(&self.path);
        to.0.extend_from_slice(&self.size.to_le_bytes());
        to.u32(self.lines);
        to.0.extend_from_slice(&self.modified_ns.to_le_bytes());
        to.0.extend_from_slice(&self.etag);
        to.u32(self.tags);
        to.0.push(self.language);
        self.lengths.0.iter().chain(&self.lengths.1).for_each(|length| to.u32(*length));
        to.terms(&self.terms);
        to.count(self.chunks.len());
        self.chunks.iter().for_each(|chunk| to.chunk(chunk));
        to.count(self.definitions.len());
        self.definitions.iter().for_each(|definition| to.definition(definition));
        to.0
    }

    /// Reads what [`Self::to_bytes`] wrote. Any other bytes are an error; the memory that is taken is at most a few times
    /// their length.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StoredError> {
        let mut from = Input(bytes);
        if from.array()? != MAGIC {
            return Err(StoredError::Damaged("it does not begin as a document does"));
        }
        // Before the rest, which another version may have laid out in another way.
        if from.u32()? != FORMAT || from.u32()? != RECIPE {
            return Err(StoredError::OtherVersion);
        }
        let document = Self {
            path: from.text()?,
            size: u64::from_le_bytes(from.array()?),
            lines: from.u32()?,
            modified_ns: i64::from_le_bytes(from.array()?),
            etag: from.array()?,
            tags: from.u32()?,
            language: from.u8()?,
            lengths: (from.lengths()?, from.lengths()?),
            terms: from.terms()?,
            chunks: from.list(CHUNK_BYTES, Input::chunk)?,
            definitions: from.list(DEFINITION_BYTES, Input::definition)?,
        };
        if !from.0.is_empty() {
            return Err(StoredError::Damaged("there is more after its end"));
        }
        document.check()?;
        Ok(document)
    }

    /// What a segment relies on. Its chunks are numbered through all documents, so that a definition in a chunk that
    /// this document does not have would be one of the next document.
    fn check(&self) -> Result<(), StoredError> {
        let is_missing = |chunk: u32| usize::try_from(chunk).map_or(true, |chunk| chunk >= self.chunks.len());
        if self.definitions.iter().any(|definition| is_missing(definition.chunk)) {
            return Err(StoredError::Damaged("a definition is in a chunk that does not exist"));
        }
        let dimensions = self.chunks.first().map_or(0, |chunk| chunk.vector.len());
        if dimensions > MAX_DIMENSIONS || self.chunks.iter().any(|chunk| chunk.vector.len() != dimensions) {
            return Err(StoredError::Damaged("its vectors have different or too many dimensions"));
        }
        // Times such a scale, a cosine would be no number and win every comparison.
        if self.chunks.iter().any(|chunk| !chunk.scale.is_finite()) {
            return Err(StoredError::Damaged("the scale of a vector is no number"));
        }
        Ok(())
    }
}

/// Writes values one after the other, little-endian.
struct Output(Vec<u8>);

impl Output {
    fn u32(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// Documents are bounded by the size of files, far below this limit; beyond it, reading fails instead of going wrong.
    fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// Its length in bytes, and then the bytes.
    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Nine bytes each. They are the larger part of a document after its vectors; packing them tighter is left to the
    /// compression of the database.
    fn terms(&mut self, terms: &[(u64, u8)]) {
        self.count(terms.len());
        for (hash, impact) in terms {
            self.0.extend_from_slice(&hash.to_le_bytes());
            self.0.push(*impact);
        }
    }

    fn chunk(&mut self, chunk: &NewChunk) {
        self.text(&chunk.name);
        self.0.push(chunk.kind);
        for number in [chunk.start_line, chunk.end_line, chunk.start_byte, chunk.end_byte] {
            self.u32(number);
        }
        self.0.extend_from_slice(&chunk.scale.to_le_bytes());
        self.terms(&chunk.terms);
        self.count(chunk.tokens.len());
        self.0.extend(chunk.tokens.iter().flat_map(|token| token.to_le_bytes()));
        // With each vector: only reading checks that all have the same length.
        self.count(chunk.vector.len());
        self.0.extend(chunk.vector.iter().map(|code| code.cast_unsigned()));
    }

    fn definition(&mut self, definition: &NewDefinition) {
        self.0.extend_from_slice(&definition.name_hash.to_le_bytes());
        self.text(&definition.name);
        self.0.extend_from_slice(&definition.qualifier.to_le_bytes());
        for number in [definition.chunk, definition.start_line, definition.end_line] {
            self.u32(number);
        }
        self.0.push(definition.kind);
    }
}

/// The bytes that are left to read.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    /// The next bytes, all of them or none.
    fn take(&mut self, count: usize) -> Result<&'a [u8], StoredError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(StoredError::Damaged("its end is missing"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], StoredError> {
        self.take(N)?.first_chunk().copied().ok_or(StoredError::Damaged("its end is missing"))
    }

    fn u8(&mut self) -> Result<u8, StoredError> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    fn u32(&mut self) -> Result<u32, StoredError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// The length of a list whose entries take at least so many bytes each.
    fn count(&mut self, least_bytes: usize) -> Result<usize, StoredError> {
        let count = usize::try_from(self.u32()?).unwrap_or(usize::MAX);
        if count.saturating_mul(least_bytes) > self.0.len() {
            return Err(StoredError::Damaged("a list is longer than the document"));
        }
        Ok(count)
    }

    /// A list. An entry that cannot be read ends it with an error.
    fn list<T>(
        &mut self,
        least_bytes: usize,
        read: impl Fn(&mut Self) -> Result<T, StoredError>,
    ) -> Result<Vec<T>, StoredError> {
        (0..self.count(least_bytes)?).map(|_| read(self)).collect()
    }

    /// A name. Segments rely on UTF-8, and a database may have converted what it took for text.
    fn text(&mut self) -> Result<String, StoredError> {
        let length = self.count(1)?;
        let text = std::str::from_utf8(self.take(length)?);
        text.map(str::to_owned).map_err(|_| StoredError::Damaged("a name is not UTF-8"))
    }

    /// As many as there are fields, which the recipe fixes: no count is stored.
    fn lengths(&mut self) -> Result<Lengths, StoredError> {
        let mut lengths = Lengths::default();
        for length in &mut lengths {
            *length = self.u32()?;
        }
        Ok(lengths)
    }

    fn terms(&mut self) -> Result<Vec<(u64, u8)>, StoredError> {
        self.list(TERM_BYTES, |from| Ok((u64::from_le_bytes(from.array()?), from.u8()?)))
    }

    /// The fields in the order in which [`Output::chunk`] writes them: an expression of a struct is evaluated as written.
    fn chunk(&mut self) -> Result<NewChunk, StoredError> {
        Ok(NewChunk {
            name: self.text()?,
            kind: self.u8()?,
            start_line: self.u32()?,
            end_line: self.u32()?,
            start_byte: self.u32()?,
            end_byte: self.u32()?,
            scale: f32::from_le_bytes(self.array()?),
            terms: self.terms()?,
            tokens: self.list(TOKEN_BYTES, |from| Ok(u16::from_le_bytes(from.array()?)))?,
            vector: {
                let dimensions = self.count(1)?;
                self.take(dimensions)?.iter().map(|code| code.cast_signed()).collect()
            },
        })
    }

    /// Whether its chunk exists is checked when all chunks are known.
    fn definition(&mut self) -> Result<NewDefinition, StoredError> {
        Ok(NewDefinition {
            name_hash: u64::from_le_bytes(self.array()?),
            name: self.text()?,
            qualifier: u16::from_le_bytes(self.array()?),
            chunk: self.u32()?,
            start_line: self.u32()?,
            end_line: self.u32()?,
            kind: self.u8()?,
        })
    }
}
