//! The last bytes of a session's output, addressed by their position since its beginning.

use std::collections::VecDeque;

use mainstay_sandbox::exec::complete_utf8_prefix;

#[derive(Debug)]
pub(crate) struct OutputBuffer {
    bytes: VecDeque<u8>,
    capacity: usize,
    /// How many bytes came before those that are kept.
    before: u64,
}

/// A part of the output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OutputPart {
    pub(crate) bytes: Vec<u8>,
    /// How many of the requested bytes are not kept any more.
    pub(crate) dropped: u64,
    /// The position to continue from.
    pub(crate) next: u64,
}

impl OutputPart {
    /// Leaves out the beginning of a UTF-8 character at the end, whose other bytes may still come.
    pub(crate) fn without_partial_character(mut self) -> Self {
        let whole = complete_utf8_prefix(&self.bytes).len();
        self.next -= (self.bytes.len() - whole) as u64;
        self.bytes.truncate(whole);
        self
    }
}

impl OutputBuffer {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { bytes: VecDeque::new(), capacity, before: 0 }
    }

    /// Appends bytes; the oldest are dropped if there are too many.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let surplus = self.bytes.len().saturating_sub(self.capacity);
        self.bytes.drain(..surplus);
        self.before += surplus as u64;
    }

    /// The position after the last byte.
    pub(crate) fn end(&self) -> u64 {
        self.before + self.bytes.len() as u64
    }

    /// At most `most` bytes from a position on; nothing if the position has not been reached.
    pub(crate) fn read(&self, from: u64, most: usize) -> OutputPart {
        let dropped = self.before.saturating_sub(from);
        let start = from.max(self.before);
        let skipped = usize::try_from(start - self.before).unwrap_or(usize::MAX).min(self.bytes.len());
        let bytes: Vec<u8> = self.bytes.range(skipped..).take(most).copied().collect();
        OutputPart { next: start + bytes.len() as u64, bytes, dropped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_output_is_counted_and_reading_continues_after_it() {
        let mut buffer = OutputBuffer::new(4);
        buffer.push(b"abc");
        assert_eq!(buffer.read(1, 10), OutputPart { bytes: b"bc".to_vec(), dropped: 0, next: 3 });
        buffer.push(b"defg");
        assert_eq!(buffer.read(1, 2), OutputPart { bytes: b"de".to_vec(), dropped: 2, next: 5 });
        assert_eq!(buffer.read(7, 2), OutputPart { bytes: Vec::new(), dropped: 0, next: 7 });
        assert_eq!(buffer.end(), 7);
    }

    #[test]
    fn a_part_ends_with_a_whole_character() {
        let part = OutputPart { bytes: b"a\xe2\x82".to_vec(), dropped: 3, next: 9 };
        assert_eq!(part.without_partial_character(), OutputPart { bytes: b"a".to_vec(), dropped: 3, next: 7 });
        let lone = OutputPart { bytes: b"\xc3".to_vec(), dropped: 0, next: 1 };
        assert_eq!(lone.without_partial_character(), OutputPart { bytes: Vec::new(), dropped: 0, next: 0 });
    }

    #[test]
    fn a_write_larger_than_the_buffer_keeps_its_end() {
        let mut buffer = OutputBuffer::new(2);
        buffer.push(b"abcdef");
        assert_eq!(buffer.read(0, 10), OutputPart { bytes: b"ef".to_vec(), dropped: 4, next: 6 });
    }
}
