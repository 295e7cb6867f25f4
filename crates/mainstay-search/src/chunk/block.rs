//! Rows and what they are about, made into chunks.

use std::ops::Range;

use super::lines::{Lines, MOST_BYTES};
use super::{Chunk, ChunkKind};

/// A signature is cut here: some have a page of generic bounds or parameters.
const LONGEST_SIGNATURE: u32 = 600;

/// What a chunk is about. Ranges are of the whole definition.
#[derive(Clone, Default)]
pub(super) struct Subject<'a> {
    pub(super) kind: Option<ChunkKind>,
    pub(super) name: &'a str,
    pub(super) qualifier: u16,
    pub(super) doc: Range<u32>,
    pub(super) signature: Range<u32>,
}

/// The chunks so far. Those of a document are in order and do not overlap.
pub(super) struct Writer<'a> {
    pub(super) lines: Lines<'a>,
    pub(super) chunks: Vec<Chunk>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(lines: Lines<'a>) -> Self {
        // Chunks have some 800 bytes on average; a wrong guess costs one more allocation.
        Self { lines, chunks: Vec::with_capacity(lines.source.len() / 800 + 1) }
    }

    /// Adds the rows from one up to another as a chunk, or as several where a single line is too long for one.
    pub(super) fn add(&mut self, first: u32, end: u32, part: u16, subject: &Subject<'_>) {
        let Some((first, end)) = self.lines.trim(first, end) else { return };
        if self.lines.bytes(first, end) <= MOST_BYTES {
            let bytes = self.lines.start(first)..self.lines.end(end - 1);
            self.push((first, end), bytes, part, subject);
            return;
        }
        let mut from = first;
        for row in first..end {
            let is_long = self.lines.bytes(row, row + 1) > MOST_BYTES;
            if is_long || self.lines.bytes(from, row + 1) > MOST_BYTES {
                self.add(from, row, part, subject);
                from = row;
            }
            if is_long {
                self.add_long_line(row, part, subject);
                from = row + 1;
            }
        }
        self.add(from, end, part, subject);
    }

    /// Adds the pieces of one line; of a minified file the first alone.
    fn add_long_line(&mut self, row: u32, part: u16, subject: &Subject<'_>) {
        let (mut start, end) = (self.lines.start(row), self.lines.end(row));
        while start < end {
            let most = u32::try_from(MOST_BYTES).unwrap_or(u32::MAX);
            let mut cut = start.saturating_add(most).min(end);
            // Not inside of a character.
            while cut < end && cut > start + 1 && self.lines.source[cut as usize] & 0xC0 == 0x80 {
                cut -= 1;
            }
            self.push((row, row + 1), start..cut, part, subject);
            // The rest of a generated line says nothing that a reader would look for.
            if self.lines.is_minified {
                return;
            }
            start = cut;
        }
    }

    fn push(&mut self, (first, end): (u32, u32), bytes: Range<u32>, part: u16, subject: &Subject<'_>) {
        let signature = &subject.signature;
        let signature = signature.start..signature.end.min(signature.start.saturating_add(LONGEST_SIGNATURE));
        // The signature of a later part lies before its bytes: all of such a part is body.
        let body = if signature.is_empty() { bytes.start } else { signature.end.clamp(bytes.start, bytes.end) };
        self.chunks.push(Chunk {
            kind: subject.kind.unwrap_or(ChunkKind::Block),
            part,
            name: subject.name.into(),
            qualifier: subject.qualifier,
            first_line: first + 1,
            last_line: end,
            doc: within(&subject.doc, &bytes),
            body: body..bytes.end,
            signature,
            bytes,
        });
    }

    /// Adds rows that say nothing by themselves to the last chunk. Whether there was room.
    pub(super) fn extend(&mut self, end: u32) -> bool {
        let end_byte = self.lines.end(end - 1);
        let Some(last) = self.chunks.last_mut() else { return false };
        let has_room = (end_byte - last.bytes.start) as usize <= MOST_BYTES;
        if has_room {
            (last.last_line, last.bytes.end, last.body.end) = (end, end_byte, end_byte);
        }
        has_room
    }
}

fn within(range: &Range<u32>, bytes: &Range<u32>) -> Range<u32> {
    let (start, end) = (range.start.max(bytes.start), range.end.min(bytes.end));
    if start < end { start..end } else { 0..0 }
}
