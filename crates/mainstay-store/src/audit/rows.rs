//! The canonical text of an audit row: what is hashed is what is stored.
//!
//! It is a JSON array, compact, with the values in the order of the fields of [`AuditEntry`]; a page stores it together
//! with its hash. JSON has no raw line break in it and says where each text ends, so no two rows have the same text,
//! and a page can be split into rows without parsing it. An array instead of an object, because the names would make
//! each row half as long again; the view `audit` of the migrations has them once.

use serde_json::{from_str, to_writer};

use super::index::Mark;
use crate::{AuditEntry, Result, StoreError};

/// Longer texts are cut, in bytes: a caller picks some of them, and must not fill the disk with its own name.
const LONGEST: usize = 8 * 1024;

/// A text as it is stored. Whoever searches for one has to cut it in the same way.
pub(super) fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST)]
}

/// Appends the text of a row.
fn encode(entry: &AuditEntry, into: &mut Vec<u8>) -> Result<()> {
    let values = (
        entry.at_ms,
        entry.phase,
        cut(&entry.request_id),
        cut(&entry.principal),
        entry.session.as_deref().map(cut),
        entry.ip.as_deref().map(cut),
        cut(&entry.target),
        cut(&entry.effect),
        cut(&entry.args_digest),
        cut(&entry.outcome),
        entry.duration_us,
    );
    to_writer(into, &values).map_err(StoreError::failed)
}

/// Reads the text of a row; `None` if it is damaged.
pub(super) fn decode(text: &str) -> Option<AuditEntry> {
    // A struct with derived Deserialize also reads an array, in the order of its fields.
    from_str(text).ok()
}

/// Several rows on their way to a page: in their canonical text, one after the other in one buffer. The caller's thread
/// encodes, so that what goes to the writer is a few bytes and not a dozen texts that another thread has to free one by one.
#[derive(Default)]
pub(crate) struct EncodedRows {
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

/// How long a row is, and what it is indexed by.
pub(super) struct Span {
    length: usize,
    pub(super) principal: Mark,
    pub(super) session: Option<Mark>,
}

impl EncodedRows {
    pub(crate) fn push(&mut self, entry: &AuditEntry) -> Result<()> {
        let start = self.bytes.len();
        encode(entry, &mut self.bytes).inspect_err(|_| self.bytes.truncate(start))?;
        self.spans.push(Span {
            length: self.bytes.len() - start,
            principal: Mark::principal(cut(&entry.principal)),
            session: entry.session.as_deref().map(cut).map(Mark::session),
        });
        Ok(())
    }

    pub(crate) fn append(&mut self, mut other: Self) {
        if self.is_empty() {
            *self = other;
        } else {
            self.bytes.append(&mut other.bytes);
            self.spans.append(&mut other.spans);
        }
    }

    pub(crate) const fn len(&self) -> usize {
        self.spans.len()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Removes the first `count`.
    pub(crate) fn skip(&mut self, count: usize) {
        let bytes: usize = self.spans.drain(..count.min(self.spans.len())).map(|span| span.length).sum();
        self.bytes.drain(..bytes);
    }

    /// Removes everything after the first `count`.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.spans.truncate(count);
        self.bytes.truncate(self.spans.iter().map(|span| span.length).sum());
    }

    /// The text of each row, and what it is indexed by.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &Span)> {
        let mut rest = self.bytes.as_slice();
        self.spans.iter().map(move |span| {
            let (canonical, after) = rest.split_at(span.length);
            rest = after;
            (canonical, span)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Phase;

    fn entry() -> AuditEntry {
        AuditEntry {
            at_ms: -1,
            phase: Phase::Began,
            request_id: "r".into(),
            principal: "p\0é".into(),
            session: None,
            ip: Some(String::new()),
            target: "t".into(),
            effect: "reads".into(),
            args_digest: String::new(),
            outcome: "ok".into(),
            duration_us: i64::MAX,
        }
    }

    fn text(entry: &AuditEntry) -> String {
        let mut bytes = Vec::new();
        encode(entry, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn an_encoded_row_is_decoded_to_the_same_entry() {
        assert_eq!(decode(&text(&entry())), Some(entry()));
        assert_eq!(text(&entry()), r#"[-1,"began","r","p\u0000é",null,"","t","reads","","ok",9223372036854775807]"#);
    }

    #[test]
    fn an_absent_text_is_not_an_empty_one() {
        assert_ne!(text(&AuditEntry { session: Some("".into()), ..entry() }), text(&entry()));
    }

    #[test]
    fn a_line_break_in_a_text_is_none_in_the_row() {
        assert!(!text(&AuditEntry { target: "a\nb\r\u{2028}".into(), ..entry() }).contains(['\n', '\r']));
    }

    #[test]
    fn part_of_a_row_is_not_decoded() {
        let text = text(&entry());
        let ends = (0..text.len()).filter(|end| text.is_char_boundary(*end));
        assert!(ends.into_iter().all(|end| decode(&text[..end]).is_none()));
        assert_eq!(decode(&format!("{text}x")), None);
    }

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        let long =
            AuditEntry {
                target: ("é".repeat(100_000) + "x").into(), request_id: "xé".repeat(9_999).into(), ..entry()
            };
        let decoded = decode(&text(&long)).unwrap();
        assert_eq!(decoded.target.len(), LONGEST);
        assert_eq!(&*decoded.request_id, cut(&"xé".repeat(9_999)));
    }
}
