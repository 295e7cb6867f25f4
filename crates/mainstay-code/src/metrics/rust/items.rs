//! Rust's items: functions, types, modules and what else is defined.

use crate::definition::FunctionKind;
use crate::naming;

use super::super::Unusual;
use super::super::functions::{NewFunction, Point};
use super::super::halstead::Position;
use super::parser::{Parser, TypeKind};
use super::words::Token;

/// Where an item begins, its visibility included.
#[derive(Clone, Copy)]
struct Start {
    point: Point,
    tokens: Position,
}

impl Parser<'_> {
    pub(super) fn file(&mut self) -> Result<(), Unusual> {
        // `#!` is the beginning of an attribute, or names a program to run the file with.
        if self.token == Token::HASH && self.lexer.following() == b'!' && !self.lexer.rest()[1..].starts_with(b"[") {
            return Err(Unusual);
        }
        self.items(Token::END)
    }

    /// Items up to the end of the file or of their braces.
    fn items(&mut self, end: Token) -> Result<(), Unusual> {
        while self.token != end {
            // Functions are short enough to ask only between items.
            if !(self.wanted)() {
                return Err(Unusual);
            }
            match self.token {
                Token::SEMICOLON => self.advance()?,
                Token::HASH => self.attribute()?,
                _ if self.begins_item() => self.item()?,
                _ => self.macro_item()?,
            }
        }
        Ok(())
    }

    /// The items of a module, an `impl`, a trait or an `extern` block.
    fn items_in_braces(&mut self) -> Result<(), Unusual> {
        self.expect(Token::OPEN_BRACE)?;
        self.deeper(|parser| parser.items(Token::CLOSE_BRACE))?;
        self.advance()
    }

    /// A macro that stands for items.
    fn macro_item(&mut self) -> Result<(), Unusual> {
        let (start, is_word) = (self.lexer.start, self.token == Token::NAME);
        let path = self.path()?;
        if path.ends_with_arguments || (path.is_single && !is_word) {
            return Err(Unusual);
        }
        self.macro_call(start)?;
        if self.macro_range == (start, self.end) { Ok(()) } else { self.expect(Token::SEMICOLON) }
    }

    /// Whether the current token begins an item and no expression.
    pub(super) fn begins_item(&self) -> bool {
        let next = || self.lexer.rest().first().copied().unwrap_or(0);
        match self.token {
            Token::CONST | Token::UNSAFE => next() != b'{',
            Token::ASYNC => next() != b'{' && next() != b'|' && !self.lexer.rest().starts_with(b"move"),
            Token::NAME => match self.lexer.text() {
                // A name elsewhere: `union.insert(a)`, `union as u8`.
                b"union" => next().is_ascii_alphabetic() && !self.lexer.rest().starts_with(b"as "),
                b"macro_rules" => self.lexer.following() == b'!',
                _ => false,
            },
            token => token.begins_item(),
        }
    }

    /// One item, with its visibility and without its attributes, which stand alone.
    pub(super) fn item(&mut self) -> Result<(), Unusual> {
        // In the length of an array of a signature: it would be inside of a function that is not open yet.
        if self.in_signature {
            return Err(Unusual);
        }
        let start = Start { point: self.start(), tokens: self.tokens.position() };
        let is_visible = self.visibility()?;
        match self.token {
            Token::FN | Token::ASYNC => self.function(start),
            Token::CONST => {
                self.advance()?;
                match self.token {
                    Token::FN | Token::ASYNC | Token::UNSAFE | Token::EXTERN => self.function(start),
                    _ => self.constant(),
                }
            }
            Token::UNSAFE => {
                self.advance()?;
                match self.token {
                    Token::TRAIT => self.trait_item(),
                    Token::IMPL if !is_visible => self.impl_item(),
                    Token::EXTERN => self.external(start, is_visible),
                    _ => self.function(start),
                }
            }
            Token::EXTERN => self.external(start, is_visible),
            Token::STRUCT => self.struct_item(),
            Token::ENUM => self.enum_item(),
            Token::TRAIT => self.trait_item(),
            Token::IMPL if !is_visible => self.impl_item(),
            Token::TYPE => self.type_item(is_visible),
            Token::STATIC => {
                self.advance()?;
                self.take(Token::MUT)?;
                self.constant()
            }
            Token::MOD => {
                self.advance()?;
                self.expect_name()?;
                if self.take(Token::SEMICOLON)? { Ok(()) } else { self.items_in_braces() }
            }
            Token::USE => {
                self.advance()?;
                self.use_tree()?;
                self.expect(Token::SEMICOLON)
            }
            Token::NAME if self.lexer.text() == b"union" => {
                self.advance_as(Token::UNION)?;
                self.type_head()?;
                self.where_clause()?;
                self.fields()
            }
            Token::NAME if !is_visible && self.lexer.text() == b"macro_rules" => self.macro_definition(),
            _ => Err(Unusual),
        }
    }

    /// `pub`, `pub(crate)`, `pub(in a::b)`.
    fn visibility(&mut self) -> Result<bool, Unusual> {
        if !self.take(Token::PUB)? {
            return Ok(false);
        }
        let rest = self.lexer.rest();
        let is_restricted = self.token == Token::OPEN
            && [&b"crate)"[..], b"super)", b"self)", b"in "].iter().any(|word| rest.starts_with(word));
        if is_restricted {
            self.advance()?;
            if self.take(Token::IN)? {
                self.path()?;
            } else {
                self.advance()?;
            }
            self.expect(Token::CLOSE)?;
        }
        Ok(true)
    }

    /// What begins with `extern`: a crate, a block or a function.
    fn external(&mut self, start: Start, is_visible: bool) -> Result<(), Unusual> {
        self.advance()?;
        if self.take(Token::CRATE)? {
            if !self.take(Token::SELF)? {
                self.name()?;
            }
            if self.take(Token::AS)? {
                self.name()?;
            }
            return self.expect(Token::SEMICOLON);
        }
        self.take(Token::TEXT)?;
        if self.token == Token::OPEN_BRACE && !is_visible { self.items_in_braces() } else { self.function(start) }
    }

    /// `name: type = value;`
    fn constant(&mut self) -> Result<(), Unusual> {
        self.name()?;
        self.expect(Token::COLON)?;
        self.any_type()?;
        if self.take(Token::ASSIGN)? {
            self.value()?;
        }
        self.expect(Token::SEMICOLON)
    }

    /// `a::{b, c as d, e::*}`.
    fn use_tree(&mut self) -> Result<(), Unusual> {
        let mut is_first = !self.take(Token::PATH)?;
        loop {
            match self.token {
                Token::STAR => return self.advance(),
                Token::OPEN_BRACE => {
                    return self.deeper(|parser| parser.list(Token::CLOSE_BRACE, Self::use_tree));
                }
                Token::NAME | Token::PRIMITIVE | Token::SUPER => self.advance()?,
                Token::SELF | Token::CRATE if is_first => self.advance()?,
                _ => return Err(Unusual),
            }
            is_first = false;
            if self.take(Token::AS)? {
                return self.name();
            }
            if !self.take(Token::PATH)? {
                return Ok(());
            }
        }
    }

    /// The name and the parameters of a type.
    fn type_head(&mut self) -> Result<(), Unusual> {
        self.expect(Token::NAME)?;
        self.type_parameters()
    }

    /// `struct A { … }`, `struct A(…);`, `struct A;`.
    fn struct_item(&mut self) -> Result<(), Unusual> {
        self.advance()?;
        self.type_head()?;
        if self.take(Token::SEMICOLON)? {
            return Ok(());
        }
        if self.token == Token::OPEN {
            self.tuple_fields()?;
            self.where_clause()?;
            return self.expect(Token::SEMICOLON);
        }
        self.where_clause()?;
        self.fields()
    }

    /// `{ a: A, pub b: B }`.
    fn fields(&mut self) -> Result<(), Unusual> {
        if self.token != Token::OPEN_BRACE {
            return Err(Unusual);
        }
        self.list(Token::CLOSE_BRACE, |parser| {
            parser.attributes()?;
            parser.visibility()?;
            parser.expect_name()?;
            parser.expect(Token::COLON)?;
            parser.any_type()
        })
    }

    /// `(A, pub B)`.
    fn tuple_fields(&mut self) -> Result<(), Unusual> {
        self.list(Token::CLOSE, |parser| {
            parser.attributes()?;
            parser.visibility()?;
            parser.any_type()
        })
    }

    /// `enum A { … }`.
    fn enum_item(&mut self) -> Result<(), Unusual> {
        self.advance()?;
        self.type_head()?;
        self.where_clause()?;
        if self.token == Token::OPEN_BRACE { self.list(Token::CLOSE_BRACE, Self::variant) } else { Err(Unusual) }
    }

    /// A variant of an enum: `A`, `A(B)`, `A { b: C }`, `A = 1`.
    fn variant(&mut self) -> Result<(), Unusual> {
        self.attributes()?;
        self.expect_name()?;
        match self.token {
            Token::OPEN_BRACE => self.fields()?,
            Token::OPEN => self.tuple_fields()?,
            _ => {}
        }
        if self.take(Token::ASSIGN)? { self.value() } else { Ok(()) }
    }

    /// A type alias, or the associated type of a trait, which has no visibility.
    fn type_item(&mut self, is_visible: bool) -> Result<(), Unusual> {
        self.advance()?;
        self.type_head()?;
        if self.token == Token::COLON && !is_visible {
            self.bounds()?;
            self.where_clause()?;
        } else {
            self.where_clause()?;
            if is_visible && self.token != Token::ASSIGN {
                return Err(Unusual);
            }
            if self.take(Token::ASSIGN)? {
                self.any_type()?;
                self.where_clause()?;
            }
        }
        self.expect(Token::SEMICOLON)
    }

    /// A trait, whose functions are its methods.
    fn trait_item(&mut self) -> Result<(), Unusual> {
        self.advance()?;
        self.functions.enter_type(name_of(self.lexer.text()));
        self.type_head()?;
        if self.token == Token::COLON {
            self.bounds()?;
        }
        self.where_clause()?;
        self.items_in_braces()?;
        self.functions.leave_type();
        Ok(())
    }

    /// An `impl`, whose functions are the methods of its type.
    fn impl_item(&mut self) -> Result<(), Unusual> {
        self.in_signature = true;
        let decisions = self.functions.decisions;
        self.advance()?;
        self.type_parameters()?;
        let is_negative = self.take(Token::NOT)?;
        let (start, is_primitive) = (self.lexer.start, self.token == Token::PRIMITIVE);
        self.any_type()?;
        if self.take(Token::FOR)? {
            if self.kind != TypeKind::Named || (is_primitive && self.type_name.0 == start) {
                return Err(Unusual);
            }
            self.any_type()?;
        } else if is_negative {
            return Err(Unusual);
        }
        let name = self.lexer.slice(self.type_name.0, self.type_name.1);
        self.where_clause()?;
        self.end_signature(decisions)?;
        self.functions.enter_type(name_of(name));
        self.items_in_braces()?;
        self.functions.leave_type();
        Ok(())
    }

    /// A function from its modifiers on, of which some may have been read.
    fn function(&mut self, start: Start) -> Result<(), Unusual> {
        self.take(Token::ASYNC)?;
        self.take(Token::UNSAFE)?;
        if self.take(Token::EXTERN)? {
            self.take(Token::TEXT)?;
        }
        self.expect(Token::FN)?;
        let name = self.lexer.text();
        self.expect_name()?;
        self.in_signature = true;
        let decisions = self.functions.decisions;
        self.type_parameters()?;
        let parameters = self.parameters()?;
        if self.take(Token::ARROW)? {
            self.any_type()?;
        }
        self.where_clause()?;
        self.end_signature(decisions)?;
        if self.take(Token::SEMICOLON)? {
            return Ok(());
        }
        let simple_name = name_of(name);
        let kind = FunctionKind::Function;
        let function = NewFunction { simple_name, kind, start: start.point, parameters, adds_level: false };
        let nesting = self.nesting;
        self.nesting = self.functions.open(function, nesting, start.tokens).map_err(|_| Unusual)?;
        self.deeper(Self::block)?;
        self.nesting = nesting;
        self.functions.close(self.block_end, &self.tokens, &self.lexer.lines);
        Ok(())
    }

    /// What a signature contains would count for the function, which is opened only after it. So nothing in it may count.
    fn end_signature(&mut self, decisions: u32) -> Result<(), Unusual> {
        self.in_signature = false;
        if self.functions.decisions == decisions { Ok(()) } else { Err(Unusual) }
    }

    /// The parameters of a function; returns how many there are.
    fn parameters(&mut self) -> Result<u32, Unusual> {
        if self.token != Token::OPEN {
            return Err(Unusual);
        }
        let mut count = 0;
        self.list(Token::CLOSE, |parser| {
            parser.attributes()?;
            count += 1;
            if parser.take(Token::ELLIPSIS)? { Ok(()) } else { parser.parameter(count == 1) }
        })?;
        Ok(count)
    }

    /// `a: A`, or the receiver as the first one. The grammar also accepts types alone, which Rust once did in traits.
    fn parameter(&mut self, is_first: bool) -> Result<(), Unusual> {
        if is_first && self.receiver()? {
            return Ok(());
        }
        self.single_pattern()?;
        self.expect(Token::COLON)?;
        if self.take(Token::ELLIPSIS)? { Ok(()) } else { self.any_type() }
    }

    /// `self`, `&'a mut self`, `mut self: Box<Self>`.
    fn receiver(&mut self) -> Result<bool, Unusual> {
        let rest = self.lexer.rest();
        match self.token {
            Token::SELF => self.advance()?,
            Token::MUT if rest.starts_with(b"self") && !is_longer(rest, 4) => {
                self.advance()?;
                self.advance()?;
            }
            Token::AND => {
                let mut rest = rest;
                if rest.first() == Some(&b'\'') {
                    let length =
                        rest[1..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
                    rest = rest[1 + length..].trim_ascii_start();
                }
                if rest.starts_with(b"mut") && !is_longer(rest, 3) {
                    rest = rest[3..].trim_ascii_start();
                }
                if !rest.starts_with(b"self") || is_longer(rest, 4) {
                    return Ok(false);
                }
                self.advance()?;
                self.take(Token::LIFETIME)?;
                self.take(Token::MUT)?;
                self.expect(Token::SELF)?;
                return Ok(true);
            }
            _ => return Ok(false),
        }
        if self.take(Token::COLON)? {
            self.any_type()?;
        }
        Ok(true)
    }
}

/// A name as reports have it.
fn name_of(text: &[u8]) -> String {
    naming::shorten(String::from_utf8_lossy(text).into_owned())
}

/// Whether a word goes on after `length` bytes.
fn is_longer(text: &[u8], length: usize) -> bool {
    text.get(length).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}
