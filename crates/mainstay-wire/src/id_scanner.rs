//! Finds the id of a message that is too long to be kept, while its bytes pass by.
//!
//! The id may stand before or after params of any length, so the whole message is looked at, a part at a time, and nothing
//! of it is kept but the id. Only the structure is followed: what is between the brackets need not be valid.

use serde_json::value::RawValue;

use crate::id::{Id, MAX_ID, Numbers};

/// The longest text of an id: every character of it can be an escape of six bytes.
const MAX_TEXT: usize = 6 * MAX_ID + 2;

/// Reads a message in parts.
#[derive(Debug, Default)]
pub struct IdScanner {
    /// Brackets that are open.
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// What is being read at the outermost level.
    part: Part,
    /// The text of the present name or of the id, up to its limit.
    text: Vec<u8>,
    found: Option<Vec<u8>>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Part {
    #[default]
    Name,
    /// The value of the member `id`.
    Id,
    /// The value of another member.
    Other,
}

impl IdScanner {
    /// Looks at the next bytes of the message.
    pub fn read(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if self.in_string {
                self.read_in_string(byte);
            } else {
                self.read_outside(byte);
            }
        }
    }

    /// The id, if the message has one at its outermost level that could be an id. Of several the last counts, as in a
    /// message that is parsed.
    pub fn id(&self) -> Option<Id> {
        let text = std::str::from_utf8(self.found.as_deref()?).ok()?;
        let raw: &RawValue = serde_json::from_str(text).ok()?;
        Id::read(raw, Numbers::Any).ok()
    }

    fn read_in_string(&mut self, byte: u8) {
        self.keep(byte);
        if self.escaped {
            self.escaped = false;
        } else if byte == b'\\' {
            self.escaped = true;
        } else if byte == b'"' {
            self.in_string = false;
        }
    }

    fn read_outside(&mut self, byte: u8) {
        match byte {
            b'"' => {
                self.in_string = true;
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.keep(byte);
                self.depth += 1;
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_value();
                }
                self.depth = self.depth.saturating_sub(1);
                self.keep(byte);
            }
            b':' if self.depth == 1 && self.part == Part::Name => {
                self.part = if self.text == br#""id""# { Part::Id } else { Part::Other };
                self.text.clear();
            }
            b',' if self.depth == 1 => self.end_value(),
            _ => self.keep(byte),
        }
    }

    /// Values inside of others are not kept: an id has no members.
    fn keep(&mut self, byte: u8) {
        let wanted = self.depth == 1 && self.part != Part::Other && self.text.len() < MAX_TEXT;
        if wanted && (self.in_string || !byte.is_ascii_whitespace()) {
            self.text.push(byte);
        }
    }

    fn end_value(&mut self) {
        let text = std::mem::take(&mut self.text);
        if self.part == Part::Id {
            self.found = Some(text);
        }
        self.part = Part::Name;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scanned in parts of this length.
    fn scan(text: &str, length: usize) -> Option<String> {
        let mut scanner = IdScanner::default();
        text.as_bytes().chunks(length).for_each(|part| scanner.read(part));
        scanner.id().map(|id| id.to_string())
    }

    #[test]
    fn the_id_is_found_wherever_it_stands_however_the_message_is_cut() {
        for (text, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"x":[1,{"id":8}]}}"#, Some("7")),
            (r#"{"params":{"id":8,"x":"}\"],{"},"method":"m", "id" : "a,\"b" }"#, Some(r#""a,\"b""#)),
            (r#"{"a":"id","id":-1.5e3}"#, Some("-1.5e3")),
            (r#"{"id":1,"id":2}"#, Some("2")),
            (r#"{"id":"a b"}"#, Some(r#""a b""#)),
            (r#"{"id":3,"params":{"text":"not closed"#, Some("3")),
            (r#"{"id":"ünï","x":"#, Some("\"ünï\"")),
            (r#"{"id":null}"#, None),
            (r#"{"id":true}"#, None),
            (r#"{"id":{"a":1}}"#, None),
            (r#"{"id":[1]}"#, None),
            (r#"{"method":"m","params":{"id":1}}"#, None),
            (r#"{"id":"not closed"#, None),
            (r#"[{"id":1}]"#, None),
            (r#""id":1"#, None),
            ("hello", None),
            ("", None),
            ("}}}]]{{{", None),
        ] {
            for length in [1, 2, 3, 7, 1000] {
                assert_eq!(scan(text, length).as_deref(), id, "{text} in parts of {length}");
            }
        }
    }

    #[test]
    fn an_id_that_is_too_long_is_none_and_takes_no_memory() {
        let text = |length: usize| format!(r#"{{"id":"{}"}}"#, "x".repeat(length));
        assert!(scan(&text(MAX_ID), 64).is_some());
        assert_eq!(scan(&text(MAX_ID + 1), 64), None);
        let mut scanner = IdScanner::default();
        scanner.read(text(100_000).as_bytes());
        assert!(scanner.found.as_ref().unwrap().capacity() <= 2 * MAX_TEXT);
        let escaped = format!(r#"{{"id":"{}"}}"#, r"\u0041".repeat(MAX_ID));
        assert!(scan(&escaped, 64).is_some());
    }
}
