//! Python's tokens, read one at a time.
//!
//! What is unusual ends the reading ([`Unusual`]): the file is then read by the grammar, which decides what is an error.

use super::super::Unusual;
use super::super::lines::LineKinds;
use super::words::{self, CLOSE, CLOSE_BRACE, CLOSE_SQUARE, OPEN, OPEN_BRACE, OPEN_SQUARE, Token};

/// Blocks inside blocks, and brackets inside brackets.
const MOST_INDENTS: usize = 60;
const MOST_BRACKETS: u32 = 200;
/// Columns between tab stops, as CPython counts them.
const TAB_STOP: usize = 8;

/// The quotes that end a string with interpolation.
#[derive(Clone, Copy)]
pub(super) struct Quotes {
    byte: u8,
    is_triple: bool,
    is_raw: bool,
}

/// What comes next inside a string with interpolation.
#[derive(PartialEq, Eq)]
pub(super) enum Piece {
    /// `{`: an expression follows.
    Expression,
    /// `}`: the format of an expression ends.
    FormatEnd,
    /// The closing quotes.
    End,
}

pub(super) struct Lexer<'a> {
    source: &'a [u8],
    /// Where the next token is looked for.
    position: usize,
    row: usize,
    /// The token that was read last.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) start_row: usize,
    pub(super) end_row: usize,
    pub(super) quotes: Quotes,
    brackets: u32,
    indents: Vec<usize>,
    /// Blocks that the current line closes.
    dedents: usize,
    at_line_start: bool,
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
            end_row: 0,
            quotes: Quotes { byte: 0, is_triple: false, is_raw: false },
            brackets: 0,
            indents: vec![0],
            dedents: 0,
            at_line_start: true,
            lines: LineKinds::new(source),
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.source.get(self.position + ahead).copied().unwrap_or(0)
    }

    /// The next byte that is no white space, on the same line.
    pub(super) fn peek_significant(&self) -> u8 {
        let rest = self.source.get(self.position..).unwrap_or_default();
        rest.iter().copied().find(|byte| *byte != b' ' && *byte != b'\t').unwrap_or(0)
    }

    pub(super) fn text(&self) -> &'a [u8] {
        self.source.get(self.start..self.end).unwrap_or_default()
    }

    pub(super) fn next(&mut self) -> Result<Token, Unusual> {
        if self.dedents > 0 {
            self.dedents -= 1;
            self.indents.pop();
            return Ok(Token::DEDENT);
        }
        if self.at_line_start && self.brackets == 0 {
            self.at_line_start = false;
            if let Some(token) = self.indentation()? {
                return Ok(token);
            }
        }
        self.skip_white_space()?;
        self.start = self.position;
        self.start_row = self.row;
        let token = self.token()?;
        self.end = self.position;
        self.end_row = self.row;
        // A line break is no code on its line; it ends on the next one.
        if matches!(token, Token::NEWLINE) {
            self.row += 1;
            self.at_line_start = true;
        }
        Ok(token)
    }

    /// Reads the white space at the beginning of a logical line, and blank lines and comments before it.
    fn indentation(&mut self) -> Result<Option<Token>, Unusual> {
        let column = loop {
            let mut column = 0;
            loop {
                match self.peek(0) {
                    b' ' => column += 1,
                    b'\t' => column = (column / TAB_STOP + 1) * TAB_STOP,
                    0x0c => column = 0,
                    _ => break,
                }
                self.position += 1;
            }
            match self.peek(0) {
                b'#' => self.comment(),
                b'\r' if self.peek(1) == b'\n' => self.position += 1,
                b'\n' => {}
                _ => break column,
            }
            match self.peek(0) {
                b'\n' => {
                    self.position += 1;
                    self.row += 1;
                }
                _ => break 0,
            }
        };
        if self.position >= self.source.len() {
            // The end of the file closes all blocks.
            self.dedents = self.indents.len() - 1;
        } else {
            let current = self.indents.last().copied().unwrap_or(0);
            if column > current {
                if self.indents.len() > MOST_INDENTS {
                    return Err(Unusual);
                }
                self.indents.push(column);
                return Ok(Some(Token::INDENT));
            }
            self.dedents = self.indents.iter().filter(|indent| **indent > column).count();
            if !self.indents.contains(&column) {
                return Err(Unusual);
            }
        }
        if self.dedents == 0 {
            return Ok(None);
        }
        self.dedents -= 1;
        self.indents.pop();
        Ok(Some(Token::DEDENT))
    }

    fn comment(&mut self) {
        let rest = self.source.get(self.position..).unwrap_or_default();
        let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        self.lines.mark_comment(self.row, self.row);
        self.position += length;
    }

    /// White space and comments between the tokens of a logical line.
    fn skip_white_space(&mut self) -> Result<(), Unusual> {
        loop {
            match self.peek(0) {
                b' ' | b'\t' | 0x0c => self.position += 1,
                b'#' => self.comment(),
                b'\\' if self.peek(1) == b'\n' => {
                    self.position += 2;
                    self.row += 1;
                }
                b'\\' if self.peek(1) == b'\r' && self.peek(2) == b'\n' => {
                    self.position += 3;
                    self.row += 1;
                }
                b'\r' if self.peek(1) == b'\n' => self.position += 1,
                b'\r' | b'\\' => return Err(Unusual),
                b'\n' if self.brackets > 0 => {
                    self.position += 1;
                    self.row += 1;
                }
                _ => return Ok(()),
            }
        }
    }

    fn token(&mut self) -> Result<Token, Unusual> {
        let first = self.peek(0);
        match first {
            b'\n' => {
                self.position += 1;
                Ok(Token::NEWLINE)
            }
            0 if self.position >= self.source.len() => self.end_of_file(),
            b'"' | b'\'' => self.string(0),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.. => self.name(),
            b'0'..=b'9' => self.number(),
            b'.' if self.peek(1).is_ascii_digit() => self.number(),
            b'.' if self.peek(1) == b'.' && self.peek(2) == b'.' => {
                self.position += 3;
                Ok(Token::CONSTANT)
            }
            _ => self.sign(),
        }
    }

    /// A file whose last line has no line break ends with one all the same.
    fn end_of_file(&mut self) -> Result<Token, Unusual> {
        if self.brackets > 0 {
            return Err(Unusual);
        }
        self.dedents = self.indents.len() - 1;
        Ok(Token::END)
    }

    fn name(&mut self) -> Result<Token, Unusual> {
        let rest = self.source.get(self.position..).unwrap_or_default();
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80;
        let length = rest.iter().take_while(|byte| is_part(byte)).count();
        let name = &rest[..length];
        if matches!(rest.get(length), Some(b'"' | b'\'')) && is_string_prefix(name) {
            return self.string(length);
        }
        // Which other characters a name may have is the grammar's knowledge.
        if !name.is_ascii() {
            return Err(Unusual);
        }
        self.position += length;
        Ok(match name {
            b"None" | b"True" | b"False" => Token::CONSTANT,
            _ => words::keyword(name).unwrap_or(Token::NAME),
        })
    }

    /// Digits, letters and dots, and the sign of an exponent.
    fn number(&mut self) -> Result<Token, Unusual> {
        let is_hexadecimal = self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'X');
        loop {
            let byte = self.peek(0);
            let is_sign = matches!(byte, b'+' | b'-')
                && !is_hexadecimal
                && self.position > self.start
                && matches!(self.source[self.position - 1], b'e' | b'E');
            if !byte.is_ascii_alphanumeric() && byte != b'.' && byte != b'_' && !is_sign {
                let text = &self.source[self.start..self.position];
                return if is_number(text) { Ok(Token::NUMBER) } else { Err(Unusual) };
            }
            self.position += 1;
        }
    }

    fn sign(&mut self) -> Result<Token, Unusual> {
        let rest = self.source.get(self.position..).unwrap_or_default();
        let (token, length) = words::sign(rest).ok_or(Unusual)?;
        self.position += length;
        if matches!(token, OPEN | OPEN_SQUARE | OPEN_BRACE) {
            self.brackets += 1;
            if self.brackets > MOST_BRACKETS {
                return Err(Unusual);
            }
        } else if matches!(token, CLOSE | CLOSE_SQUARE | CLOSE_BRACE) {
            self.brackets = self.brackets.checked_sub(1).ok_or(Unusual)?;
        }
        Ok(token)
    }

    /// A string, whose prefix has `prefix` bytes.
    fn string(&mut self, prefix: usize) -> Result<Token, Unusual> {
        let is = |letters: [u8; 2]| {
            self.source[self.position..self.position + prefix].iter().any(|byte| letters.contains(byte))
        };
        let (is_interpolated, is_raw) = (is([b'f', b'F']), is([b'r', b'R']));
        // Template strings came with Python 3.14.
        if is([b't', b'T']) {
            return Err(Unusual);
        }
        self.position += prefix;
        let byte = self.peek(0);
        let is_triple = self.peek(1) == byte && self.peek(2) == byte;
        self.position += if is_triple { 3 } else { 1 };
        let quotes = Quotes { byte, is_triple, is_raw };
        if is_interpolated {
            self.quotes = quotes;
            return Ok(Token::TEXT_START);
        }
        loop {
            match self.peek(0) {
                b'\\' => self.escaped()?,
                found if found == byte && self.closes(quotes) => return Ok(Token::TEXT),
                _ => self.string_byte(quotes)?,
            }
        }
    }

    /// Whether the quotes end here; if so, they are read.
    fn closes(&mut self, quotes: Quotes) -> bool {
        let length = if quotes.is_triple { 3 } else { 1 };
        let closes = (0..length).all(|ahead| self.peek(ahead) == quotes.byte);
        if closes {
            self.position += length;
        }
        closes
    }

    fn escaped(&mut self) -> Result<(), Unusual> {
        self.position += 1;
        if self.peek(0) == b'\r' && self.peek(1) == b'\n' {
            self.position += 1;
        }
        self.row += usize::from(self.peek(0) == b'\n');
        self.position += 1;
        if self.position > self.source.len() { Err(Unusual) } else { Ok(()) }
    }

    fn string_byte(&mut self, quotes: Quotes) -> Result<(), Unusual> {
        match self.source.get(self.position) {
            None => return Err(Unusual),
            Some(b'\n') if !quotes.is_triple => return Err(Unusual),
            Some(b'\n') => self.row += 1,
            Some(_) => {}
        }
        self.position += 1;
        Ok(())
    }

    /// Reads the text of an interpolated string up to what is next. `in_format` is the part after `:` in an expression.
    pub(super) fn piece(&mut self, quotes: Quotes, in_format: bool) -> Result<Piece, Unusual> {
        loop {
            match self.peek(0) {
                b'{' if self.peek(1) == b'{' && !in_format => self.position += 2,
                b'{' => {
                    self.position += 1;
                    self.brackets += 1;
                    return Ok(Piece::Expression);
                }
                b'}' if in_format => return Ok(Piece::FormatEnd),
                b'}' if self.peek(1) == b'}' => self.position += 2,
                b'}' => return Err(Unusual),
                b'\\' if quotes.is_raw => self.position += if self.peek(1) == quotes.byte { 2 } else { 1 },
                // `\N{DASH}` is a character and no expression.
                b'\\' if self.peek(1) == b'N' => return Err(Unusual),
                b'\\' if matches!(self.peek(1), b'{' | b'}') => self.position += 1,
                b'\\' => self.escaped()?,
                found if found == quotes.byte && self.closes(quotes) => {
                    self.end = self.position;
                    self.end_row = self.row;
                    return Ok(Piece::End);
                }
                _ => self.string_byte(quotes)?,
            }
        }
    }

    /// Reads the `}` of an expression in a string, which was not read as a token.
    pub(super) fn close_expression(&mut self) -> Result<(), Unusual> {
        if self.peek(0) != b'}' {
            return Err(Unusual);
        }
        self.position += 1;
        self.brackets = self.brackets.saturating_sub(1);
        Ok(())
    }
}

/// Whether a number has only the letters that its notation allows. `1if a else b` has others.
fn is_number(text: &[u8]) -> bool {
    let allowed: &[u8] = match text {
        [b'0', b'x' | b'X', ..] => b"0123456789abcdefABCDEF_xX",
        [b'0', b'o' | b'O' | b'b' | b'B', ..] => b"01234567_oObB",
        _ => b"0123456789._eE+-jJ",
    };
    text.iter().all(|byte| allowed.contains(byte))
}

fn is_string_prefix(name: &[u8]) -> bool {
    name.len() <= 2 && name.iter().all(|byte| b"rRbBuUfFtT".contains(byte))
}
