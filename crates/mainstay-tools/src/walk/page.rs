//! Pages and their cursors. A cursor names the last item of the page before, so a tree that changes between two pages
//! neither repeats nor skips what stayed.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mainstay_core::{Error, Result};

/// Longer than the cursor of any path that can be opened.
const MAX_CURSOR_BYTES: usize = 16 * 1024;

/// Which listing a cursor belongs to: a cursor of one tool is not accepted by another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum CursorKind {
    List = b'l',
    Tree = b't',
    Glob = b'g',
    GlobByTime = b'm',
    Grep = b's',
}

/// Encodes a cursor. Its parts may contain any byte but NUL, which no file name contains.
pub(crate) fn encode(kind: CursorKind, parts: &[&[u8]]) -> String {
    let mut bytes = vec![kind as u8];
    bytes.extend(parts.join(&0));
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The line that tells clients which read only text how to get the next page.
pub(crate) fn next_page_hint(next: Option<&str>) -> String {
    next.map_or_else(String::new, |cursor| format!("[more results: pass cursor {cursor:?}]\n"))
}

/// The parts of a cursor, which must have exactly so many.
pub(crate) fn decode<const COUNT: usize>(kind: CursorKind, cursor: &str) -> Result<[Vec<u8>; COUNT]> {
    let parts = Some(cursor)
        // Before decoding: a cursor comes from outside and may have any length.
        .filter(|cursor| cursor.len() <= MAX_CURSOR_BYTES)
        .and_then(|cursor| URL_SAFE_NO_PAD.decode(cursor).ok())
        .and_then(|bytes| {
            let parts = bytes.strip_prefix(&[kind as u8])?.split(|byte| *byte == 0).map(<[u8]>::to_vec);
            parts.collect::<Vec<_>>().try_into().ok()
        });
    parts.ok_or_else(|| invalid_cursor(cursor))
}

/// A part of a cursor that is a number.
pub(crate) fn number<N: std::str::FromStr>(part: &[u8], cursor: &str) -> Result<N> {
    std::str::from_utf8(part).ok().and_then(|text| text.parse().ok()).ok_or_else(|| invalid_cursor(cursor))
}

fn invalid_cursor(cursor: &str) -> Error {
    let start: String = cursor.chars().take(80).collect();
    Error::field("cursor", format!("{start:?} is not a cursor of this tool; omit it to start from the beginning."))
}

/// How much fits on one page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageLimits {
    pub(crate) items: usize,
    pub(crate) bytes: usize,
}

impl PageLimits {
    /// For a walk through everything.
    pub(crate) const NONE: Self = Self { items: usize::MAX, bytes: usize::MAX };

    /// The size of the largest item: a page ends with the item that fills it.
    const SLACK: usize = 512 * 1024;

    /// Whether this is certainly more than one page.
    pub(crate) fn exceeded(self, items: usize, bytes: usize) -> bool {
        items > self.items || bytes > self.bytes.saturating_add(Self::SLACK)
    }

    /// Whether another item fits after these.
    pub(crate) fn has_room_after(self, items: usize, bytes: usize) -> bool {
        items < self.items && bytes < self.bytes
    }

    /// Cuts the items to one page. If there were more, returns the last item of the page, which the next one follows.
    pub(crate) fn truncate<T>(self, items: &mut Vec<T>, bytes_of: impl Fn(&T) -> usize) -> Option<&T> {
        let mut bytes = 0;
        let fitting = items
            .iter()
            .enumerate()
            .take_while(|(index, item)| {
                let fits = self.has_room_after(*index, bytes);
                bytes += bytes_of(item);
                fits
            })
            .count();
        let more = fitting < items.len();
        items.truncate(fitting);
        items.last().filter(|_| more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_decoded_as_it_was_encoded() {
        let cursor = encode(CursorKind::Grep, &[b"a/\xff b", b"12"]);
        let parts: [Vec<u8>; 2] = decode(CursorKind::Grep, &cursor).unwrap();
        assert_eq!(parts, [b"a/\xff b".to_vec(), b"12".to_vec()]);
        assert_eq!(number::<u64>(&parts[1], &cursor).unwrap(), 12);
    }

    #[test]
    fn a_cursor_of_another_tool_or_an_invalid_one_is_rejected() {
        let cursor = encode(CursorKind::Grep, &[b"a", b"1"]);
        let rejected = |error: &Error| assert_eq!(error.field_name().unwrap(), "cursor");
        rejected(&decode::<2>(CursorKind::List, &cursor).unwrap_err());
        for cursor in [cursor.as_str(), "", "€"] {
            rejected(&decode::<1>(CursorKind::Grep, cursor).unwrap_err());
        }
    }

    #[test]
    fn a_page_ends_with_the_item_that_fills_it() {
        let mut items = vec![4, 4, 4, 4];
        assert!(PageLimits { items: 10, bytes: 7 }.truncate(&mut items, |bytes| *bytes).is_some());
        assert_eq!(items.len(), 2);
        assert!(PageLimits { items: 2, bytes: 100 }.truncate(&mut items, |bytes| *bytes).is_none());
    }
}
