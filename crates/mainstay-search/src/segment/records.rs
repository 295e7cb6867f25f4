//! Records of fixed length: documents, chunks, terms and definitions.
//!
//! With a fixed length, the record of an id is found by a multiplication, and opening a segment parses nothing.
//! Texts vary in length, so records point to them. Numbers are little-endian on every platform.

/// A record that is read and written as bytes of a fixed length.
pub(super) trait Record: Sized {
    const BYTES: usize;

    /// `bytes` has at least [`Record::BYTES`]; missing ones read as zero.
    fn read(bytes: &[u8]) -> Self;
    fn write(&self, to: &mut Vec<u8>);
}

/// A text in the section of strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Text {
    pub(super) offset: u64,
    pub(super) length: u32,
}

/// A document, such as a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentRecord {
    pub(super) path: Text,
    /// A document's chunks have consecutive ids: `first_chunk..first_chunk + chunks`.
    pub first_chunk: u32,
    pub chunks: u32,
    /// Of the whole document, in bytes.
    pub size: u64,
    pub lines: u32,
    /// When it was changed, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// A hash of its content.
    pub etag: [u8; 16],
    /// Bits, one for each tag.
    pub tags: u32,
    /// The number of its language, or 0.
    pub language: u8,
}

/// A chunk of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkRecord {
    /// The id of its document in this segment.
    pub document: u32,
    pub(super) name: Text,
    /// The number of its kind.
    pub kind: u8,
    /// Counted from 1; the last one is part of it.
    pub start_line: u32,
    pub end_line: u32,
    pub start_byte: u32,
    pub end_byte: u32,
}

/// Something that has a name in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DefinitionRecord {
    /// Of its simple name without case and signs.
    pub name_hash: u64,
    pub(super) name: Text,
    /// How many bytes of the name are those of what is around it.
    pub qualifier: u16,
    /// The id of the chunk in which it begins.
    pub chunk: u32,
    pub start_line: u32,
    pub end_line: u32,
    /// The number of its kind.
    pub kind: u8,
}

/// The list of chunks, or of documents, that have a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TermRecord {
    pub(super) hash: u64,
    pub(super) offset: u64,
    pub(super) length: u32,
    /// How many are in the list.
    pub(super) count: u32,
}

/// Reads fields one after the other; what is missing is zero.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> [u8; N] {
        match self.0.split_first_chunk::<N>() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => [0; N],
        }
    }

    fn u8(&mut self) -> u8 {
        u8::from_le_bytes(self.array())
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    fn text(&mut self) -> Text {
        Text { offset: self.u64(), length: self.u32() }
    }
}

impl Text {
    fn write(self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.offset.to_le_bytes());
        to.extend_from_slice(&self.length.to_le_bytes());
    }
}

impl Record for DocumentRecord {
    const BYTES: usize = 12 + 4 + 4 + 8 + 4 + 8 + 16 + 4 + 1 + 3;

    fn read(bytes: &[u8]) -> Self {
        let mut reader = Reader(bytes);
        Self {
            path: reader.text(),
            first_chunk: reader.u32(),
            chunks: reader.u32(),
            size: reader.u64(),
            lines: reader.u32(),
            modified_ns: reader.u64().cast_signed(),
            etag: reader.array(),
            tags: reader.u32(),
            language: reader.u8(),
        }
    }

    fn write(&self, to: &mut Vec<u8>) {
        self.path.write(to);
        to.extend_from_slice(&self.first_chunk.to_le_bytes());
        to.extend_from_slice(&self.chunks.to_le_bytes());
        to.extend_from_slice(&self.size.to_le_bytes());
        to.extend_from_slice(&self.lines.to_le_bytes());
        to.extend_from_slice(&self.modified_ns.to_le_bytes());
        to.extend_from_slice(&self.etag);
        to.extend_from_slice(&self.tags.to_le_bytes());
        to.extend_from_slice(&[self.language, 0, 0, 0]);
    }
}

impl Record for ChunkRecord {
    const BYTES: usize = 4 + 12 + 1 + 3 + 4 * 4;

    fn read(bytes: &[u8]) -> Self {
        let mut reader = Reader(bytes);
        let (document, name, [kind, _, _, _]) = (reader.u32(), reader.text(), reader.array());
        Self {
            document,
            name,
            kind,
            start_line: reader.u32(),
            end_line: reader.u32(),
            start_byte: reader.u32(),
            end_byte: reader.u32(),
        }
    }

    fn write(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.document.to_le_bytes());
        self.name.write(to);
        to.extend_from_slice(&[self.kind, 0, 0, 0]);
        for number in [self.start_line, self.end_line, self.start_byte, self.end_byte] {
            to.extend_from_slice(&number.to_le_bytes());
        }
    }
}

impl Record for DefinitionRecord {
    const BYTES: usize = 8 + 12 + 4 + 4 + 4 + 2 + 1 + 5;

    fn read(bytes: &[u8]) -> Self {
        let mut reader = Reader(bytes);
        Self {
            name_hash: reader.u64(),
            name: reader.text(),
            chunk: reader.u32(),
            start_line: reader.u32(),
            end_line: reader.u32(),
            qualifier: reader.u16(),
            kind: reader.u8(),
        }
    }

    fn write(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.name_hash.to_le_bytes());
        self.name.write(to);
        for number in [self.chunk, self.start_line, self.end_line] {
            to.extend_from_slice(&number.to_le_bytes());
        }
        to.extend_from_slice(&self.qualifier.to_le_bytes());
        to.extend_from_slice(&[self.kind, 0, 0, 0, 0, 0]);
    }
}

impl Record for TermRecord {
    const BYTES: usize = 8 + 8 + 4 + 4;

    fn read(bytes: &[u8]) -> Self {
        let mut reader = Reader(bytes);
        Self { hash: reader.u64(), offset: reader.u64(), length: reader.u32(), count: reader.u32() }
    }

    fn write(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.hash.to_le_bytes());
        to.extend_from_slice(&self.offset.to_le_bytes());
        to.extend_from_slice(&self.length.to_le_bytes());
        to.extend_from_slice(&self.count.to_le_bytes());
    }
}
