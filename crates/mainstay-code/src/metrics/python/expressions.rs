//! Python's expressions.
//!
//! Some expressions are known for what they are only after their first part: `a if b else c`, `a + b`, `[a for b in c]`. What that
//! part cost is then corrected, from a mark that was taken before it (`Functions::mark`).

use crate::definition::Cost;

use super::super::Unusual;
use super::lexer::{Piece, Quotes};
use super::statements::Parser;
use super::words::{
    AND, ASSIGN, ASYNC, AWAIT, CLOSE, CLOSE_BRACE, CLOSE_SQUARE, COLON, COMMA, DOT, ELSE, EXCLAMATION, FOR, FROM, IF,
    IN, IS, LAMBDA, MINUS, NOT, OPEN, OPEN_BRACE, OPEN_SQUARE, OR, PLUS, POWER, SLASH, STAR, TILDE, Token, WALRUS,
    YIELD, is_arithmetic, is_augmented_assignment, is_comparison,
};

/// What an expression is, as far as what is around it wants to know.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Something that a value can be assigned to.
    Target,
    /// Operands joined by `and` or `or`.
    Group(Token),
    Other,
}

impl Parser<'_> {
    pub(super) fn starts_expression(&self) -> bool {
        matches!(self.token, Token::NAME | Token::NUMBER | Token::TEXT | Token::TEXT_START | Token::CONSTANT)
            || matches!(
                self.token,
                NOT | LAMBDA | AWAIT | OPEN | OPEN_SQUARE | OPEN_BRACE | PLUS | MINUS | TILDE | STAR | YIELD
            )
    }

    /// An expression statement or an assignment.
    pub(super) fn expression_statement(&mut self) -> Result<(), Unusual> {
        let mut shape = self.value()?;
        if self.token == COLON {
            assignable(shape)?;
            self.advance()?;
            self.expression()?;
            if self.take(ASSIGN)? {
                self.value()?;
            }
        } else if is_augmented_assignment(self.token) {
            assignable(shape)?;
            self.advance()?;
            self.value()?;
        } else {
            while self.token == ASSIGN {
                assignable(shape)?;
                self.advance()?;
                shape = self.value()?;
            }
        }
        Ok(())
    }

    /// The right side of an assignment.
    fn value(&mut self) -> Result<Shape, Unusual> {
        if self.token == YIELD {
            self.yield_expression()?;
            return Ok(Shape::Other);
        }
        self.expressions()
    }

    fn yield_expression(&mut self) -> Result<(), Unusual> {
        self.expect(YIELD)?;
        if self.take(FROM)? {
            self.expression()?;
        } else if self.starts_expression() {
            self.expressions()?;
        }
        Ok(())
    }

    /// One expression, or several with commas, which are a tuple.
    pub(super) fn expressions(&mut self) -> Result<Shape, Unusual> {
        let mut shape = self.starred_expression()?;
        while self.take(COMMA)? {
            shape = Shape::Target;
            if !self.starts_expression() {
                break;
            }
            self.starred_expression()?;
        }
        Ok(shape)
    }

    fn starred_expression(&mut self) -> Result<Shape, Unusual> {
        if self.take(STAR)? {
            self.expression()?;
            return Ok(Shape::Target);
        }
        self.expression()
    }

    /// Targets of a loop: no comparison, since `in` follows them.
    pub(super) fn targets(&mut self) -> Result<(), Unusual> {
        self.target()?;
        while self.take(COMMA)? {
            if !self.starts_expression() {
                break;
            }
            self.target()?;
        }
        Ok(())
    }

    pub(super) fn target(&mut self) -> Result<(), Unusual> {
        self.take(STAR)?;
        let shape = self.primary()?;
        assignable(shape)
    }

    pub(super) fn named_expression(&mut self) -> Result<Shape, Unusual> {
        let shape = self.expression()?;
        if self.token != WALRUS {
            return Ok(shape);
        }
        assignable(shape)?;
        self.advance()?;
        self.expression()?;
        Ok(Shape::Other)
    }

    pub(super) fn expression(&mut self) -> Result<Shape, Unusual> {
        self.deeper(|parser| {
            if parser.token == LAMBDA {
                parser.lambda()?;
                return Ok(Shape::Other);
            }
            let mark = parser.functions.mark();
            let shape = parser.disjunction()?;
            if parser.token != IF {
                parser.functions.keep(&mark);
                return Ok(shape);
            }
            parser.functions.deepen(&mark);
            parser.functions.decide(1);
            parser.functions.add(Cost::Nested, parser.nesting);
            parser.advance()?;
            parser.nested(|parser| {
                parser.disjunction()?;
                parser.expect(ELSE)?;
                parser.expression()
            })?;
            Ok(Shape::Other)
        })
    }

    fn lambda(&mut self) -> Result<(), Unusual> {
        self.advance()?;
        while self.token != COLON {
            let is_starred = self.take(STAR)? || self.take(POWER)?;
            let is_separator = is_starred || self.take(SLASH)?;
            if self.token == Token::NAME {
                self.advance()?;
                if self.take(ASSIGN)? {
                    self.expression()?;
                }
            } else if !is_separator {
                return Err(Unusual);
            }
            self.separator(COLON)?;
        }
        self.advance()?;
        self.nested(Self::expression)?;
        Ok(())
    }

    fn disjunction(&mut self) -> Result<Shape, Unusual> {
        self.group(OR, Self::conjunction)
    }

    fn conjunction(&mut self) -> Result<Shape, Unusual> {
        self.group(AND, Self::inversion)
    }

    /// Operands joined by one operator: a point for the group. An operand in brackets that is a group of the same operator
    /// belongs to it, so its point is taken back.
    fn group(&mut self, operator: Token, operand: fn(&mut Self) -> Result<Shape, Unusual>) -> Result<Shape, Unusual> {
        let first = operand(self)?;
        if self.token != operator {
            return Ok(first);
        }
        let mut same = u32::from(first == Shape::Group(operator));
        while self.take(operator)? {
            self.functions.decide(1);
            same += u32::from(operand(self)? == Shape::Group(operator));
        }
        self.functions.add(Cost::Flat, self.nesting);
        self.functions.take_back(same);
        Ok(Shape::Group(operator))
    }

    fn inversion(&mut self) -> Result<Shape, Unusual> {
        let mut is_inverted = false;
        while self.take(NOT)? {
            is_inverted = true;
        }
        let shape = self.comparison()?;
        Ok(if is_inverted { Shape::Other } else { shape })
    }

    fn comparison(&mut self) -> Result<Shape, Unusual> {
        let mut shape = self.arithmetic()?;
        while is_comparison(self.token) {
            shape = Shape::Other;
            match self.token {
                NOT => {
                    self.advance()?;
                    self.expect(IN)?;
                }
                IS => {
                    self.advance()?;
                    self.take(NOT)?;
                }
                _ => self.advance()?,
            }
            self.arithmetic()?;
        }
        Ok(shape)
    }

    /// Operands of arithmetic, where nothing costs cognitive complexity.
    fn arithmetic(&mut self) -> Result<Shape, Unusual> {
        let mark = self.functions.mark();
        let shape = self.unary()?;
        if !is_arithmetic(self.token) {
            self.functions.keep(&mark);
            return Ok(shape);
        }
        self.functions.forget(&mark);
        self.functions.effortless += 1;
        while is_arithmetic(self.token) {
            self.advance()?;
            self.unary()?;
        }
        self.functions.effortless -= 1;
        Ok(Shape::Other)
    }

    fn unary(&mut self) -> Result<Shape, Unusual> {
        let mut is_plain = true;
        while matches!(self.token, PLUS | MINUS | TILDE | AWAIT) {
            is_plain = false;
            self.advance()?;
        }
        let shape = self.primary()?;
        Ok(if is_plain { shape } else { Shape::Other })
    }

    /// A value with calls, attributes and indices after it.
    fn primary(&mut self) -> Result<Shape, Unusual> {
        if self.token == Token::NAME && self.lexer.peek_significant() == b'(' {
            let is_recursion = self.functions.may_recurse() && {
                let (name, is_method) = self.functions.innermost();
                !is_method && name.as_bytes() == self.lexer.text()
            };
            if is_recursion {
                self.functions.recurse();
            }
        }
        let mut shape = self.atom()?;
        loop {
            shape = match self.token {
                DOT => {
                    self.advance()?;
                    self.expect(Token::NAME)?;
                    Shape::Target
                }
                OPEN => {
                    self.arguments()?;
                    Shape::Other
                }
                OPEN_SQUARE => {
                    self.indices()?;
                    Shape::Target
                }
                _ => return Ok(shape),
            };
        }
    }

    fn atom(&mut self) -> Result<Shape, Unusual> {
        match self.token {
            Token::NAME => {
                self.advance()?;
                Ok(Shape::Target)
            }
            Token::NUMBER | Token::CONSTANT => {
                self.advance()?;
                Ok(Shape::Other)
            }
            Token::TEXT | Token::TEXT_START => {
                self.texts()?;
                Ok(Shape::Other)
            }
            OPEN => {
                self.advance()?;
                if self.token == YIELD {
                    self.yield_expression()?;
                    self.expect(CLOSE)?;
                    return Ok(Shape::Other);
                }
                self.elements(CLOSE)
            }
            OPEN_SQUARE => {
                self.advance()?;
                let shape = self.elements(CLOSE_SQUARE)?;
                // A list of one element is a list all the same.
                Ok(if shape == Shape::Target { shape } else { Shape::Other })
            }
            OPEN_BRACE => {
                self.advance()?;
                self.elements(CLOSE_BRACE)?;
                Ok(Shape::Other)
            }
            _ => Err(Unusual),
        }
    }

    /// Elements up to a closing bracket, or a comprehension. What one element in round brackets is, the brackets are.
    fn elements(&mut self, end: Token) -> Result<Shape, Unusual> {
        let mut shape = Shape::Target;
        let mut is_single = false;
        // A pair is a key with a value, or `**` with a mapping.
        let (mut count, mut pairs) = (0_u32, 0_u32);
        while self.token != end {
            count += 1;
            let mark = self.functions.mark();
            let is_mapping = end == CLOSE_BRACE && self.take(POWER)?;
            pairs += u32::from(is_mapping);
            let element = if is_mapping || self.take(STAR)? {
                self.expression()?;
                Shape::Target
            } else {
                self.named_expression()?
            };
            if end == CLOSE_BRACE && !is_mapping && self.take(COLON)? {
                pairs += 1;
                self.expression()?;
            }
            // Either all elements of braces are pairs or none is.
            if pairs != 0 && pairs != count {
                return Err(Unusual);
            }
            if matches!(self.token, FOR | ASYNC) {
                self.functions.deepen(&mark);
                self.comprehension()?;
                self.expect(end)?;
                return Ok(Shape::Other);
            }
            self.functions.keep(&mark);
            if !self.take(COMMA)? {
                is_single = count == 1;
                shape = element;
                break;
            }
        }
        self.expect(end)?;
        Ok(if is_single { shape } else { Shape::Target })
    }

    /// The loops and filters of a comprehension, after its element.
    fn comprehension(&mut self) -> Result<(), Unusual> {
        loop {
            match self.token {
                ASYNC => {
                    self.advance()?;
                    if self.token != FOR {
                        return Err(Unusual);
                    }
                }
                FOR => {
                    self.functions.decide(1);
                    self.functions.add(Cost::Nested, self.nesting);
                    self.advance()?;
                    self.targets()?;
                    self.expect(IN)?;
                    self.disjunction()?;
                }
                IF => {
                    self.functions.decide(1);
                    self.functions.add(Cost::Flat, self.nesting);
                    self.advance()?;
                    self.disjunction()?;
                }
                _ => return Ok(()),
            }
        }
    }

    pub(super) fn arguments(&mut self) -> Result<(), Unusual> {
        self.expect(OPEN)?;
        while self.token != CLOSE {
            let mark = self.functions.mark();
            if self.take(STAR)? || self.take(POWER)? {
                self.expression()?;
            } else {
                let shape = self.named_expression()?;
                if self.token == ASSIGN {
                    assignable(shape)?;
                    self.advance()?;
                    self.expression()?;
                }
            }
            if matches!(self.token, FOR | ASYNC) {
                self.functions.deepen(&mark);
                self.comprehension()?;
            } else {
                self.functions.keep(&mark);
            }
            self.separator(CLOSE)?;
        }
        self.advance()
    }

    /// Indices and slices in square brackets.
    fn indices(&mut self) -> Result<(), Unusual> {
        self.expect(OPEN_SQUARE)?;
        if self.token == CLOSE_SQUARE {
            return Err(Unusual);
        }
        while self.token != CLOSE_SQUARE {
            if self.token != COLON {
                self.take(STAR)?;
                self.named_expression()?;
            }
            while self.take(COLON)? {
                if !matches!(self.token, COLON | COMMA | CLOSE_SQUARE) {
                    self.expression()?;
                }
            }
            self.separator(CLOSE_SQUARE)?;
        }
        self.advance()
    }

    /// Strings beside each other are one value.
    fn texts(&mut self) -> Result<(), Unusual> {
        loop {
            match self.token {
                Token::TEXT => self.advance()?,
                Token::TEXT_START => self.interpolated()?,
                _ => return Ok(()),
            }
        }
    }

    fn interpolated(&mut self) -> Result<(), Unusual> {
        let quotes = self.lexer.quotes;
        let (start, start_row) = (self.lexer.start, self.lexer.start_row);
        while self.lexer.piece(quotes, false)? == Piece::Expression {
            self.deeper(|parser| parser.interpolation(quotes))?;
        }
        self.lexer.start = start;
        self.lexer.start_row = start_row;
        self.tokens.operand(self.lexer.text());
        self.read_to_end_of_token();
        self.token = self.lexer.next()?;
        Ok(())
    }

    /// An expression in a string, from behind its `{` to its `}`.
    fn interpolation(&mut self, quotes: Quotes) -> Result<(), Unusual> {
        self.tokens.operator(u16::from(OPEN_BRACE.0));
        self.token = self.lexer.next()?;
        self.value()?;
        self.take(ASSIGN)?;
        if self.token == EXCLAMATION {
            self.token = self.lexer.next()?;
            self.expect(Token::NAME)?;
        }
        if self.token == CLOSE_BRACE {
            return Ok(());
        }
        if self.token != COLON {
            return Err(Unusual);
        }
        self.tokens.operator(u16::from(COLON.0));
        // The format is text again; it may contain expressions.
        while self.lexer.piece(quotes, true)? == Piece::Expression {
            self.deeper(|parser| parser.interpolation(quotes))?;
        }
        self.lexer.close_expression()
    }
}

fn assignable(shape: Shape) -> Result<(), Unusual> {
    if shape == Shape::Target { Ok(()) } else { Err(Unusual) }
}
