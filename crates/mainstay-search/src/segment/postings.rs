//! Lists of chunks, or of documents, as differences of variable length, each with the impact that a word has there.
//!
//! Ids ascend, and a difference below 128 takes one byte: most postings of frequent words take two bytes, not five.

/// One chunk, or one document, that has a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    /// Of the chunk or document, in this segment.
    pub id: u32,
    /// How much the word counts there, before it is known how rare it is.
    pub impact: u8,
}

/// Reads a list. It ends early where it is damaged.
#[derive(Debug, Clone)]
pub struct Postings<'a> {
    bytes: &'a [u8],
    last: u32,
    /// How many are left, at most.
    left: u32,
    /// Ids are lower than this; another one is damage.
    end: u32,
}

impl<'a> Postings<'a> {
    pub(super) fn new(bytes: &'a [u8], count: u32, end: u32) -> Self {
        Self { bytes, last: 0, left: count, end }
    }

    /// How many chunks or documents have the word.
    pub fn length(&self) -> u32 {
        self.left
    }
}

impl Iterator for Postings<'_> {
    type Item = Posting;

    #[inline]
    fn next(&mut self) -> Option<Posting> {
        self.left = self.left.checked_sub(1)?;
        let mut difference = 0_u32;
        let mut shift = 0;
        loop {
            let (byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            // `checked_shl` ends the list at a number of more than 32 bits, which only damage can produce.
            difference |= u32::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                break;
            }
            shift += 7;
        }
        let (impact, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        self.last = self.last.checked_add(difference)?;
        (self.last < self.end).then_some(Posting { id: self.last, impact: *impact })
    }
}

/// Appends a posting. `last` is the id before it, which is smaller, or 0 before the first.
pub(super) fn write_posting(to: &mut Vec<u8>, last: u32, posting: Posting) {
    let mut difference = posting.id - last;
    while difference >= 0x80 {
        to.push(u8::try_from(difference & 0x7f).unwrap_or(0) | 0x80);
        difference >>= 7;
    }
    to.push(u8::try_from(difference).unwrap_or(0));
    to.push(posting.impact);
}
