//! The layout: sections one after the other, then a table of contents, which is written last.
//!
//! The table comes last because offsets and checksums are known only then: a segment is written in one pass, without
//! seeking, and a file that was cut off has no table and is refused.

use std::io::{self, Write};

/// Changes with every change of the layout or of what is in it.
const FORMAT: u32 = 2;
/// The last bytes of a file, so that one whose writing was interrupted is not taken for a segment.
const MAGIC: [u8; 8] = *b"MSTAYSEG";

/// Sections begin at multiples of this, so that vectors lie well in memory.
const ALIGNMENT: u64 = 64;

/// The parts of a segment, in the order in which they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Section {
    Documents,
    Chunks,
    Definitions,
    /// After the records that point into it.
    Strings,
    Postings,
    Terms,
    /// The same for whole documents.
    DocumentPostings,
    DocumentTerms,
    /// Where the tokens of each chunk end, and the tokens.
    TokenEnds,
    Tokens,
    Scales,
    Vectors,
    Sketches,
}

pub(super) const SECTIONS: [Section; 13] = [
    Section::Documents,
    Section::Chunks,
    Section::Definitions,
    Section::Strings,
    Section::Postings,
    Section::Terms,
    Section::DocumentPostings,
    Section::DocumentTerms,
    Section::TokenEnds,
    Section::Tokens,
    Section::Scales,
    Section::Vectors,
    Section::Sketches,
];

/// What a segment was made with. One of other versions is of no use and is made anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versions {
    /// The model of the vectors.
    pub model: [u8; 16],
    /// How chunks are cut and words are weighted.
    pub recipe: u32,
    /// Numbers of a vector.
    pub dimensions: u32,
}

/// Why bytes are not a usable segment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// The table of contents is missing or damaged, so nothing else can be located.
    #[error("the file is not a segment of an index, or its end is missing")]
    NotASegment,
    /// Intact, but its chunks, words or vectors cannot be compared with those of this version.
    #[error("the segment was made by another version ({0})")]
    OtherVersion(&'static str),
    /// Its length, a checksum or a reference from one part to another is wrong.
    #[error("the segment is damaged: {0}")]
    Damaged(&'static str),
    /// More than 32 bits can number.
    #[error("the segment would have more than {0}")]
    TooLarge(&'static str),
}

/// Where a section is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) checksum: [u8; 16],
}

/// The table of contents, at the end of the segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Contents {
    pub(super) places: [Place; SECTIONS.len()],
    pub(super) versions: Versions,
}

/// A place, the versions, the checksum of all that, and the magic number.
const PLACE_BYTES: usize = 8 + 8 + 16;
const CONTENTS_BYTES: usize = SECTIONS.len() * PLACE_BYTES + 4 + 16 + 4 + 4 + 16 + MAGIC.len();

impl Contents {
    /// Reads the end of a segment.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, SegmentError> {
        let start = bytes.len().checked_sub(CONTENTS_BYTES).ok_or(SegmentError::NotASegment)?;
        let table = bytes.get(start..).unwrap_or_default();
        let (checked, end) = table.split_at(table.len() - 16 - MAGIC.len());
        let (checksum, magic) = end.split_at(16);
        if magic != MAGIC || checksum != hash(checked) {
            return Err(SegmentError::NotASegment);
        }
        let mut fields = Fields(checked);
        let mut places = [Place::default(); SECTIONS.len()];
        for place in &mut places {
            *place = Place { offset: fields.u64(), length: fields.u64(), checksum: fields.array() };
            let end = place.offset.checked_add(place.length).ok_or(SegmentError::NotASegment)?;
            // Checked once here, so that readers can slice sections without another error path.
            if usize::try_from(end).map_or(true, |end| end > start) {
                return Err(SegmentError::NotASegment);
            }
        }
        if fields.u32() != FORMAT {
            return Err(SegmentError::OtherVersion("of the format"));
        }
        let versions = Versions { model: fields.array(), recipe: fields.u32(), dimensions: fields.u32() };
        Ok(Self { places, versions })
    }

    fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(CONTENTS_BYTES);
        for Place { offset, length, checksum } in &self.places {
            bytes.extend_from_slice(&offset.to_le_bytes());
            bytes.extend_from_slice(&length.to_le_bytes());
            bytes.extend_from_slice(checksum);
        }
        bytes.extend_from_slice(&FORMAT.to_le_bytes());
        bytes.extend_from_slice(&self.versions.model);
        bytes.extend_from_slice(&self.versions.recipe.to_le_bytes());
        bytes.extend_from_slice(&self.versions.dimensions.to_le_bytes());
        let checksum = hash(&bytes);
        bytes.extend_from_slice(&checksum);
        bytes.extend_from_slice(&MAGIC);
        bytes
    }
}

/// Numbers one after the other, of which there are enough.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn array<const N: usize>(&mut self) -> [u8; N] {
        match self.0.split_first_chunk::<N>() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => [0; N],
        }
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }
}

/// The first half of BLAKE3: damage is found by it, not malice.
pub(super) fn hash(bytes: &[u8]) -> [u8; 16] {
    first_half(&blake3::hash(bytes))
}

fn first_half(hash: &blake3::Hash) -> [u8; 16] {
    hash.as_bytes().first_chunk::<16>().copied().unwrap_or_default()
}

/// Writes sections in their order, and the table of contents at the end. Nothing is kept in memory.
pub(super) struct SectionWriter<W> {
    to: W,
    at: u64,
    section: Option<(Section, u64, blake3::Hasher)>,
    contents: Contents,
}

impl<W: Write> SectionWriter<W> {
    pub(super) fn new(to: W, versions: Versions) -> Self {
        let places = [Place::default(); SECTIONS.len()];
        Self { to, at: 0, section: None, contents: Contents { places, versions } }
    }

    /// Ends the section before, and begins the next.
    pub(super) fn begin(&mut self, section: Section) -> io::Result<()> {
        self.end();
        while !self.at.is_multiple_of(ALIGNMENT) {
            self.to.write_all(&[0])?;
            self.at += 1;
        }
        self.section = Some((section, self.at, blake3::Hasher::new()));
        Ok(())
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some((_, _, hasher)) = &mut self.section {
            hasher.update(bytes);
        }
        self.at += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.to.write_all(bytes)
    }

    fn end(&mut self) {
        if let Some((section, offset, hasher)) = self.section.take()
            && let Some(place) = self.contents.places.get_mut(section as usize)
        {
            *place = Place { offset, length: self.at - offset, checksum: first_half(&hasher.finalize()) };
        }
    }

    /// Writes the table of contents. The segment is complete.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.end();
        self.to.write_all(&self.contents.write())?;
        self.to.flush()
    }
}
