//! The canonical bytes of one audit entry: what is hashed is what is stored.
//!
//! A version, the phase, two numbers, then the texts in a fixed order, each after its length: no two entries have the
//! same bytes, and the bytes say where they end.

use crate::{AuditEntry, Phase};

const VERSION: u8 = 1;

/// What stands in place of the length of a text that is not there.
const ABSENT: u16 = u16::MAX;

/// Longer texts are cut: a caller picks some of them, and must not fill the disk with its own name.
const LONGEST: usize = 8 * 1024;

pub(super) fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST)]
}

pub(super) fn encode(entry: &AuditEntry, into: &mut Vec<u8>) {
    let phase = match entry.phase {
        Phase::Began => 0,
        Phase::Ended => 1,
    };
    into.extend_from_slice(&[VERSION, phase]);
    into.extend_from_slice(&entry.at_ms.to_be_bytes());
    into.extend_from_slice(&entry.duration_us.to_be_bytes());
    for text in [
        Some(&entry.request_id),
        Some(&entry.principal),
        entry.session.as_ref(),
        entry.ip.as_ref(),
        Some(&entry.target),
        Some(&entry.effect),
        Some(&entry.args_digest),
        Some(&entry.outcome),
    ] {
        put(text.map(String::as_str), into);
    }
}

fn put(text: Option<&str>, into: &mut Vec<u8>) {
    let text = text.map(cut);
    // A cut text is shorter than ABSENT.
    let length = text.and_then(|text| u16::try_from(text.len()).ok()).unwrap_or(ABSENT);
    into.extend_from_slice(&length.to_be_bytes());
    into.extend_from_slice(text.unwrap_or_default().as_bytes());
}

/// An entry still lying in the page it was read from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stored<'a> {
    phase: Phase,
    at_ms: i64,
    duration_us: i64,
    request_id: &'a str,
    pub(super) principal: &'a str,
    pub(super) session: Option<&'a str>,
    ip: Option<&'a str>,
    target: &'a str,
    effect: &'a str,
    args_digest: &'a str,
    outcome: &'a str,
}

impl<'a> Stored<'a> {
    /// The entry at the beginning of `bytes` and what follows it; `None` if there is none.
    pub(super) fn decode(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let mut rest = bytes;
        let [VERSION, phase] = take(&mut rest)? else { return None };
        let phase = match phase {
            0 => Phase::Began,
            1 => Phase::Ended,
            _ => return None,
        };
        let stored = Self {
            phase,
            at_ms: i64::from_be_bytes(take(&mut rest)?),
            duration_us: i64::from_be_bytes(take(&mut rest)?),
            request_id: text(&mut rest)??,
            principal: text(&mut rest)??,
            session: text(&mut rest)?,
            ip: text(&mut rest)?,
            target: text(&mut rest)??,
            effect: text(&mut rest)??,
            args_digest: text(&mut rest)??,
            outcome: text(&mut rest)??,
        };
        Some((stored, rest))
    }

    pub(super) fn to_entry(self) -> AuditEntry {
        AuditEntry {
            at_ms: self.at_ms,
            phase: self.phase,
            request_id: self.request_id.to_owned(),
            principal: self.principal.to_owned(),
            session: self.session.map(str::to_owned),
            ip: self.ip.map(str::to_owned),
            target: self.target.to_owned(),
            effect: self.effect.to_owned(),
            args_digest: self.args_digest.to_owned(),
            outcome: self.outcome.to_owned(),
            duration_us: self.duration_us,
        }
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*taken)
}

/// The outer `None` is damage, the inner one an absent text.
#[expect(clippy::option_option, reason = "damage and absence are two things, and `?` tells them apart")]
fn text<'a>(rest: &mut &'a [u8]) -> Option<Option<&'a str>> {
    let length = u16::from_be_bytes(take(rest)?);
    if length == ABSENT {
        return Some(None);
    }
    let (taken, after) = rest.split_at_checked(usize::from(length))?;
    *rest = after;
    std::str::from_utf8(taken).ok().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

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

    fn bytes(entry: &AuditEntry) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(entry, &mut bytes);
        bytes
    }

    #[test]
    fn what_is_encoded_comes_back_with_what_follows_it() {
        let mut encoded = bytes(&entry());
        encoded.extend_from_slice(b"after");
        let (stored, rest) = Stored::decode(&encoded).unwrap();
        assert_eq!(stored.to_entry(), entry());
        assert_eq!(rest, b"after");
    }

    #[test]
    fn an_absent_text_is_not_an_empty_one() {
        assert_ne!(bytes(&AuditEntry { session: Some(String::new()), ..entry() }), bytes(&entry()));
    }

    #[test]
    fn a_piece_of_an_entry_is_no_entry() {
        let encoded = bytes(&entry());
        assert!((0..encoded.len()).all(|end| Stored::decode(&encoded[..end]).is_none()));
    }

    #[test]
    fn a_giant_text_is_cut_at_a_character() {
        let encoded =
            bytes(&AuditEntry { target: "é".repeat(100_000) + "x", request_id: "xé".repeat(9_999), ..entry() });
        let stored = Stored::decode(&encoded).unwrap().0;
        assert_eq!(stored.target.len(), LONGEST);
        assert_eq!(stored.request_id, cut(&"xé".repeat(9_999)));
    }
}
