//! Rust's patterns. Nothing in them counts but their tokens, so they are read only to find their ends.

use super::super::Unusual;
use super::parser::Parser;
use super::words::Token;

impl Parser<'_> {
    /// A pattern with its alternatives.
    pub(super) fn pattern(&mut self) -> Result<(), Unusual> {
        self.take(Token::OR)?;
        self.alternatives()
    }

    /// A pattern inside another one. To the grammar, `|` at its beginning is that of a closure.
    fn alternatives(&mut self) -> Result<(), Unusual> {
        self.single_pattern()?;
        while self.take(Token::OR)? {
            self.single_pattern()?;
        }
        Ok(())
    }

    /// A pattern without alternatives, as the parameter of a closure.
    pub(super) fn single_pattern(&mut self) -> Result<(), Unusual> {
        self.deeper(Self::pattern_inside)
    }

    /// One pattern. `_`, `..` and the values of `bool` are operators here.
    fn pattern_inside(&mut self) -> Result<(), Unusual> {
        match self.token {
            Token::NUMBER | Token::TEXT => {
                self.advance()?;
                self.range_end()
            }
            Token::UNDERSCORE | Token::TRUE | Token::FALSE => self.advance(),
            Token::MINUS => {
                self.advance()?;
                self.expect(Token::NUMBER)?;
                self.range_end()
            }
            Token::RANGE | Token::RANGE_INCLUSIVE => self.range_end(),
            Token::AND | Token::AND_AND => {
                if self.token == Token::AND_AND {
                    self.split(Token::AND, Token::AND);
                }
                self.advance()?;
                self.take(Token::MUT)?;
                self.single_pattern()
            }
            Token::REF | Token::MUT => {
                self.advance()?;
                self.single_pattern()
            }
            Token::OPEN => self.list(Token::CLOSE, Self::alternatives),
            Token::OPEN_SQUARE => self.list(Token::CLOSE_SQUARE, Self::alternatives),
            Token::LESS => {
                self.path()?;
                self.range_end()
            }
            token if token.begins_path() => self.path_pattern(),
            _ => Err(Unusual),
        }
    }

    /// What begins with a name: a binding, a constant, a struct, a macro.
    fn path_pattern(&mut self) -> Result<(), Unusual> {
        let (start, first) = (self.lexer.start, self.token);
        let is_word = matches!(first, Token::NAME | Token::PRIMITIVE);
        let path = self.path()?;
        match self.token {
            Token::AT if path.is_single && is_word => {
                self.advance()?;
                self.single_pattern()
            }
            _ if path.is_single && !is_word => Err(Unusual),
            Token::OPEN | Token::OPEN_BRACE if path.is_single && first == Token::PRIMITIVE => Err(Unusual),
            Token::OPEN => self.list(Token::CLOSE, Self::alternatives),
            Token::OPEN_BRACE if !path.ends_with_arguments => self.list(Token::CLOSE_BRACE, Self::field_pattern),
            Token::NOT if !path.ends_with_arguments => self.macro_call(start),
            _ if path.ends_with_arguments => Ok(()),
            _ => self.range_end(),
        }
    }

    /// `a`, `ref a`, `a: b` or `..` in the braces of a struct.
    fn field_pattern(&mut self) -> Result<(), Unusual> {
        if self.take(Token::RANGE)? {
            return Ok(());
        }
        let is_binding = self.take(Token::REF)?;
        let is_binding = self.take(Token::MUT)? || is_binding;
        self.expect_name()?;
        if !is_binding && self.take(Token::COLON)? { self.pattern() } else { Ok(()) }
    }

    /// The name of a field, or of a variable that takes its value.
    pub(super) fn expect_name(&mut self) -> Result<(), Unusual> {
        if matches!(self.token, Token::NAME | Token::PRIMITIVE) { self.advance() } else { Err(Unusual) }
    }

    /// `..` and the end of a range, if it is one.
    fn range_end(&mut self) -> Result<(), Unusual> {
        let needs_end = match self.token {
            Token::RANGE => false,
            Token::RANGE_INCLUSIVE | Token::ELLIPSIS => true,
            _ => return Ok(()),
        };
        self.advance()?;
        match self.token {
            Token::NUMBER | Token::TEXT => self.advance(),
            Token::MINUS => {
                self.advance()?;
                self.expect(Token::NUMBER)
            }
            token if token.begins_path() => self.path().map(|_| ()),
            _ if needs_end => Err(Unusual),
            _ => Ok(()),
        }
    }
}
