//! Rust's tokens, read one at a time.
//!
//! What is unusual ends the reading ([`Unusual`]): the file is then read by the grammar, which decides what is an error.

use super::super::Unusual;
use super::super::lines::LineKinds;
use super::words::{self, Token};

const OTHER: u8 = 0;
const SPACE: u8 = 1;
const BREAK: u8 = 2;
const WORD: u8 = 3;
const DIGIT: u8 = 4;

/// What a token that begins with a byte can be.
const CLASSES: [u8; 256] = {
    let mut classes = [OTHER; 256];
    let mut byte: u8 = 0;
    while byte < 0x80 {
        classes[byte as usize] = match byte {
            b' ' | b'\t' | b'\r' | 0x0b | 0x0c => SPACE,
            b'\n' => BREAK,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => WORD,
            b'0'..=b'9' => DIGIT,
            _ => OTHER,
        };
        byte += 1;
    }
    classes
};

/// The class of a byte that begins or continues a token.
fn class(byte: u8) -> u8 {
    CLASSES[usize::from(byte)]
}

pub(super) struct Lexer<'a> {
    source: &'a [u8],
    /// Where the next token is looked for.
    position: usize,
    row: usize,
    /// The token that was read last, and the rows that it marks as code.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) start_row: usize,
    pub(super) last_row: usize,
    pub(super) follows_comment: bool,
    /// Whether the next token is a field: the numbers of `x.0.1` are two and no fraction.
    pub(super) at_field: bool,
    pub(super) lines: LineKinds,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(source: &'a [u8]) -> Self {
        // A byte order mark is no part of the text.
        let position = if source.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        Self {
            source,
            position,
            row: 0,
            start: 0,
            end: 0,
            start_row: 0,
            last_row: 0,
            follows_comment: false,
            at_field: false,
            lines: LineKinds::new(source),
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.source.get(self.position + ahead).copied().unwrap_or(0)
    }

    pub(super) fn slice(&self, start: usize, end: usize) -> &'a [u8] {
        self.source.get(start..end).unwrap_or_default()
    }

    pub(super) fn text(&self) -> &'a [u8] {
        self.slice(self.start, self.end)
    }

    /// The byte right behind the current token.
    pub(super) fn following(&self) -> u8 {
        self.peek(0)
    }

    /// What follows the current token, from the next byte that is no white space.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.source.get(self.position..).unwrap_or_default().trim_ascii_start()
    }

    pub(super) fn next(&mut self) -> Result<Token, Unusual> {
        self.skip_white_space()?;
        self.start = self.position;
        self.start_row = self.row;
        let first = self.peek(0);
        let token = match class(first) {
            WORD => self.word()?,
            DIGIT => self.number()?,
            _ => match first {
                b'"' => self.string()?,
                b'\'' => self.quote()?,
                _ if self.position >= self.source.len() => Token::END,
                _ => {
                    let (token, length) = words::sign(first, self.peek(1), self.peek(2)).ok_or(Unusual)?;
                    self.position += length;
                    token
                }
            },
        };
        self.end = self.position;
        // Literals can have several rows, and mark them themselves.
        if token != Token::TEXT {
            self.last_row = self.row;
        }
        Ok(token)
    }

    /// White space and comments, which are marked in the lines.
    fn skip_white_space(&mut self) -> Result<(), Unusual> {
        self.follows_comment = false;
        loop {
            let byte = self.peek(0);
            match class(byte) {
                SPACE => self.position += 1,
                BREAK => {
                    self.position += 1;
                    self.row += 1;
                }
                OTHER if byte == b'/' => match self.peek(1) {
                    b'/' => {
                        let rest = &self.source[self.position..];
                        self.lines.mark_comment(self.row, self.row);
                        self.position += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                        self.follows_comment = true;
                    }
                    b'*' => self.block_comment()?,
                    _ => return Ok(()),
                },
                _ => return Ok(()),
            }
        }
    }

    /// Block comments nest. After a slash that opens none, the grammar does not look for `/*` in the next byte.
    fn block_comment(&mut self) -> Result<(), Unusual> {
        let first_row = self.row;
        self.position += 2;
        let mut depth = 1_u32;
        while depth > 0 {
            let length = match (self.peek(0), self.peek(1)) {
                (b'*', b'/') => {
                    depth -= 1;
                    2
                }
                (b'/', b'*') => {
                    depth += 1;
                    2
                }
                (b'/', b'/') => 2,
                (b'\n', _) => {
                    self.row += 1;
                    1
                }
                (0, _) => return Err(Unusual),
                _ => 1,
            };
            self.position += length;
        }
        self.lines.mark_comment(first_row, self.row);
        self.follows_comment = true;
        Ok(())
    }

    /// Letters, digits and underscores.
    fn skip_word(&mut self) -> &'a [u8] {
        let rest = self.source.get(self.position..).unwrap_or_default();
        let length = rest.iter().position(|byte| !matches!(class(*byte), WORD | DIGIT)).unwrap_or(rest.len());
        self.position += length;
        &rest[..length]
    }

    /// A name or keyword, or a literal with a prefix.
    fn word(&mut self) -> Result<Token, Unusual> {
        let word = self.skip_word();
        match (word, self.peek(0)) {
            (b"b" | b"c", b'"') => return self.string(),
            (b"b", b'\'') => return self.character(),
            (b"r", b'#') if class(self.peek(1)) == WORD => {
                self.position += 1;
                self.skip_word();
                return Ok(Token::NAME);
            }
            (b"r" | b"br" | b"cr", b'"' | b'#') => return self.raw_string(),
            // Which other characters a name may have is the grammar's knowledge.
            (_, 0x80..) => return Err(Unusual),
            _ => {}
        }
        Ok(words::word(word))
    }

    /// `'` begins a character, a lifetime or a label.
    fn quote(&mut self) -> Result<Token, Unusual> {
        if class(self.peek(1)) == WORD && self.peek(2) != b'\'' {
            self.position += 1;
            self.start = self.position;
            self.skip_word();
            return if matches!(self.peek(0), b'\'' | b'#' | 0x80..) { Err(Unusual) } else { Ok(Token::LIFETIME) };
        }
        self.character()
    }

    /// A character in quotes.
    fn character(&mut self) -> Result<Token, Unusual> {
        self.position += 1;
        match self.peek(0) {
            b'\\' => self.escape()?,
            b'\'' | b'\n' => return Err(Unusual),
            first => {
                self.position += match first {
                    0..0x80 => 1,
                    0x80..0xe0 => 2,
                    0xe0..0xf0 => 3,
                    0xf0.. => 4,
                }
            }
        }
        if self.peek(0) != b'\'' {
            return Err(Unusual);
        }
        self.position += 1;
        self.last_row = self.row;
        Ok(Token::TEXT)
    }

    /// A string from its opening quote on; the prefix was read.
    fn string(&mut self) -> Result<Token, Unusual> {
        self.position += 1;
        loop {
            let rest = self.source.get(self.position..).unwrap_or_default();
            let found = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | b'\n')).ok_or(Unusual)?;
            self.position += found;
            match rest[found] {
                b'\\' => self.escape()?,
                byte => {
                    self.position += 1;
                    if byte == b'"' {
                        self.last_row = self.row;
                        return Ok(Token::TEXT);
                    }
                    self.row += 1;
                }
            }
        }
    }

    /// `\` and what it escapes.
    fn escape(&mut self) -> Result<(), Unusual> {
        let digits = |from: usize, bytes: &[u8]| {
            bytes.get(from..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_hexdigit()).count()
        };
        let rest = &self.source[self.position..];
        let length = match rest.get(1).ok_or(Unusual)? {
            b'x' if digits(2, rest) >= 2 => 4,
            b'u' if rest.get(2) == Some(&b'{') => {
                let count = digits(3, rest);
                if count == 0 || rest.get(3 + count) != Some(&b'}') {
                    return Err(Unusual);
                }
                count + 4
            }
            b'\n' => {
                self.row += 1;
                2
            }
            b'x' | b'u' | 0x80.. => return Err(Unusual),
            _ => 2,
        };
        self.position += length;
        Ok(())
    }

    /// A raw string, from behind its prefix.
    fn raw_string(&mut self) -> Result<Token, Unusual> {
        let rest = &self.source[self.position..];
        let hashes = rest.iter().take_while(|byte| **byte == b'#').count();
        if rest.get(hashes) != Some(&b'"') {
            return Err(Unusual);
        }
        let content = self.position + hashes + 1;
        let mut end = content;
        loop {
            let rest = self.source.get(end..).unwrap_or_default();
            end += memchr::memchr(b'"', rest).ok_or(Unusual)?;
            let closing = self.slice(end + 1, end + 1 + hashes);
            if closing.len() == hashes && closing.iter().all(|byte| *byte == b'#') {
                break;
            }
            end += 1;
        }
        // For the grammar only the content is a token, without white space at its beginning: a line with the quotes alone is not
        // marked as code, nor is any by a string of white space.
        let breaks = |text: &[u8]| memchr::memchr_iter(b'\n', text).count();
        let text = self.slice(content, end);
        let trimmed = text.trim_ascii_start();
        self.start_row = self.row + breaks(&text[..text.len() - trimmed.len()]);
        self.row += breaks(text);
        self.last_row = match trimmed.last() {
            None => self.start_row.saturating_sub(1),
            Some(last) => self.row - usize::from(*last == b'\n'),
        };
        self.position = end + 1 + hashes;
        Ok(Token::TEXT)
    }

    /// A number with its suffix. What the grammar would read as a number and a name is left to it.
    fn number(&mut self) -> Result<Token, Unusual> {
        let radix = if self.peek(0) == b'0' { self.peek(1) } else { 0 };
        let mut is_float = false;
        if matches!(radix, b'x' | b'o' | b'b') {
            self.position += 2;
            let first = self.position;
            self.skip_digits(radix);
            if self.position == first {
                return Err(Unusual);
            }
        } else {
            self.skip_digits(0);
            if self.at_field {
                return if class(self.peek(0)) == WORD { Err(Unusual) } else { Ok(Token::NUMBER) };
            }
            // `1..2` is a range and `1.max(2)` a call.
            if self.peek(0) == b'.' && self.peek(1) != b'.' && !self.peek(1).is_ascii_alphabetic() {
                is_float = true;
                self.position += 1;
                self.skip_digits(0);
            }
            if matches!(self.peek(0), b'e' | b'E') {
                is_float = true;
                self.position += if matches!(self.peek(1), b'+' | b'-') { 2 } else { 1 };
                if !matches!(self.peek(0), b'0'..=b'9' | b'_') {
                    return Err(Unusual);
                }
                self.skip_digits(0);
            }
        }
        let suffix = self.skip_word();
        let is_known = match suffix {
            b"" | b"f32" | b"f64" => true,
            b"bool" | b"str" | b"char" => false,
            _ => !is_float && words::word(suffix) == Token::PRIMITIVE,
        };
        if is_known && self.peek(0) < 0x80 { Ok(Token::NUMBER) } else { Err(Unusual) }
    }

    /// Digits and underscores.
    fn skip_digits(&mut self, radix: u8) {
        let is_digit = |byte: &u8| match radix {
            b'x' => byte.is_ascii_hexdigit() || *byte == b'_',
            b'o' => matches!(byte, b'0'..=b'7' | b'_'),
            b'b' => matches!(byte, b'0' | b'1' | b'_'),
            _ => byte.is_ascii_digit() || *byte == b'_',
        };
        self.position += self.source[self.position..].iter().take_while(|byte| is_digit(byte)).count();
    }

    /// Makes the word or sign right behind the current token a part of it: `$name`, `macro_rules!`.
    pub(super) fn extend(&mut self) {
        if self.skip_word().is_empty() {
            self.position += 1;
        }
        self.end = self.position;
    }

    /// Reads the operator of a repetition in a macro, `+`, `*` or `?`, and the separator before it, which is no token.
    pub(super) fn repetition_operator(&mut self) -> Result<Token, Unusual> {
        let token = loop {
            match self.peek(0) {
                b'+' => break Token::PLUS,
                b'*' => break Token::STAR,
                b'?' => break Token::QUESTION,
                b',' | b';' | b':' | b'.' | b'|' | b'&' | b'=' | b'>' | b'<' | b'-' | b' ' | b'\t' | b'\r' => {}
                b'\n' => self.row += 1,
                _ => return Err(Unusual),
            }
            self.position += 1;
        };
        self.start = self.position;
        self.position += 1;
        self.end = self.position;
        self.start_row = self.row;
        self.last_row = self.row;
        Ok(token)
    }
}
