//! Pages. A cursor names the last thing that was seen, so a tree that changes between two pages neither repeats nor
//! skips what stayed.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mainstay_core::{Error, Result};

/// Longer than any path that can be reached.
const LONGEST: usize = 16 * 1024;

/// What a cursor is about: one tool's is no other tool's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Of {
    List = b'l',
    Tree = b't',
    Glob = b'g',
    GlobByTime = b'm',
    Grep = b's',
}

/// Parts may hold any byte but NUL, which no name holds.
pub(crate) fn encode(of: Of, parts: &[&[u8]]) -> String {
    let mut bytes = vec![of as u8];
    bytes.extend(parts.join(&0));
    URL_SAFE_NO_PAD.encode(bytes)
}

/// How whoever reads only text learns that there is another page.
pub(crate) fn told(next: Option<&str>) -> String {
    next.map_or_else(String::new, |cursor| format!("[there is more: give cursor {cursor:?}]\n"))
}

/// The parts of a cursor; exactly `count` of them.
pub(crate) fn decode(of: Of, cursor: &str, count: usize) -> Result<Vec<Vec<u8>>> {
    let parts = Some(cursor)
        .filter(|cursor| cursor.len() <= LONGEST)
        .and_then(|cursor| URL_SAFE_NO_PAD.decode(cursor).ok())
        .and_then(|bytes| {
            bytes.strip_prefix(&[of as u8]).map(|rest| rest.split(|b| *b == 0).map(<[u8]>::to_vec).collect())
        })
        .filter(|parts: &Vec<Vec<u8>>| parts.len() == count);
    parts.ok_or_else(|| wrong(cursor))
}

/// A number in a cursor.
pub(crate) fn number<N: std::str::FromStr>(part: &[u8], cursor: &str) -> Result<N> {
    std::str::from_utf8(part).ok().and_then(|text| text.parse().ok()).ok_or_else(|| wrong(cursor))
}

fn wrong(cursor: &str) -> Error {
    let start: String = cursor.chars().take(80).collect();
    Error::field("cursor", format!("{start:?} is not a cursor of this tool; leave it out to start from the beginning."))
}

/// How much goes on one page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) items: usize,
    pub(crate) bytes: usize,
}

impl Size {
    /// What one item may add: a page ends after the item with which it is full.
    const SLACK: usize = 512 * 1024;

    /// Whether there is certainly more than one page holds.
    pub(crate) fn exceeded(self, items: usize, bytes: usize) -> bool {
        items > self.items || bytes > self.bytes.saturating_add(Self::SLACK)
    }

    /// Whether another item fits.
    pub(crate) fn takes(self, items: usize, bytes: usize) -> bool {
        items < self.items && bytes < self.bytes
    }

    /// Leaves what fits; whether anything was taken away.
    pub(crate) fn cut<T>(self, items: &mut Vec<T>, bytes_of: impl Fn(&T) -> usize) -> bool {
        let mut bytes = 0;
        let fitting = items
            .iter()
            .enumerate()
            .take_while(|(index, item)| {
                let fits = self.takes(*index, bytes);
                bytes += bytes_of(item);
                fits
            })
            .count();
        let more = fitting < items.len();
        items.truncate(fitting);
        more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_as_it_was() {
        let cursor = encode(Of::Grep, &[b"a/\xff b", b"12"]);
        let parts = decode(Of::Grep, &cursor, 2).unwrap();
        assert_eq!(parts, [b"a/\xff b".to_vec(), b"12".to_vec()]);
        assert_eq!(number::<u64>(&parts[1], &cursor).unwrap(), 12);
    }

    #[test]
    fn a_cursor_of_another_tool_or_of_nobody_is_refused() {
        let cursor = encode(Of::Grep, &[b"a", b"1"]);
        for (of, cursor, count) in
            [(Of::List, cursor.as_str(), 2), (Of::Grep, cursor.as_str(), 1), (Of::Grep, "", 1), (Of::Grep, "€", 1)]
        {
            assert_eq!(decode(of, cursor, count).unwrap_err().field_name().unwrap(), "cursor");
        }
    }

    #[test]
    fn a_page_ends_with_the_item_that_fills_it() {
        let mut items = vec![4, 4, 4, 4];
        assert!(Size { items: 10, bytes: 7 }.cut(&mut items, |bytes| *bytes));
        assert_eq!(items.len(), 2);
        assert!(!Size { items: 2, bytes: 100 }.cut(&mut items, |bytes| *bytes));
    }
}
