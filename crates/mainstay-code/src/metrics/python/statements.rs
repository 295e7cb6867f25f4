//! Python's statements.

use crate::definition::{Cost, FunctionKind};
use crate::languages::Language;

use super::super::Unusual;
use super::super::functions::{Functions, NewFunction, Point};
use super::super::halstead::{Position, Tokens};
use super::lexer::Lexer;
use super::words::{
    ARROW, AS, ASSERT, ASSIGN, ASYNC, AT, BREAK, CLASS, CLOSE, COLON, COMMA, CONTINUE, DEF, DEL, DOT, ELIF, ELSE,
    EXCEPT, FINALLY, FOR, FROM, GLOBAL, IF, IMPORT, IN, NONLOCAL, OPEN, PASS, POWER, RAISE, RETURN, SEMICOLON, SLASH,
    STAR, TRY, Token, WHILE, WITH, is_closing,
};

/// Statements and expressions inside each other; each level takes some of the thread's stack.
const MOST_DEPTH: u32 = 80;

/// What a statement was, as far as its block wants to know.
#[derive(Clone, Copy)]
enum Statement {
    /// A function, with the points that grow with each level around it.
    Function(u32),
    Return,
    Other,
}

pub(super) struct Parser<'a> {
    pub(super) lexer: Lexer<'a>,
    /// The token that is looked at; it is counted when the next one is read.
    pub(super) token: Token,
    pub(super) functions: Functions<'static>,
    pub(super) tokens: Tokens,
    pub(super) nesting: u32,
    depth: u32,
    /// Where the last token ended.
    end: Point,
    /// Whether the block that is read is the body of a function.
    in_function_body: bool,
    wanted: &'a dyn Fn() -> bool,
}

impl<'a> Parser<'a> {
    pub(super) fn new(source: &'a [u8], wanted: &'a dyn Fn() -> bool) -> Result<Self, Unusual> {
        let mut lexer = Lexer::new(source);
        let token = lexer.next()?;
        Ok(Self {
            lexer,
            token,
            functions: Functions::new(Language::Python.compiled()),
            tokens: Tokens::default(),
            nesting: 0,
            depth: 0,
            end: Point::default(),
            in_function_body: false,
            wanted,
        })
    }

    /// Counts the current token and reads the next one.
    pub(super) fn advance(&mut self) -> Result<(), Unusual> {
        match self.token {
            Token::NAME | Token::NUMBER | Token::TEXT | Token::CONSTANT => {
                self.tokens.operand(self.lexer.text());
                self.read_to_end_of_token();
            }
            // What has no text of its own, or is counted where it is read as a whole.
            Token::TEXT_START | Token::NEWLINE | Token::INDENT | Token::DEDENT | Token::END => {}
            word => {
                if !is_closing(word) {
                    self.tokens.operator(u16::from(word.0));
                }
                self.read_to_end_of_token();
            }
        }
        self.token = self.lexer.next()?;
        Ok(())
    }

    /// Notes the lines of the token that was read last, and where it ends.
    pub(super) fn read_to_end_of_token(&mut self) {
        let lexer = &mut self.lexer;
        lexer.lines.mark_code(lexer.start_row, lexer.end_row);
        self.end = Point { byte: lexer.end, row: lexer.end_row };
    }

    pub(super) fn take(&mut self, token: Token) -> Result<bool, Unusual> {
        let found = self.token == token;
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub(super) fn expect(&mut self, token: Token) -> Result<(), Unusual> {
        if self.take(token)? { Ok(()) } else { Err(Unusual) }
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

    pub(super) fn file(&mut self) -> Result<(), Unusual> {
        while self.token != Token::END {
            if self.token == Token::NEWLINE {
                self.advance()?;
                continue;
            }
            if !(self.wanted)() {
                return Err(Unusual);
            }
            self.statement()?;
        }
        Ok(())
    }

    fn statement(&mut self) -> Result<Statement, Unusual> {
        match self.token {
            IF => self.if_statement(),
            WHILE => {
                self.advance()?;
                self.decide(Cost::Nested);
                self.named_expression()?;
                self.loop_body()
            }
            FOR => self.for_statement(),
            TRY => self.try_statement(),
            WITH => self.with_statement(),
            DEF => self.function(),
            ASYNC => self.asynchronous(),
            CLASS => self.class(),
            AT => self.decorated(),
            Token::NAME if matches!(self.lexer.text(), b"match" | b"type") => self.soft_keyword(),
            _ => self.simple_statements(),
        }
    }

    /// `match` and `type` are names unless they begin a statement, which the grammar reads.
    fn soft_keyword(&mut self) -> Result<Statement, Unusual> {
        match self.lexer.peek_significant() {
            b'=' | b'.' | b',' | b')' | b':' | b'\n' | b'\r' | b';' | b'|' => self.simple_statements(),
            b'(' if self.lexer.text() == b"type" => self.simple_statements(),
            _ => Err(Unusual),
        }
    }

    fn decide(&mut self, cost: Cost) {
        self.functions.decide(1);
        self.functions.add(cost, self.nesting);
    }

    /// `:` and what follows, on the same line or as a block.
    fn suite(&mut self) -> Result<(), Unusual> {
        let outside = std::mem::replace(&mut self.in_function_body, false);
        self.deeper(Self::block)?;
        self.in_function_body = outside;
        Ok(())
    }

    /// Reads a block, and says what its only two statements were, if it has two.
    fn block(&mut self) -> Result<Option<(Statement, Statement)>, Unusual> {
        self.expect(COLON)?;
        if self.token != Token::NEWLINE {
            self.simple_statements()?;
            return Ok(None);
        }
        self.advance()?;
        self.expect(Token::INDENT)?;
        let mut first_two = [Statement::Other; 2];
        let mut count = 0;
        while self.token != Token::DEDENT {
            if self.token == Token::END {
                return Err(Unusual);
            }
            let statement = self.statement()?;
            if let Some(slot) = first_two.get_mut(count) {
                *slot = statement;
            }
            count += 1;
        }
        self.advance()?;
        Ok((count == 2).then_some((first_two[0], first_two[1])))
    }

    fn if_statement(&mut self) -> Result<Statement, Unusual> {
        self.advance()?;
        self.decide(Cost::Nested);
        self.named_expression()?;
        self.nested(Self::suite)?;
        while self.take(ELIF)? {
            self.decide(Cost::Flat);
            self.named_expression()?;
            self.nested(Self::suite)?;
        }
        if self.take(ELSE)? {
            self.functions.add(Cost::Flat, self.nesting);
            self.nested(Self::suite)?;
        }
        Ok(Statement::Other)
    }

    fn for_statement(&mut self) -> Result<Statement, Unusual> {
        self.advance()?;
        self.decide(Cost::Nested);
        self.targets()?;
        self.expect(IN)?;
        self.expressions()?;
        self.loop_body()
    }

    /// The body of a loop and its `else`, which is a decision.
    fn loop_body(&mut self) -> Result<Statement, Unusual> {
        self.nested(Self::suite)?;
        if self.take(ELSE)? {
            self.functions.decide(1);
            self.suite()?;
        }
        Ok(Statement::Other)
    }

    fn try_statement(&mut self) -> Result<Statement, Unusual> {
        self.advance()?;
        self.suite()?;
        let mut is_complete = false;
        while self.take(EXCEPT)? {
            is_complete = true;
            self.decide(Cost::Nested);
            self.nested(|parser| {
                parser.take(STAR)?;
                if parser.token != COLON {
                    parser.expressions()?;
                    if parser.take(AS)? {
                        parser.expect(Token::NAME)?;
                    }
                }
                parser.suite()
            })?;
        }
        if is_complete && self.take(ELSE)? {
            self.functions.decide(1);
            self.suite()?;
        }
        if self.take(FINALLY)? {
            is_complete = true;
            self.suite()?;
        }
        if is_complete { Ok(Statement::Other) } else { Err(Unusual) }
    }

    fn with_statement(&mut self) -> Result<Statement, Unusual> {
        self.advance()?;
        // Brackets may be around items with `as`, which is no part of an expression.
        if self.token == OPEN {
            return Err(Unusual);
        }
        loop {
            self.expression()?;
            if self.take(AS)? {
                self.target()?;
            }
            if !self.take(COMMA)? {
                break;
            }
        }
        self.suite()?;
        Ok(Statement::Other)
    }

    fn asynchronous(&mut self) -> Result<Statement, Unusual> {
        let (position, start) = (self.tokens.position(), self.start());
        self.advance()?;
        match self.token {
            DEF => self.function_from(start, position),
            FOR => self.for_statement(),
            WITH => self.with_statement(),
            _ => Err(Unusual),
        }
    }

    fn start(&self) -> Point {
        Point { byte: self.lexer.start, row: self.lexer.start_row }
    }

    fn function(&mut self) -> Result<Statement, Unusual> {
        let (position, start) = (self.tokens.position(), self.start());
        self.function_from(start, position)
    }

    fn function_from(&mut self, start: Point, position: Position) -> Result<Statement, Unusual> {
        self.advance()?;
        if self.token != Token::NAME {
            return Err(Unusual);
        }
        let simple_name = String::from_utf8_lossy(self.lexer.text()).into_owned();
        let adds_level = self.in_function_body;
        let kind = FunctionKind::Function;
        let function = NewFunction { simple_name, kind, start, parameters: 0, adds_level };
        let outside = self.nesting;
        self.nesting = self.functions.open(function, outside, position).map_err(|_| Unusual)?;
        self.advance()?;
        let parameters = self.parameters()?;
        self.functions.set_parameters(parameters);
        if self.take(ARROW)? {
            self.expressions()?;
        }
        let in_function_body = std::mem::replace(&mut self.in_function_body, true);
        let body = self.deeper(Self::block)?;
        self.in_function_body = in_function_body;
        // A function that only defines and returns another adds no level to it.
        if let Some((Statement::Function(points), Statement::Return)) = body {
            self.functions.take_back(points);
        }
        self.nesting = outside;
        Ok(Statement::Function(self.functions.close(self.end, &self.tokens, &self.lexer.lines)))
    }

    /// The parameters of a function; returns how many there are.
    fn parameters(&mut self) -> Result<u32, Unusual> {
        self.expect(OPEN)?;
        let mut count = 0;
        while self.token != CLOSE {
            let is_star = self.take(STAR)?;
            if is_star || self.token == POWER || self.token == SLASH {
                // `*` and `/` alone only separate.
                if !is_star {
                    let is_slash = self.token == SLASH;
                    self.advance()?;
                    if is_slash {
                        self.separator(CLOSE)?;
                        continue;
                    }
                } else if self.token == COMMA {
                    self.advance()?;
                    continue;
                }
            }
            self.expect(Token::NAME)?;
            count += 1;
            if self.take(COLON)? {
                self.take(STAR)?;
                self.expression()?;
            }
            if self.take(ASSIGN)? {
                self.expression()?;
            }
            self.separator(CLOSE)?;
        }
        self.advance()?;
        Ok(count)
    }

    /// A comma, or what ends the list.
    pub(super) fn separator(&mut self, end: Token) -> Result<(), Unusual> {
        if self.take(COMMA)? || self.token == end { Ok(()) } else { Err(Unusual) }
    }

    fn class(&mut self) -> Result<Statement, Unusual> {
        self.advance()?;
        if self.token != Token::NAME {
            return Err(Unusual);
        }
        self.functions.enter_type(String::from_utf8_lossy(self.lexer.text()).into_owned());
        self.advance()?;
        if self.token == OPEN {
            self.arguments()?;
        }
        self.suite()?;
        self.functions.leave_type();
        Ok(Statement::Other)
    }

    fn decorated(&mut self) -> Result<Statement, Unusual> {
        while self.take(AT)? {
            self.named_expression()?;
            self.expect(Token::NEWLINE)?;
        }
        match self.token {
            DEF => self.function(),
            ASYNC => self.asynchronous(),
            CLASS => self.class(),
            _ => Err(Unusual),
        }
    }

    /// Statements on one line.
    fn simple_statements(&mut self) -> Result<Statement, Unusual> {
        let mut statement = self.simple_statement()?;
        while self.take(SEMICOLON)? {
            if matches!(self.token, Token::NEWLINE | Token::END) {
                break;
            }
            self.simple_statement()?;
            statement = Statement::Other;
        }
        match self.token {
            Token::NEWLINE => self.advance()?,
            // The last line has no line break; what follows closes the blocks.
            Token::END => self.token = self.lexer.next()?,
            _ => return Err(Unusual),
        }
        Ok(statement)
    }

    fn simple_statement(&mut self) -> Result<Statement, Unusual> {
        match self.token {
            RETURN => {
                self.advance()?;
                if self.starts_expression() {
                    self.expressions()?;
                }
                return Ok(Statement::Return);
            }
            RAISE => {
                self.advance()?;
                if self.starts_expression() {
                    self.expression()?;
                    if self.take(FROM)? {
                        self.expression()?;
                    }
                }
            }
            ASSERT => {
                self.advance()?;
                self.functions.decide(1);
                self.expression()?;
                if self.take(COMMA)? {
                    self.expression()?;
                }
            }
            DEL => {
                self.advance()?;
                self.targets()?;
            }
            PASS | BREAK | CONTINUE => self.advance()?,
            GLOBAL | NONLOCAL => {
                self.advance()?;
                self.expect(Token::NAME)?;
                while self.take(COMMA)? {
                    self.expect(Token::NAME)?;
                }
            }
            IMPORT => {
                self.advance()?;
                self.imported(true)?;
            }
            FROM => self.import_from()?,
            _ => self.expression_statement()?,
        }
        Ok(Statement::Other)
    }

    /// Names after `import`, each with an alias.
    fn imported(&mut self, dotted: bool) -> Result<(), Unusual> {
        loop {
            self.expect(Token::NAME)?;
            while dotted && self.take(DOT)? {
                self.expect(Token::NAME)?;
            }
            if self.take(AS)? {
                self.expect(Token::NAME)?;
            }
            if !self.take(COMMA)? || self.token == CLOSE {
                return Ok(());
            }
        }
    }

    fn import_from(&mut self) -> Result<(), Unusual> {
        self.advance()?;
        let mut is_relative = false;
        while self.token == DOT || (self.token == Token::CONSTANT && self.lexer.text() == b"...") {
            is_relative = true;
            self.advance()?;
        }
        if !is_relative || self.token != IMPORT {
            self.expect(Token::NAME)?;
            while self.take(DOT)? {
                self.expect(Token::NAME)?;
            }
        }
        self.expect(IMPORT)?;
        if self.take(STAR)? {
            return Ok(());
        }
        if !self.take(OPEN)? {
            return self.imported(false);
        }
        self.imported(false)?;
        self.expect(CLOSE)
    }
}
