//! The last bytes of a stream, by their place since its beginning.

use std::collections::VecDeque;

use mainstay_sandbox::exec::complete_utf8_prefix;

#[derive(Debug)]
pub(crate) struct Ring {
    bytes: VecDeque<u8>,
    cap: usize,
    /// How many bytes there were before those that are kept.
    before: u64,
}

/// A part of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) bytes: Vec<u8>,
    /// How many bytes were asked for but are not kept any more.
    pub(crate) dropped: u64,
    /// Where to go on.
    pub(crate) next: u64,
}

impl Part {
    /// Without the beginning of a character whose end is not in it.
    pub(crate) fn whole(mut self) -> Self {
        let whole = complete_utf8_prefix(&self.bytes).len();
        self.next -= (self.bytes.len() - whole) as u64;
        self.bytes.truncate(whole);
        self
    }
}

impl Ring {
    pub(crate) fn new(cap: usize) -> Self {
        Self { bytes: VecDeque::new(), cap, before: 0 }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let surplus = self.bytes.len().saturating_sub(self.cap);
        self.bytes.drain(..surplus);
        self.before += surplus as u64;
    }

    pub(crate) fn end(&self) -> u64 {
        self.before + self.bytes.len() as u64
    }

    /// What there is from a place on; nothing if the place has not been reached.
    pub(crate) fn read(&self, from: u64, most: usize) -> Part {
        let dropped = self.before.saturating_sub(from);
        let start = from.max(self.before);
        let skipped = usize::try_from(start - self.before).unwrap_or(usize::MAX).min(self.bytes.len());
        let bytes: Vec<u8> = self.bytes.range(skipped..).take(most).copied().collect();
        Part { next: start + bytes.len() as u64, bytes, dropped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_dropped_is_counted_and_reading_goes_on_behind_it() {
        let mut ring = Ring::new(4);
        ring.push(b"abc");
        assert_eq!(ring.read(1, 10), Part { bytes: b"bc".to_vec(), dropped: 0, next: 3 });
        ring.push(b"defg");
        assert_eq!(ring.read(1, 2), Part { bytes: b"de".to_vec(), dropped: 2, next: 5 });
        assert_eq!(ring.read(7, 2), Part { bytes: Vec::new(), dropped: 0, next: 7 });
        assert_eq!(ring.end(), 7);
    }

    #[test]
    fn a_part_ends_with_a_whole_character() {
        let part = Part { bytes: b"a\xe2\x82".to_vec(), dropped: 3, next: 9 };
        assert_eq!(part.whole(), Part { bytes: b"a".to_vec(), dropped: 3, next: 7 });
        let lone = Part { bytes: b"\xc3".to_vec(), dropped: 0, next: 1 };
        assert_eq!(lone.whole(), Part { bytes: Vec::new(), dropped: 0, next: 0 });
    }

    #[test]
    fn a_push_larger_than_the_ring_keeps_its_end() {
        let mut ring = Ring::new(2);
        ring.push(b"abcdef");
        assert_eq!(ring.read(0, 10), Part { bytes: b"ef".to_vec(), dropped: 4, next: 6 });
    }
}
