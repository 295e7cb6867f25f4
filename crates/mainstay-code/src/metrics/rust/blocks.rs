//! Rust's blocks, statements and control flow.
//!
//! An expression that begins a statement and ends with a block is a statement, also without a semicolon. Rust and the grammar
//! disagree on some of what may follow it, as an operator that could also begin the next statement; such files are left alone.

use crate::definition::Cost;

use super::super::Unusual;
use super::super::functions::Point;
use super::parser::Parser;
use super::words::Token;

impl Parser<'_> {
    /// `{ … }`.
    pub(super) fn block(&mut self) -> Result<(), Unusual> {
        self.expect(Token::OPEN_BRACE)?;
        self.with_braces(false, |parser| {
            while parser.token != Token::CLOSE_BRACE {
                parser.statement()?;
            }
            Ok(())
        })?;
        self.block_end = Point { byte: self.lexer.end, row: self.lexer.start_row };
        self.advance()
    }

    /// One statement, or the expression that is the value of the block.
    fn statement(&mut self) -> Result<(), Unusual> {
        match self.token {
            Token::SEMICOLON => self.advance(),
            Token::LET => self.let_statement(),
            Token::HASH => {
                self.attribute()?;
                if self.token == Token::CLOSE_BRACE { Err(Unusual) } else { Ok(()) }
            }
            _ if self.begins_item() => self.item(),
            _ if self.begins_block() => self.block_statement(),
            _ => {
                let start = self.lexer.start;
                self.expression()?;
                // A macro with braces needs no semicolon.
                let is_complete = self.token == Token::CLOSE_BRACE || self.macro_range == (start, self.end);
                if self.take(Token::SEMICOLON)? || is_complete { Ok(()) } else { Err(Unusual) }
            }
        }
    }

    /// Whether an expression begins that ends with a block.
    fn begins_block(&self) -> bool {
        match self.token {
            Token::ASYNC => {
                let rest = self.lexer.rest();
                let rest = rest.strip_prefix(b"move").unwrap_or(rest);
                rest.trim_ascii_start().first() == Some(&b'{')
            }
            token => token.begins_block(),
        }
    }

    /// A statement that ends with its block, unless something follows that can only be a part of the expression.
    fn block_statement(&mut self) -> Result<(), Unusual> {
        let start = self.lexer.start;
        self.primary()?;
        match self.token {
            Token::DOT | Token::QUESTION => {
                self.expression_after_block(start)?;
                if self.take(Token::SEMICOLON)? || self.token == Token::CLOSE_BRACE { Ok(()) } else { Err(Unusual) }
            }
            // The grammar takes these for operators, Rust for the beginning of the next statement.
            Token::AND_AND | Token::OR_OR | Token::RANGE_INCLUSIVE => Err(Unusual),
            _ => Ok(()),
        }
    }

    /// The rest of an expression that began with a block.
    fn expression_after_block(&mut self, start: usize) -> Result<(), Unusual> {
        let run = self.postfix(start, None)?;
        let run = self.operation_after(run)?;
        let run = self.boolean_after(run)?;
        self.range_or_assignment(run)?;
        Ok(())
    }

    /// `let a: B = c else { … };`, whose `else` is a decision and a level of nesting.
    fn let_statement(&mut self) -> Result<(), Unusual> {
        self.advance()?;
        self.pattern()?;
        if self.take(Token::COLON)? {
            self.any_type()?;
        }
        if self.take(Token::ASSIGN)? {
            self.expression()?;
            if self.take(Token::ELSE)? {
                self.functions.decide(1);
                self.functions.add(Cost::Nested, self.nesting);
                self.nested(Self::block)?;
            }
        }
        self.expect(Token::SEMICOLON)
    }

    /// Expressions that begin with a word, and closures and blocks.
    pub(super) fn control_flow(&mut self) -> Result<(), Unusual> {
        match self.token {
            Token::OPEN_BRACE => self.block(),
            // Its costs would be those of a function that is not open yet.
            _ if self.in_signature => Err(Unusual),
            Token::IF => self.if_expression(),
            Token::MATCH => self.match_expression(),
            Token::WHILE | Token::LOOP | Token::FOR => self.loop_expression(),
            Token::LIFETIME => {
                self.advance()?;
                self.expect(Token::COLON)?;
                match self.token {
                    Token::OPEN_BRACE => self.block(),
                    Token::WHILE | Token::LOOP | Token::FOR => self.loop_expression(),
                    _ => Err(Unusual),
                }
            }
            Token::UNSAFE | Token::CONST => {
                self.advance()?;
                self.block()
            }
            Token::ASYNC | Token::MOVE => {
                let is_async = self.take(Token::ASYNC)?;
                self.take(Token::MOVE)?;
                if is_async && self.token == Token::OPEN_BRACE { self.block() } else { self.closure() }
            }
            Token::OR | Token::OR_OR => self.closure(),
            Token::RETURN => {
                self.advance()?;
                // The grammar reads the closure that `return` returns, but not that of `break`.
                if self.token == Token::OR { self.expression().map(|_| ()) } else { self.optional_value() }
            }
            Token::BREAK => {
                self.jump()?;
                self.optional_value()
            }
            Token::CONTINUE => self.jump(),
            _ => Err(Unusual),
        }
    }

    /// The value of `return` or `break`, if there is one.
    fn optional_value(&mut self) -> Result<(), Unusual> {
        // `if return { … }`: the brace would be its value, and the body be missing.
        if self.token == Token::OPEN_BRACE && self.brace_ends {
            return Err(Unusual);
        }
        if self.token == Token::RANGE || self.begins_operand()? {
            self.expression()?;
        }
        Ok(())
    }

    /// `break` or `continue`, which cost a point with a label.
    fn jump(&mut self) -> Result<(), Unusual> {
        self.advance()?;
        if self.take(Token::LIFETIME)? {
            self.functions.add(Cost::Flat, self.nesting);
            if self.token == Token::COLON {
                return Err(Unusual);
            }
        }
        Ok(())
    }

    /// `if` with every `else`, which cost one point each.
    fn if_expression(&mut self) -> Result<(), Unusual> {
        self.functions.add(Cost::Nested, self.nesting);
        loop {
            self.functions.decide(1);
            self.advance()?;
            self.condition(true)?;
            self.nested(Self::block)?;
            if !self.take(Token::ELSE)? {
                return Ok(());
            }
            self.functions.add(Cost::Flat, self.nesting);
            if self.token != Token::IF {
                return self.nested(Self::block);
            }
        }
    }

    /// A condition, which may be a chain with `let`.
    fn condition(&mut self, brace_ends: bool) -> Result<(), Unusual> {
        self.with_braces(brace_ends, |parser| {
            let mut run = None;
            let mut has_let = parser.token == Token::LET;
            if has_let {
                parser.let_condition()?;
            } else {
                if parser.token == Token::RANGE {
                    return Err(Unusual);
                }
                run = parser.operation()?;
            }
            let mut has_or = false;
            while matches!(parser.token, Token::AND_AND | Token::OR_OR) {
                has_or |= parser.token == Token::OR_OR;
                let operator = parser.boolean_operator(&mut run)?;
                if parser.token == Token::LET {
                    has_let = true;
                    parser.let_condition()?;
                } else {
                    let operand = parser.operation()?;
                    parser.join(&mut run, operator, operand);
                }
            }
            if !has_let {
                parser.range_or_assignment(run)?;
                return Ok(());
            }
            // `let` is no operand of `||`.
            // The grammar accepts some such chains and Rust none.
            if has_or { Err(Unusual) } else { Ok(()) }
        })
    }

    /// `let` in a condition. Its value ends before `&&`: that joins it with the next condition.
    fn let_condition(&mut self) -> Result<(), Unusual> {
        self.advance()?;
        self.pattern()?;
        self.expect(Token::ASSIGN)?;
        self.operation()?;
        Ok(())
    }

    /// `while`, `loop` and `for`. A loop without a condition is no decision.
    fn loop_expression(&mut self) -> Result<(), Unusual> {
        self.functions.add(Cost::Nested, self.nesting);
        let word = self.token;
        self.advance()?;
        if word != Token::LOOP {
            self.functions.decide(1);
        }
        match word {
            Token::WHILE => self.condition(true)?,
            Token::FOR => {
                self.pattern()?;
                self.expect(Token::IN)?;
                self.with_braces(true, Self::expression)?;
            }
            _ => {}
        }
        self.nested(Self::block)
    }

    /// `match`, whose arms are one level deeper.
    fn match_expression(&mut self) -> Result<(), Unusual> {
        self.functions.add(Cost::Nested, self.nesting);
        self.advance()?;
        self.with_braces(true, Self::expression)?;
        self.expect(Token::OPEN_BRACE)?;
        let mut is_first = true;
        self.nested(|parser| {
            parser.with_braces(false, |parser| {
                while parser.token != Token::CLOSE_BRACE {
                    // The first arm is no decision.
                    if !std::mem::replace(&mut is_first, false) {
                        parser.functions.decide(1);
                    }
                    parser.match_arm()?;
                }
                Ok(())
            })
        })?;
        self.advance()
    }

    /// An arm, with its guard and its value. A block needs no comma after it.
    fn match_arm(&mut self) -> Result<(), Unusual> {
        while self.token == Token::HASH {
            self.attribute()?;
        }
        self.pattern()?;
        if self.take(Token::IF)? {
            self.functions.decide(1);
            self.condition(false)?;
        }
        self.expect(Token::FAT_ARROW)?;
        let start = self.lexer.start;
        if !self.begins_block() {
            self.expression()?;
            return self.separator(Token::CLOSE_BRACE);
        }
        self.primary()?;
        match self.token {
            Token::DOT | Token::QUESTION => {
                self.expression_after_block(start)?;
                self.separator(Token::CLOSE_BRACE)
            }
            // The next arm may begin with `&`, but the grammar takes `&&` for an operator.
            Token::AND_AND => Err(Unusual),
            _ => {
                self.take(Token::COMMA)?;
                Ok(())
            }
        }
    }

    /// A closure from its parameters on. It costs nothing and is one level deeper.
    fn closure(&mut self) -> Result<(), Unusual> {
        if self.token == Token::OR_OR {
            // Two signs to the grammar, as if there were parameters between them.
            self.split(Token::OR, Token::OR);
            self.advance()?;
        } else if self.token == Token::OR {
            self.advance()?;
            while self.token != Token::OR {
                self.single_pattern()?;
                if self.take(Token::COLON)? {
                    self.any_type()?;
                }
                // After a comma the grammar takes `|` for the beginning of a pattern.
                if self.take(Token::COMMA)? == (self.token == Token::OR) {
                    return Err(Unusual);
                }
            }
            self.advance()?;
        } else {
            return Err(Unusual);
        }
        if self.take(Token::ARROW)? {
            self.any_type()?;
            return self.nested(Self::block);
        }
        // As the whole body, `_` is no name to the grammar.
        if self.token == Token::UNDERSCORE {
            return Err(Unusual);
        }
        self.nested(Self::expression)?;
        Ok(())
    }
}
