//! What all parts of the reader use: the current token, and the figures that it is added to.
//!
//! There is one token of lookahead. Where that is not enough, the bytes that follow are looked at (`Lexer::rest`): a comment there
//! makes the file one for the grammar at worst.

use crate::languages::Language;

use super::super::Unusual;
use super::super::functions::{Functions, Point};
use super::super::halstead::Tokens;
use super::lexer::Lexer;
use super::words::Token;

/// What a type is, as far as it matters where it stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TypeKind {
    /// A name, with or without a path and arguments.
    Named,
    /// A reference, a pointer, an array, a slice, or types in brackets.
    Compound,
    Other,
}

/// Blocks, expressions, types, patterns and brackets inside each other; each level takes some of the thread's stack.
const MOST_DEPTH: u32 = 160;

pub(super) struct Parser<'a> {
    pub(super) lexer: Lexer<'a>,
    /// The token that is looked at; it is counted when the next one is read.
    pub(super) token: Token,
    /// Where the token before it ended.
    pub(super) end: usize,
    pub(super) functions: Functions<'static>,
    pub(super) tokens: Tokens,
    pub(super) nesting: u32,
    depth: u32,
    /// The last row that was marked as code.
    marked_row: usize,
    /// Whether a brace ends the expression, as in conditions: `if a == b { … }` has no `b { … }`.
    pub(super) brace_ends: bool,
    /// Whether a signature is read, of which it is not known yet whether a function begins with it.
    pub(super) in_signature: bool,
    /// Whether `_` could be the pattern of a parameter. The grammar then takes it for one.
    pub(super) in_parameter_types: bool,
    /// The last macro that was called with braces.
    pub(super) macro_range: (usize, usize),
    /// The last type, and the part of it that names the functions in its `impl`.
    pub(super) kind: TypeKind,
    pub(super) type_name: (usize, usize),
    /// Where the last block ended.
    pub(super) block_end: Point,
    pub(super) wanted: &'a dyn Fn() -> bool,
}

impl<'a> Parser<'a> {
    pub(super) fn new(source: &'a [u8], wanted: &'a dyn Fn() -> bool) -> Result<Self, Unusual> {
        let mut lexer = Lexer::new(source);
        let token = lexer.next()?;
        Ok(Self {
            lexer,
            token,
            end: 0,
            functions: Functions::new(Language::Rust.compiled()),
            tokens: Tokens::default(),
            nesting: 0,
            depth: 0,
            marked_row: usize::MAX,
            brace_ends: false,
            in_signature: false,
            in_parameter_types: false,
            macro_range: (0, 0),
            kind: TypeKind::Other,
            type_name: (0, 0),
            block_end: Point::default(),
            wanted,
        })
    }

    /// Counts the current token and reads the next one.
    pub(super) fn advance(&mut self) -> Result<(), Unusual> {
        if self.token.is_operand() {
            self.tokens.operand(self.lexer.text());
        } else if !self.token.is_closing() {
            self.tokens.operator(u16::from(self.token.0));
        }
        self.next()
    }

    /// Reads the next token after one that was counted.
    pub(super) fn next(&mut self) -> Result<(), Unusual> {
        self.leave_token();
        self.token = self.lexer.next()?;
        Ok(())
    }

    /// Notes the lines of the current token, and where it ends.
    pub(super) fn leave_token(&mut self) {
        let lexer = &mut self.lexer;
        if lexer.last_row != self.marked_row && lexer.start_row <= lexer.last_row {
            self.marked_row = lexer.last_row;
            lexer.lines.mark_code(lexer.start_row, lexer.last_row);
        }
        self.end = lexer.end;
    }

    /// Counts the current token as another one: a word that is a name here, or the other way round.
    pub(super) fn advance_as(&mut self, token: Token) -> Result<(), Unusual> {
        self.token = token;
        self.advance()
    }

    /// Counts the beginning of a token as one of its own; what is left of it is the current token then.
    pub(super) fn split(&mut self, first: Token, rest: Token) {
        self.tokens.operator(u16::from(first.0));
        self.leave_token();
        self.lexer.start += if first == Token::RANGE { 2 } else { 1 };
        self.end = self.lexer.start;
        self.token = rest;
    }

    /// Reads a token if it is the current one.
    pub(super) fn take(&mut self, token: Token) -> Result<bool, Unusual> {
        let found = self.token == token;
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    /// Reads a token that must be the current one.
    pub(super) fn expect(&mut self, token: Token) -> Result<(), Unusual> {
        if self.take(token)? { Ok(()) } else { Err(Unusual) }
    }

    /// A comma, or what ends the list.
    pub(super) fn separator(&mut self, end: Token) -> Result<(), Unusual> {
        if self.take(Token::COMMA)? || self.token == end { Ok(()) } else { Err(Unusual) }
    }

    /// A list in brackets, from the current token to `close`.
    pub(super) fn list(
        &mut self,
        close: Token,
        mut read: impl FnMut(&mut Self) -> Result<(), Unusual>,
    ) -> Result<(), Unusual> {
        self.advance()?;
        let outside = std::mem::replace(&mut self.brace_ends, false);
        while self.token != close {
            read(self)?;
            self.separator(close)?;
        }
        self.brace_ends = outside;
        self.advance()
    }

    /// A name that is defined: `_` is one where no pattern is possible.
    pub(super) fn name(&mut self) -> Result<(), Unusual> {
        match self.token {
            Token::NAME | Token::PRIMITIVE | Token::UNDERSCORE => self.advance_as(Token::NAME),
            _ => Err(Unusual),
        }
    }

    /// Where the current token begins.
    pub(super) fn start(&self) -> Point {
        Point { byte: self.lexer.start, row: self.lexer.start_row }
    }

    /// Reads something one level deeper in the thread's stack.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Unusual>) -> Result<T, Unusual> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(Unusual);
        }
        let outcome = read(self);
        self.depth -= 1;
        outcome
    }

    /// Reads something that is one level of nesting deeper.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Unusual>) -> Result<T, Unusual> {
        self.nesting += 1;
        let outcome = read(self);
        self.nesting -= 1;
        outcome
    }

    /// Reads an expression that a brace ends (`ends`), or something in brackets, where it does not.
    pub(super) fn with_braces<T>(
        &mut self,
        ends: bool,
        read: impl FnOnce(&mut Self) -> Result<T, Unusual>,
    ) -> Result<T, Unusual> {
        let outside = std::mem::replace(&mut self.brace_ends, ends);
        let outcome = read(self);
        self.brace_ends = outside;
        outcome
    }
}
