//! Attributes and macros: their tokens have no syntax.

use super::super::Unusual;
use super::parser::Parser;
use super::words::{self, Token};

/// Where tokens are, which decides what they are. The grammar has a node for each of these places, and the figures follow its
/// nodes: decisions are counted in arguments and bodies, `$name` is one operand in rules and two tokens elsewhere.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tree {
    /// The arguments of a macro or an attribute.
    Arguments,
    /// What a rule of `macro_rules!` matches.
    Pattern,
    /// What a rule of `macro_rules!` expands to.
    Body,
    /// A repetition in a body, whose own tokens are no decisions.
    Repetition,
}

impl Parser<'_> {
    /// `!` and arguments, after the name of a macro.
    pub(super) fn macro_call(&mut self, start: usize) -> Result<(), Unusual> {
        self.expect(Token::NOT)?;
        let has_braces = self.token == Token::OPEN_BRACE;
        self.token_tree(Tree::Arguments)?;
        // Such a call can be a statement or an item without a semicolon.
        if has_braces {
            self.macro_range = (start, self.end);
        }
        Ok(())
    }

    /// Attributes of what follows, as many as there are.
    pub(super) fn attributes(&mut self) -> Result<(), Unusual> {
        while self.token == Token::HASH {
            // `#![…]` belongs to what is around it, and may stand only where statements and items do.
            if self.lexer.rest().first() == Some(&b'!') {
                return Err(Unusual);
            }
            self.attribute()?;
        }
        Ok(())
    }

    /// `#[…]` or `#![…]`.
    pub(super) fn attribute(&mut self) -> Result<(), Unusual> {
        self.expect(Token::HASH)?;
        self.take(Token::NOT)?;
        self.expect(Token::OPEN_SQUARE)?;
        loop {
            match self.token {
                Token::NAME | Token::SELF | Token::SUPER | Token::CRATE | Token::PRIMITIVE => self.advance()?,
                // The grammar knows no `#[unsafe(…)]` and reads a name.
                Token::UNSAFE => self.advance_as(Token::NAME)?,
                _ => return Err(Unusual),
            }
            if !self.take(Token::PATH)? {
                break;
            }
        }
        match self.token {
            Token::ASSIGN => {
                self.advance()?;
                self.value()?;
            }
            Token::CLOSE_SQUARE => {}
            _ => self.token_tree(Tree::Arguments)?,
        }
        self.expect(Token::CLOSE_SQUARE)
    }

    /// `macro_rules! name { … }`.
    pub(super) fn macro_definition(&mut self) -> Result<(), Unusual> {
        self.lexer.extend();
        self.advance_as(Token::MACRO_RULES)?;
        self.name()?;
        let (close, has_braces) = (closing(self.token).ok_or(Unusual)?, self.token == Token::OPEN_BRACE);
        self.advance()?;
        while self.token != close {
            self.token_tree(Tree::Pattern)?;
            self.expect(Token::FAT_ARROW)?;
            self.token_tree(Tree::Body)?;
            if !self.take(Token::SEMICOLON)? && self.token != close {
                return Err(Unusual);
            }
        }
        self.advance()?;
        if has_braces { Ok(()) } else { self.expect(Token::SEMICOLON) }
    }

    /// Brackets and the tokens in them.
    fn token_tree(&mut self, tree: Tree) -> Result<(), Unusual> {
        let close = closing(self.token).ok_or(Unusual)?;
        self.deeper(|parser| {
            parser.advance()?;
            parser.tokens_before(close, tree)?;
            parser.advance()
        })
    }

    /// Reads up to a closing bracket. What precedes `&&` and `||` decides whether they join conditions.
    fn tokens_before(&mut self, close: Token, tree: Tree) -> Result<(), Unusual> {
        let inner = if tree == Tree::Repetition { Tree::Body } else { tree };
        let mut follows_operand = false;
        while self.token != close {
            // To the grammar a comment is a sibling with a name, as operands are.
            follows_operand |= self.lexer.follows_comment;
            follows_operand = match self.token {
                Token::OPEN | Token::OPEN_SQUARE | Token::OPEN_BRACE => {
                    self.token_tree(inner)?;
                    true
                }
                Token::DOLLAR if tree != Tree::Arguments => {
                    self.metavariable(tree)?;
                    true
                }
                token if token.is_closing() => return Err(Unusual),
                _ => self.macro_token(follows_operand, matches!(tree, Tree::Arguments | Tree::Body))?,
            };
        }
        Ok(())
    }

    /// Counts a token, and says whether it has a value.
    fn macro_token(&mut self, follows_operand: bool, decides: bool) -> Result<bool, Unusual> {
        // The quote of a lifetime is not counted, and without it `'static` is the keyword.
        if self.token == Token::LIFETIME {
            self.token = words::word(self.lexer.text());
        }
        if self.token == Token::NAME {
            self.token = match self.lexer.text() {
                b"default" => Token::DEFAULT,
                b"gen" => Token::GEN,
                b"union" => Token::UNION,
                _ => Token::NAME,
            };
        } else if self.token.is_name_in_macro() {
            self.token = Token::NAME;
        }
        let token = self.token;
        let is_decision = match token {
            Token::IF | Token::WHILE | Token::FOR | Token::QUESTION => true,
            // `||` without an operand before it is a closure, `&&` a reference to a reference.
            Token::AND_AND | Token::OR_OR => follows_operand,
            _ => false,
        };
        if is_decision && decides {
            self.functions.decide(1);
        }
        self.advance()?;
        Ok(token.is_operand() || matches!(token, Token::QUESTION | Token::TRUE | Token::FALSE))
    }

    /// `$name`, `$name:kind` or `$(…),*`.
    fn metavariable(&mut self, tree: Tree) -> Result<(), Unusual> {
        match self.lexer.following() {
            b'(' => {
                // `$` and the bracket are two operators.
                self.advance()?;
                self.advance()?;
                self.deeper(|parser| {
                    let inner = if tree == Tree::Pattern { Tree::Pattern } else { Tree::Repetition };
                    parser.tokens_before(Token::CLOSE, inner)
                })?;
                // What follows the closing bracket is no ordinary token.
                self.leave_token();
                self.token = self.lexer.repetition_operator()?;
                self.advance()
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                self.lexer.extend();
                self.advance_as(Token::NAME)?;
                if tree == Tree::Pattern && self.take(Token::COLON)? {
                    let fragment = words::fragment(self.lexer.text()).ok_or(Unusual)?;
                    self.advance_as(fragment)?;
                }
                Ok(())
            }
            _ => Err(Unusual),
        }
    }
}

/// The bracket that closes another.
fn closing(open: Token) -> Option<Token> {
    match open {
        Token::OPEN => Some(Token::CLOSE),
        Token::OPEN_SQUARE => Some(Token::CLOSE_SQUARE),
        Token::OPEN_BRACE => Some(Token::CLOSE_BRACE),
        _ => None,
    }
}
