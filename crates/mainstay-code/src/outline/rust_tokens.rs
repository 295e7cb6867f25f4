//! The tokens of Rust, as far as an outline tells them apart.
//!
//! Strings, characters and comments have to be read exactly, since a bracket in one of them would shift the depth of
//! all that follows. Numbers and operators need not be: a token is only where the next one begins.

use std::ops::Range;

use super::{
    AFTER_COMMENT, LONGEST_REFERENCE, MOST_REFERENCES, NO_CUT, Outline, Reference, SHORTEST_REFERENCE, line_starts,
    offset,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name or a keyword.
    Word,
    Literal,
    Lifetime,
    /// A single sign. Signs of several characters are several tokens.
    Sign(u8),
    LineComment,
    BlockComment,
    End,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) row: usize,
}

impl Token {
    pub(super) fn is(self, sign: u8) -> bool {
        self.kind == Kind::Sign(sign)
    }

    pub(super) fn is_comment(self) -> bool {
        matches!(self.kind, Kind::LineComment | Kind::BlockComment)
    }

    pub(super) fn range(self) -> Range<u32> {
        offset(self.start)..offset(self.end)
    }
}

/// Reads tokens, and notes what an outline wants of each: the names and the levels of lines.
pub(super) struct Tokens<'a> {
    pub(super) source: &'a [u8],
    pub(super) outline: Outline,
    position: usize,
    row: usize,
    /// How many brackets are open.
    pub(super) depth: usize,
    /// Whether what comes next begins something: a statement, an item, a field.
    is_fresh: bool,
    /// The row after a comment that has its line for itself.
    after_comment: usize,
    last_row: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(source: &'a [u8]) -> Self {
        let line_starts = line_starts(source);
        let levels = vec![NO_CUT; line_starts.len()];
        let references = Vec::with_capacity(source.len() / 16);
        Self {
            source,
            outline: Outline { line_starts, levels, references, ..Outline::default() },
            position: 0,
            row: 0,
            depth: 0,
            is_fresh: true,
            after_comment: usize::MAX,
            last_row: usize::MAX,
        }
    }

    pub(super) fn text(&self, token: Token) -> &'a [u8] {
        self.source.get(token.start..token.end).unwrap_or_default()
    }

    /// The row of an offset at or after the last token.
    pub(super) fn row_of(&mut self, position: usize) -> usize {
        let starts = &self.outline.line_starts;
        while starts.get(self.row + 1).is_some_and(|start| *start as usize <= position) {
            self.row += 1;
        }
        self.row
    }

    /// The next token that is no comment.
    pub(super) fn code(&mut self) -> Token {
        loop {
            let token = self.next();
            if !token.is_comment() {
                return token;
            }
        }
    }

    /// The next token without reading it, comments skipped.
    pub(super) fn peek(&self) -> Token {
        let mut position = self.position;
        loop {
            let token = self.scan(position);
            if !token.is_comment() {
                return token;
            }
            position = token.end;
        }
    }

    /// Whether items follow, in the braces of a macro.
    pub(super) fn begins_items(&self) -> bool {
        let (mut position, mut depth) = (self.position, 0_usize);
        loop {
            let token = self.scan(position);
            position = token.end;
            match token.kind {
                Kind::End => return false,
                Kind::Sign(b'#') if depth == 0 => {}
                Kind::Sign(b'[') => depth += 1,
                Kind::Sign(b']') => depth = depth.saturating_sub(1),
                _ if depth > 0 || token.is_comment() => {}
                Kind::Word => {
                    let word = self.text(token);
                    // `cfg_a! { cfg_b! { … } }`
                    return begins_item(word) || (self.scan(position).is(b'!') && !is_keyword(word));
                }
                Kind::Sign(_) | Kind::Literal | Kind::Lifetime | Kind::LineComment | Kind::BlockComment => {
                    return false;
                }
            }
        }
    }

    pub(super) fn next(&mut self) -> Token {
        let mut token = self.scan(self.position);
        self.position = token.end;
        token.row = self.row_of(token.start);
        self.level(token);
        match token.kind {
            Kind::Sign(b'(' | b'[' | b'{') => self.depth += 1,
            Kind::Sign(b')' | b']' | b'}') => self.depth = self.depth.saturating_sub(1),
            Kind::Word => self.reference(token),
            Kind::Sign(_) | Kind::Literal | Kind::Lifetime | Kind::LineComment | Kind::BlockComment | Kind::End => {}
        }
        if !token.is_comment() {
            self.is_fresh = matches!(token.kind, Kind::Sign(b';' | b'{' | b'}' | b',' | b'('));
        }
        token
    }

    fn level(&mut self, token: Token) {
        if token.row == self.last_row || token.kind == Kind::End {
            return;
        }
        self.last_row = token.row;
        let is_closing = matches!(token.kind, Kind::Sign(b')' | b']' | b'}'));
        if let Some(level) = self.outline.levels.get_mut(token.row).filter(|_| !is_closing) {
            // Twice the depth leaves room for one between: a line that continues something is worse to cut before than
            // a new one beside it, and better than one that is nested deeper.
            let nested = u16::try_from(self.depth * 2).unwrap_or(AFTER_COMMENT).min(AFTER_COMMENT);
            let penalty = if token.row == self.after_comment { AFTER_COMMENT } else { 0 };
            *level = nested + u16::from(!self.is_fresh) + penalty;
        }
        if token.is_comment() {
            self.after_comment = self.row_of(token.end.saturating_sub(1)) + 1;
            // A comment of pages may be cut, but better not.
            let inside = token.row + 1..self.after_comment;
            if let Some(levels) = self.outline.levels.get_mut(inside) {
                levels.fill(AFTER_COMMENT);
            }
        }
    }

    fn reference(&mut self, token: Token) {
        let length = token.end - token.start;
        let is_reference = (SHORTEST_REFERENCE..=LONGEST_REFERENCE).contains(&length)
            && !is_keyword(self.text(token))
            && self.outline.references.len() < MOST_REFERENCES;
        if is_reference {
            self.outline.references.push(Reference {
                start: offset(token.start),
                length: u16::try_from(length).unwrap_or(u16::MAX),
                row: offset(token.row),
            });
        }
    }

    fn byte(&self, position: usize) -> u8 {
        self.source.get(position).copied().unwrap_or(0)
    }

    /// The token at or after a position. Its row is not known yet.
    fn scan(&self, mut position: usize) -> Token {
        while self.byte(position).is_ascii_whitespace() {
            position += 1;
        }
        let token = |kind, end: usize| Token { kind, start: position, end: end.min(self.source.len()), row: 0 };
        let Some(first) = self.source.get(position).copied() else { return token(Kind::End, position) };
        match first {
            b'/' if self.byte(position + 1) == b'/' => token(Kind::LineComment, self.line_end(position)),
            b'/' if self.byte(position + 1) == b'*' => token(Kind::BlockComment, self.comment_end(position)),
            b'"' => token(Kind::Literal, self.string_end(position + 1)),
            b'\'' => self.quoted(position),
            b'0'..=b'9' => token(Kind::Literal, self.number_end(position)),
            // A raw name is no keyword, whatever it reads like: `r#fn`.
            b'r' if self.byte(position + 1) == b'#' && is_word(self.byte(position + 2)) => {
                token(Kind::Word, self.word_end(position + 2))
            }
            byte if is_word(byte) => match self.prefixed(position) {
                Some(end) => token(Kind::Literal, end),
                None => token(Kind::Word, self.word_end(position)),
            },
            byte => token(Kind::Sign(byte), position + 1),
        }
    }

    fn line_end(&self, position: usize) -> usize {
        let rest = &self.source[position..];
        let end = memchr::memchr(b'\n', rest).map_or(self.source.len(), |end| position + end);
        if end > position && self.byte(end - 1) == b'\r' { end - 1 } else { end }
    }

    /// Comments nest.
    fn comment_end(&self, position: usize) -> usize {
        let (mut end, mut depth) = (position + 2, 1);
        while let Some(found) = memchr::memchr2(b'*', b'/', self.source.get(end..).unwrap_or_default()) {
            end += found;
            match (self.byte(end), self.byte(end + 1)) {
                (b'*', b'/') => (depth, end) = (depth - 1, end + 2),
                (b'/', b'*') => (depth, end) = (depth + 1, end + 2),
                _ => end += 1,
            }
            if depth == 0 {
                return end;
            }
        }
        self.source.len()
    }

    fn string_end(&self, mut position: usize) -> usize {
        while let Some(found) = memchr::memchr2(b'"', b'\\', self.source.get(position..).unwrap_or_default()) {
            position += found;
            if self.byte(position) == b'"' {
                return position + 1;
            }
            position += 2;
        }
        self.source.len()
    }

    /// `'a'` is a character, `'a` a lifetime.
    fn quoted(&self, position: usize) -> Token {
        let token = |kind, end: usize| Token { kind, start: position, end: end.min(self.source.len()), row: 0 };
        let first = self.byte(position + 1);
        if first == b'\\' {
            // From behind the escaped character, for `'\''`. The longest escape is `'\u{10FFFF}'`.
            let rest = self.source.get(position + 3..).unwrap_or_default();
            let end = memchr::memchr(b'\'', rest.get(..12).unwrap_or(rest)).map_or(2, |end| end + 4);
            return token(Kind::Literal, position + end);
        }
        let width = 1 + (1..4).take_while(|next| self.byte(position + 1 + next) & 0xC0 == 0x80).count();
        if first != b'\'' && self.byte(position + 1 + width) == b'\'' {
            return token(Kind::Literal, position + width + 2);
        }
        token(Kind::Lifetime, self.word_end(position + 1))
    }

    fn word_end(&self, position: usize) -> usize {
        let rest = self.source.get(position..).unwrap_or_default();
        position + rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len())
    }

    fn number_end(&self, position: usize) -> usize {
        let end = self.word_end(position);
        let is_fraction = self.byte(end) == b'.' && self.byte(end + 1).is_ascii_digit();
        if is_fraction { self.word_end(end + 1) } else { end }
    }

    /// The end of a string with a prefix (`r#""#`, `b""`, `c""`).
    fn prefixed(&self, position: usize) -> Option<usize> {
        let rest = &self.source[position..];
        let letters = rest.iter().take(3).take_while(|byte| matches!(byte, b'r' | b'b' | b'c')).count();
        if letters == 0 || letters == 3 {
            return None;
        }
        let is_raw = rest[..letters].contains(&b'r');
        let hashes = if is_raw { rest[letters..].iter().take_while(|byte| **byte == b'#').count() } else { 0 };
        match rest.get(letters + hashes) {
            Some(b'"') if is_raw => Some(self.raw_end(position + letters + hashes + 1, hashes)),
            Some(b'"') => Some(self.string_end(position + letters + 1)),
            Some(b'\'') if letters == 1 && rest[0] == b'b' => Some(self.quoted(position + 1).end),
            _ => None,
        }
    }

    fn raw_end(&self, mut position: usize, hashes: usize) -> usize {
        while let Some(found) = memchr::memchr(b'"', self.source.get(position..).unwrap_or_default()) {
            position += found + 1;
            if (0..hashes).all(|hash| self.byte(position + hash) == b'#') {
                return position + hashes;
            }
        }
        self.source.len()
    }
}

/// Names may have any letters. Bytes above ASCII are taken for letters, which saves decoding them.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[rustfmt::skip]
pub(super) fn is_keyword(word: &[u8]) -> bool {
    word.len() <= 8 && matches!(word,
        b"as" | b"async" | b"await" | b"break" | b"const" | b"continue" | b"crate" | b"dyn" | b"else" | b"enum" | b"extern"
        | b"false" | b"fn" | b"for" | b"if" | b"impl" | b"in" | b"let" | b"loop" | b"match" | b"mod" | b"move" | b"mut"
        | b"pub" | b"ref" | b"return" | b"self" | b"Self" | b"static" | b"struct" | b"super" | b"trait" | b"true" | b"type"
        | b"unsafe" | b"use" | b"where" | b"while")
}

fn begins_item(word: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[
        b"pub",
        b"fn",
        b"struct",
        b"enum",
        b"union",
        b"trait",
        b"impl",
        b"mod",
        b"use",
        b"type",
        b"const",
        b"static",
        b"unsafe",
        b"async",
        b"extern",
        b"macro_rules",
    ];
    WORDS.contains(&word)
}
