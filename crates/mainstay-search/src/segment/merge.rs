//! Makes one segment of several, without what was deleted. Memory is bounded: sections are copied piece by piece.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};

use super::format::{Section, SectionWriter, SegmentError, Versions};
use super::postings::{Posting, write_posting};
use super::reader::{Inverted, Segment};
use super::records::{ChunkRecord, DefinitionRecord, DocumentRecord, Record as _, TermRecord, Text};

/// A segment to merge.
pub struct Source<'a> {
    pub segment: &'a Segment,
    /// Which of its documents are gone.
    pub is_deleted: &'a (dyn Fn(u32) -> bool + Sync),
}

/// A chunk that is gone.
const GONE: u32 = u32::MAX;

/// A buffer is written when it is longer than this.
const BUFFER: usize = 1 << 20;

/// A source with the numbers that its chunks have in the new segment.
struct Renumbered<'a> {
    segment: &'a Segment,
    documents: Vec<(u32, DocumentRecord)>,
    /// The new number of the first of them.
    first_document: u32,
    chunks: Vec<u32>,
}

/// Writes the documents of all sources, in their order.
pub fn merge(sources: &[Source<'_>], versions: &Versions, to: impl Write) -> io::Result<()> {
    let sources = renumber(sources).map_err(io::Error::other)?;
    let mut writer = Merger { writer: SectionWriter::new(to, versions.clone()), strings: 0, buffer: Vec::new() };
    // Records are written before the strings they point to, so offsets are handed out in one pass and
    // the strings follow in the same order, without being held in memory.
    writer.documents(&sources)?;
    writer.chunks(&sources)?;
    writer.definitions(&sources)?;
    writer.strings(&sources)?;
    writer.postings(&sources, Inverted::Chunks)?;
    writer.postings(&sources, Inverted::Documents)?;
    writer.tokens(&sources)?;
    writer.vectors(&sources)?;
    writer.writer.finish()
}

/// Chunks of documents that stay are numbered in their order; a document's chunks stay together.
fn renumber<'a>(sources: &'a [Source<'a>]) -> Result<Vec<Renumbered<'a>>, SegmentError> {
    let (mut next, mut first_document) = (0_u32, 0_u32);
    let mut renumbered = Vec::with_capacity(sources.len());
    for Source { segment, is_deleted } in sources {
        let mut chunks = vec![GONE; usize::try_from(segment.chunks()).unwrap_or(0)];
        let mut documents = Vec::new();
        for (id, mut document) in (0..segment.documents()).filter_map(|id| Some((id, segment.document(id)?))) {
            let first = usize::try_from(document.first_chunk).unwrap_or(usize::MAX);
            let end = first.saturating_add(usize::try_from(document.chunks).unwrap_or(usize::MAX));
            // Checked for deleted documents too: a damaged source must not be merged into one that looks whole.
            let Some(own) = chunks.get_mut(first..end) else {
                return Err(SegmentError::Damaged("a document has chunks that do not exist"));
            };
            if is_deleted(id) {
                continue;
            }
            document.first_chunk = next;
            for chunk in own {
                if next == GONE {
                    return Err(SegmentError::TooLarge("4 billion chunks"));
                }
                *chunk = next;
                next += 1;
            }
            documents.push((id, document));
        }
        let count = u32::try_from(documents.len()).map_err(|_| SegmentError::TooLarge("4 billion documents"))?;
        renumbered.push(Renumbered { segment, documents, first_document, chunks });
        first_document = first_document.checked_add(count).ok_or(SegmentError::TooLarge("4 billion documents"))?;
    }
    Ok(renumbered)
}

impl Renumbered<'_> {
    /// The new number of a chunk, if it stays.
    fn chunk(&self, old: u32) -> Option<u32> {
        self.chunks.get(usize::try_from(old).ok()?).copied().filter(|new| *new != GONE)
    }

    /// The new number of a document, if it stays.
    fn document(&self, old: u32) -> Option<u32> {
        let place = self.documents.binary_search_by_key(&old, |(id, _)| *id).ok()?;
        Some(self.first_document + u32::try_from(place).ok()?)
    }

    /// The chunks that stay, in their order.
    fn kept(&self) -> impl Iterator<Item = u32> + '_ {
        (0_u32..).zip(&self.chunks).filter(|(_, new)| **new != GONE).map(|(old, _)| old)
    }
}

/// Goes through sorted lists of several sources as if they were one: calls back with the sources that have the smallest key,
/// and their places.
fn merged<K: Ord + Copy>(
    sources: usize,
    key: impl Fn(usize, usize) -> Option<K>,
    mut each: impl FnMut(K, &[(usize, usize)]) -> io::Result<()>,
) -> io::Result<()> {
    let mut heap: BinaryHeap<Reverse<(K, usize, usize)>> =
        (0..sources).filter_map(|source| Some(Reverse((key(source, 0)?, source, 0)))).collect();
    let mut same = Vec::new();
    while let Some(Reverse((smallest, _, _))) = heap.peek().copied() {
        same.clear();
        while let Some(Reverse((found, source, place))) =
            heap.peek().copied().filter(|Reverse((key, _, _))| *key == smallest)
        {
            heap.pop();
            same.push((source, place));
            // A list that is damaged, and not sorted, must not begin again.
            if let Some(next) = key(source, place + 1).filter(|next| *next >= found) {
                heap.push(Reverse((next, source, place + 1)));
            }
        }
        each(smallest, &same)?;
    }
    Ok(())
}

struct Merger<W> {
    writer: SectionWriter<W>,
    /// The length of the strings that records point to so far.
    strings: u64,
    buffer: Vec<u8>,
}

impl<W: Write> Merger<W> {
    /// The place where a text will be.
    fn place(&mut self, text: &str) -> Text {
        let offset = self.strings;
        self.strings += u64::try_from(text.len()).unwrap_or(0);
        Text { offset, length: u32::try_from(text.len()).unwrap_or(0) }
    }

    fn flush(&mut self, above: usize) -> io::Result<()> {
        if self.buffer.len() > above {
            self.writer.write(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    fn documents(&mut self, sources: &[Renumbered<'_>]) -> io::Result<()> {
        self.writer.begin(Section::Documents)?;
        for source in sources {
            for (_, document) in &source.documents {
                let record = DocumentRecord { path: self.place(source.segment.path(document)), ..*document };
                record.write(&mut self.buffer);
                self.flush(BUFFER)?;
            }
        }
        self.flush(0)
    }

    fn chunks(&mut self, sources: &[Renumbered<'_>]) -> io::Result<()> {
        self.writer.begin(Section::Chunks)?;
        for source in sources {
            for (number, (old_document, _)) in (source.first_document..).zip(&source.documents) {
                let Some(document) = source.segment.document(*old_document) else { continue };
                for old in document.first_chunk..document.first_chunk.saturating_add(document.chunks) {
                    let missing = || io::Error::other(SegmentError::Damaged("a chunk is missing"));
                    let chunk = source.segment.chunk(old).ok_or_else(missing)?;
                    let name = self.place(source.segment.chunk_name(&chunk));
                    ChunkRecord { document: number, name, ..chunk }.write(&mut self.buffer);
                    self.flush(BUFFER)?;
                }
            }
        }
        self.flush(0)
    }

    fn definitions(&mut self, sources: &[Renumbered<'_>]) -> io::Result<()> {
        self.writer.begin(Section::Definitions)?;
        each_definition(sources, |segment, definition, chunk| {
            let record =
                DefinitionRecord { name: self.place(segment.definition_name(&definition)), chunk, ..definition };
            record.write(&mut self.buffer);
            self.flush(BUFFER)
        })?;
        self.flush(0)
    }

    /// In the order in which the records before were given their places.
    fn strings(&mut self, sources: &[Renumbered<'_>]) -> io::Result<()> {
        self.writer.begin(Section::Strings)?;
        for source in sources {
            for (_, document) in &source.documents {
                self.writer.write(source.segment.path(document).as_bytes())?;
            }
        }
        for source in sources {
            for chunk in source.kept().filter_map(|old| source.segment.chunk(old)) {
                self.writer.write(source.segment.chunk_name(&chunk).as_bytes())?;
            }
        }
        each_definition(sources, |segment, definition, _| {
            self.writer.write(segment.definition_name(&definition).as_bytes())
        })
    }

    /// The lists, and then the terms, which say where they are.
    fn postings(&mut self, sources: &[Renumbered<'_>], of: Inverted) -> io::Result<()> {
        self.writer.begin(of.postings())?;
        let mut terms = Vec::new();
        let mut offset = 0_u64;
        let mut list = Vec::new();
        let key =
            |source: usize, place| sources.get(source).and_then(|source| Some(source.segment.term(of, place)?.hash));
        merged(sources.len(), key, |hash, same| {
            list.clear();
            let (mut last, mut count) = (0, 0);
            for (source, place) in same {
                let Some(source) = sources.get(*source) else { continue };
                let Some(term) = source.segment.term(of, *place) else { continue };
                for Posting { id, impact } in source.segment.postings_of(of, &term) {
                    let id = match of {
                        Inverted::Chunks => source.chunk(id),
                        Inverted::Documents => source.document(id),
                    };
                    // The same order as before: numbers grow within a source, and from one source to the next.
                    if let Some(id) = id.filter(|id| *id >= last) {
                        write_posting(&mut list, last, Posting { id, impact });
                        last = id;
                        count += 1;
                    }
                }
            }
            if count == 0 {
                return Ok(());
            }
            let too_long = |_| io::Error::other(SegmentError::TooLarge("4 GB of a word"));
            let length = u32::try_from(list.len()).map_err(too_long)?;
            TermRecord { hash, offset, length, count }.write(&mut terms);
            offset += u64::from(length);
            self.writer.write(&list)
        })?;
        self.writer.begin(of.terms())?;
        self.writer.write(&terms)
    }

    fn tokens(&mut self, sources: &[Renumbered<'_>]) -> io::Result<()> {
        self.writer.begin(Section::TokenEnds)?;
        let mut end = 0_u64;
        for source in sources {
            for old in source.kept() {
                end += u64::try_from(source.segment.tokens(old).count() * size_of::<u16>()).unwrap_or(0);
                self.buffer.extend_from_slice(&end.to_le_bytes());
                self.flush(BUFFER)?;
            }
        }
        self.flush(0)?;
        self.writer.begin(Section::Tokens)?;
        for source in sources {
            for old in source.kept() {
                self.buffer.extend(source.segment.tokens(old).flat_map(u16::to_le_bytes));
                self.flush(BUFFER)?;
            }
        }
        self.flush(0)
    }

    fn vectors(&mut self, sources: &[Renumbered<'_>]) -> io::Result<()> {
        self.writer.begin(Section::Scales)?;
        for source in sources {
            for old in source.kept() {
                self.buffer.extend_from_slice(&source.segment.scale(old).to_le_bytes());
                self.flush(BUFFER)?;
            }
        }
        self.flush(0)?;
        self.writer.begin(Section::Vectors)?;
        for source in sources {
            for old in source.kept() {
                self.writer.write(source.segment.vector(old).unwrap_or_default())?;
            }
        }
        self.writer.begin(Section::Sketches)?;
        for source in sources {
            for old in source.kept() {
                self.writer.write(source.segment.sketch(old).unwrap_or_default())?;
            }
        }
        Ok(())
    }
}

/// The definitions that stay, sorted, each with its new chunk.
fn each_definition(
    sources: &[Renumbered<'_>],
    mut each: impl FnMut(&Segment, DefinitionRecord, u32) -> io::Result<()>,
) -> io::Result<()> {
    let key =
        |source: usize, place| sources.get(source).and_then(|source| Some(source.segment.definition(place)?.name_hash));
    merged(sources.len(), key, |_, same| {
        for (source, place) in same {
            let Some(source) = sources.get(*source) else { continue };
            let Some(definition) = source.segment.definition(*place) else { continue };
            if let Some(chunk) = source.chunk(definition.chunk) {
                each(source.segment, definition, chunk)?;
            }
        }
        Ok(())
    })
}
