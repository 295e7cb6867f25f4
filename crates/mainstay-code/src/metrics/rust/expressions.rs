//! Rust's expressions without control flow.
//!
//! The figures need little of their structure: which operators are boolean and in which order they come, which expressions are in
//! brackets directly inside a boolean one, and what is called. So there is no table of precedence here; operands joined by
//! arithmetic and comparisons are one sequence, and those joined by `&&` and `||` another one around it.

use crate::definition::Cost;

use super::super::Unusual;
use super::parser::Parser;
use super::words::Token;

/// The first and the last boolean operator of an expression that is nothing but a boolean one, in brackets or not. It belongs to
/// the expression around it if that is a boolean one too.
#[derive(Clone, Copy)]
pub(super) struct Run {
    first: Token,
    last: Token,
}

/// A path in an expression or a pattern.
pub(super) struct Path {
    pub(super) is_single: bool,
    /// `Vec::<u8>`, without a name after the arguments.
    pub(super) ends_with_arguments: bool,
    is_qualified: bool,
}

impl Parser<'_> {
    /// Any expression, with ranges and assignments.
    pub(super) fn expression(&mut self) -> Result<Option<Run>, Unusual> {
        self.deeper(|parser| {
            if parser.token == Token::RANGE_INCLUSIVE {
                // Without a beginning, the grammar reads `..=` as `..` and an assignment.
                parser.split(Token::RANGE, Token::ASSIGN);
                return parser.range_or_assignment(None);
            }
            let run = if parser.token == Token::RANGE { None } else { parser.boolean()? };
            parser.range_or_assignment(run)
        })
    }

    /// An expression in brackets, or one that a semicolon ends.
    pub(super) fn value(&mut self) -> Result<(), Unusual> {
        self.with_braces(false, Self::expression)?;
        Ok(())
    }

    /// What may follow an operand of a range or an assignment.
    pub(super) fn range_or_assignment(&mut self, run: Option<Run>) -> Result<Option<Run>, Unusual> {
        let mut run = run;
        // A range or an assignment ends a boolean expression: what is in it is a run of its own.
        while matches!(self.token, Token::RANGE | Token::RANGE_INCLUSIVE | Token::ELLIPSIS) {
            run = None;
            // Only `..` can be without an end.
            let needs_end = self.token != Token::RANGE;
            self.advance()?;
            if self.begins_operand()? {
                self.boolean()?;
            } else if needs_end {
                return Err(Unusual);
            }
        }
        if self.token.is_assignment() {
            run = None;
            self.advance()?;
            self.expression()?;
        }
        Ok(run)
    }

    /// Whether an operand follows that may be missing. After such a place the grammar takes `&&`, `||` and `|` for operators.
    pub(super) fn begins_operand(&self) -> Result<bool, Unusual> {
        match self.token {
            Token::AND_AND | Token::OR_OR | Token::OR => Err(Unusual),
            // `for a in 0.. { … }`
            Token::OPEN_BRACE => Ok(!self.brace_ends),
            token => Ok(token.begins_value()),
        }
    }

    /// Operands joined by `&&` and `||`: each operator is a decision, and costs a point unless the one before it was the same.
    fn boolean(&mut self) -> Result<Option<Run>, Unusual> {
        let run = self.operation()?;
        self.boolean_after(run)
    }

    /// The rest of a boolean expression whose first operand was read.
    pub(super) fn boolean_after(&mut self, run: Option<Run>) -> Result<Option<Run>, Unusual> {
        let mut run = run;
        while matches!(self.token, Token::AND_AND | Token::OR_OR) {
            let operator = self.boolean_operator(&mut run)?;
            let operand = self.operation()?;
            self.join(&mut run, operator, operand);
        }
        Ok(run)
    }

    /// Counts `&&` or `||` as part of a run.
    pub(super) fn boolean_operator(&mut self, run: &mut Option<Run>) -> Result<Token, Unusual> {
        let operator = self.token;
        self.advance()?;
        self.functions.decide(1);
        if run.is_none_or(|run| run.last != operator) {
            self.functions.add(Cost::Flat, self.nesting);
        }
        *run = Some(Run { first: run.map_or(operator, |run| run.first), last: operator });
        Ok(operator)
    }

    /// Adds an operand to a run. A boolean expression in brackets goes on with it, so its first operator may cost nothing.
    pub(super) fn join(&mut self, run: &mut Option<Run>, operator: Token, operand: Option<Run>) {
        let (Some(run), Some(operand)) = (run, operand) else { return };
        if operand.first == operator {
            self.functions.take_back(1);
        }
        run.last = operand.last;
    }

    /// Operands joined by arithmetic, comparisons and `as`, which need not be told apart.
    pub(super) fn operation(&mut self) -> Result<Option<Run>, Unusual> {
        let run = self.unary()?;
        self.operation_after(run)
    }

    /// The rest of a sequence whose first operand was read.
    pub(super) fn operation_after(&mut self, run: Option<Run>) -> Result<Option<Run>, Unusual> {
        let mut run = run;
        loop {
            if self.token.is_binary() {
                self.advance()?;
                self.unary()?;
            } else if self.take(Token::AS)? {
                self.single_type()?;
            } else {
                return Ok(run);
            }
            run = None;
        }
    }

    /// An operand with the signs before it. They end a run: `!(a && b)` is not part of the expression around it.
    fn unary(&mut self) -> Result<Option<Run>, Unusual> {
        let mut is_plain = true;
        loop {
            match self.token {
                Token::MINUS | Token::STAR | Token::NOT => self.advance()?,
                Token::AND => {
                    self.advance()?;
                    if self.token == Token::NAME && self.lexer.text() == b"raw" {
                        self.raw_reference()?;
                    }
                    self.take(Token::MUT)?;
                }
                // Two references: nothing is before it that it could join.
                Token::AND_AND => self.split(Token::AND, Token::AND),
                _ => break,
            }
            is_plain = false;
        }
        let start = self.lexer.start;
        let run = self.primary()?;
        let run = self.postfix(start, run)?;
        Ok(if is_plain { run } else { None })
    }

    /// `&raw const a` and `&raw mut a`, where `raw` is no name.
    fn raw_reference(&mut self) -> Result<(), Unusual> {
        let rest = self.lexer.rest();
        if rest.starts_with(b"const ") {
            self.advance_as(Token::RAW)?;
            self.advance()
        } else if rest.starts_with(b"mut ") {
            self.advance_as(Token::RAW)
        } else {
            Ok(())
        }
    }

    /// Calls, fields, indices and `?` after a value.
    pub(super) fn postfix(&mut self, start: usize, run: Option<Run>) -> Result<Option<Run>, Unusual> {
        let mut run = run;
        loop {
            match self.token {
                Token::DOT => self.field()?,
                Token::OPEN => {
                    self.note_recursion(start);
                    self.arguments()?;
                }
                Token::OPEN_SQUARE => {
                    self.advance()?;
                    self.value()?;
                    self.expect(Token::CLOSE_SQUARE)?;
                }
                Token::QUESTION => {
                    self.advance()?;
                    self.functions.decide(1);
                }
                _ => return Ok(run),
            }
            run = None;
        }
    }

    /// `.name`, `.name::<A>`, `.0`, `.await`.
    fn field(&mut self) -> Result<(), Unusual> {
        // The token after the dot is read by `advance`.
        self.lexer.at_field = true;
        self.advance()?;
        self.lexer.at_field = false;
        match self.token {
            Token::NUMBER | Token::AWAIT => return self.advance(),
            _ => self.expect_name()?,
        }
        if self.take(Token::PATH)? {
            self.type_arguments()?;
            if self.token != Token::OPEN {
                return Err(Unusual);
            }
        }
        Ok(())
    }

    /// Whether what begins at `start` is the function itself, which is called here.
    fn note_recursion(&mut self, start: usize) {
        if !self.functions.may_recurse() {
            return;
        }
        // The grammar's analyser compares the text of what is called, so `self . name` and `name::<A>` are no recursion.
        let target = self.lexer.slice(start, self.end);
        let (name, is_method) = self.functions.innermost();
        let name = name.as_bytes();
        let is_recursion = if is_method {
            let receiver = target.strip_suffix(name);
            receiver.is_some_and(|receiver| matches!(receiver, b"self." | b"Self::" | b"this." | b"cls."))
        } else {
            target == name
        };
        if is_recursion {
            self.functions.recurse();
        }
    }

    /// The arguments of a call.
    fn arguments(&mut self) -> Result<(), Unusual> {
        // A call in a signature might be recursion of a function that is not known yet.
        if self.in_signature {
            return Err(Unusual);
        }
        self.list(Token::CLOSE, |parser| {
            parser.attributes()?;
            parser.value()
        })
    }

    /// A value without operators. Control flow is in `blocks.rs`.
    pub(super) fn primary(&mut self) -> Result<Option<Run>, Unusual> {
        match self.token {
            token if token.begins_path() => self.path_expression()?,
            Token::NUMBER | Token::TEXT | Token::TRUE | Token::FALSE => self.advance()?,
            Token::OPEN => return self.brackets(),
            Token::OPEN_SQUARE => self.array()?,
            Token::LESS | Token::SHIFT_LEFT => self.path_expression()?,
            Token::UNDERSCORE => self.advance_as(Token::NAME)?,
            _ => self.deeper(Self::control_flow)?,
        }
        Ok(None)
    }

    /// `(a)`, which is what `a` is, or a tuple.
    fn brackets(&mut self) -> Result<Option<Run>, Unusual> {
        let mut run = None;
        let mut count = 0;
        self.list(Token::CLOSE, |parser| {
            run = parser.expression()?;
            // With a comma it is a tuple, even of one element.
            count += if parser.token == Token::CLOSE { 1 } else { 2 };
            Ok(())
        })?;
        Ok(if count == 1 { run } else { None })
    }

    /// `[a, b]` or `[a; length]`.
    fn array(&mut self) -> Result<(), Unusual> {
        let mut is_first = true;
        self.list(Token::CLOSE_SQUARE, |parser| {
            parser.attributes()?;
            parser.value()?;
            let has_length = std::mem::replace(&mut is_first, false) && parser.take(Token::SEMICOLON)?;
            if !has_length {
                return Ok(());
            }
            parser.value()?;
            if parser.token == Token::CLOSE_SQUARE { Ok(()) } else { Err(Unusual) }
        })
    }

    /// A name or path: a value, a macro or a struct.
    fn path_expression(&mut self) -> Result<(), Unusual> {
        let (start, first) = (self.lexer.start, self.token);
        let path = self.path()?;
        let is_keyword = matches!(first, Token::SELF | Token::SUPER | Token::CRATE);
        if path.is_single && is_keyword {
            return if first == Token::SELF { Ok(()) } else { Err(Unusual) };
        }
        match self.token {
            Token::NOT if !path.ends_with_arguments => self.macro_call(start),
            Token::OPEN_BRACE if !self.brace_ends => {
                // `<A as B>::C { … }` is unstable, and primitive types have no fields.
                if path.is_qualified || (path.is_single && first == Token::PRIMITIVE) {
                    return Err(Unusual);
                }
                self.list(Token::CLOSE_BRACE, Self::struct_field)
            }
            _ => Ok(()),
        }
    }

    /// `a::b`, `Vec::<u8>::new`, `<A as B>::c`.
    pub(super) fn path(&mut self) -> Result<Path, Unusual> {
        let is_qualified = matches!(self.token, Token::LESS | Token::SHIFT_LEFT);
        if is_qualified {
            self.qualified_self()?;
        }
        let mut path = Path { is_single: !self.take(Token::PATH)?, ends_with_arguments: false, is_qualified };
        let mut is_first = path.is_single;
        loop {
            // Keywords have no arguments: `crate::<A>` is an error, and `u8::<A>` one to the grammar.
            let is_name = self.token == Token::NAME;
            match self.token {
                Token::NAME | Token::PRIMITIVE | Token::SUPER => self.advance()?,
                Token::SELF | Token::CRATE if is_first => self.advance()?,
                _ => return Err(Unusual),
            }
            is_first = false;
            if !self.take(Token::PATH)? {
                return Ok(path);
            }
            path.is_single = false;
            if matches!(self.token, Token::LESS | Token::SHIFT_LEFT) && is_name {
                self.type_arguments()?;
                if !self.take(Token::PATH)? {
                    path.ends_with_arguments = true;
                    return Ok(path);
                }
            }
        }
    }

    /// `a: b`, `c` or `..d` in the braces of a struct.
    fn struct_field(&mut self) -> Result<(), Unusual> {
        if self.take(Token::RANGE)? {
            return self.value();
        }
        self.attributes()?;
        let is_number = self.take(Token::NUMBER)?;
        if !is_number {
            self.expect_name()?;
        }
        if self.take(Token::COLON)? {
            return self.value();
        }
        if is_number { Err(Unusual) } else { Ok(()) }
    }
}
