//! Rust's types, their arguments and bounds. They are read to find their ends, and for the names that an `impl` gives.

use super::super::Unusual;
use super::parser::{Parser, TypeKind};
use super::words::Token;

impl Parser<'_> {
    /// A type, which may have bounds: `impl Read + 'a`.
    pub(super) fn any_type(&mut self) -> Result<(), Unusual> {
        let start = self.lexer.start;
        self.single_type()?;
        while self.take(Token::PLUS)? {
            match self.token {
                Token::LIFETIME => self.advance()?,
                Token::USE => self.captures()?,
                _ => self.single_type()?,
            }
            self.type_read(TypeKind::Other, start);
        }
        Ok(())
    }

    /// Notes what was read from `start` on.
    fn type_read(&mut self, kind: TypeKind, start: usize) {
        self.kind = kind;
        self.type_name = (start, self.end);
    }

    /// A type without bounds of its own, as after `as`.
    pub(super) fn single_type(&mut self) -> Result<(), Unusual> {
        self.deeper(Self::type_inside)
    }

    /// One type, at the next level of the thread's stack.
    fn type_inside(&mut self) -> Result<(), Unusual> {
        let start = self.lexer.start;
        let kind = match self.token {
            Token::AND | Token::AND_AND | Token::STAR => return self.reference(),
            Token::LESS | Token::SHIFT_LEFT => {
                self.qualified_self()?;
                return self.type_path(start);
            }
            token if token.begins_path() => return self.type_path(start),
            Token::OPEN_SQUARE => {
                self.advance()?;
                self.any_type()?;
                if self.take(Token::SEMICOLON)? {
                    self.value()?;
                }
                self.expect(Token::CLOSE_SQUARE)?;
                TypeKind::Compound
            }
            Token::OPEN => {
                self.list(Token::CLOSE, Self::any_type)?;
                let is_unit = self.lexer.slice(start + 1, self.end - 1).trim_ascii().is_empty();
                if is_unit { TypeKind::Other } else { TypeKind::Compound }
            }
            Token::NOT => {
                self.advance()?;
                TypeKind::Other
            }
            Token::QUESTION => {
                self.advance()?;
                self.single_type()?;
                TypeKind::Other
            }
            Token::FN | Token::UNSAFE | Token::EXTERN | Token::FOR => {
                self.function_pointer()?;
                TypeKind::Other
            }
            Token::IMPL | Token::DYN => {
                self.advance()?;
                self.trait_type()?;
                TypeKind::Other
            }
            Token::UNDERSCORE if !self.in_parameter_types => {
                self.advance_as(Token::NAME)?;
                TypeKind::Other
            }
            _ => return Err(Unusual),
        };
        self.type_read(kind, start);
        Ok(())
    }

    /// `&'a mut A` or `*const A`. It has the name of what it points to.
    fn reference(&mut self) -> Result<(), Unusual> {
        let is_double = self.token == Token::AND_AND;
        if is_double {
            self.split(Token::AND, Token::AND);
        }
        let second = self.lexer.start;
        let is_pointer = self.token == Token::STAR;
        self.advance()?;
        if !is_pointer {
            self.take(Token::LIFETIME)?;
        }
        if !self.take(Token::MUT)? && is_pointer {
            self.expect(Token::CONST)?;
        }
        let inner = self.lexer.start;
        self.single_type()?;
        self.type_read(TypeKind::Compound, if is_double { second } else { inner });
        Ok(())
    }

    /// A trait with the lifetimes that it is for, after `impl` and `dyn` or among bounds.
    fn trait_type(&mut self) -> Result<(), Unusual> {
        if self.token == Token::FOR {
            self.for_lifetimes()?;
        }
        let is_bracketed = self.token == Token::OPEN;
        let is_path = self.token.begins_path() && self.token != Token::PRIMITIVE;
        if !is_path && !is_bracketed && !matches!(self.token, Token::QUESTION | Token::LESS) {
            return Err(Unusual);
        }
        self.single_type()?;
        if is_bracketed && self.kind == TypeKind::Other { Err(Unusual) } else { Ok(()) }
    }

    /// `fn(A, B) -> C` with its modifiers.
    fn function_pointer(&mut self) -> Result<(), Unusual> {
        if self.token == Token::FOR {
            self.for_lifetimes()?;
        }
        self.take(Token::UNSAFE)?;
        if self.take(Token::EXTERN)? {
            self.take(Token::TEXT)?;
        }
        self.expect(Token::FN)?;
        if self.token == Token::OPEN { self.parameter_types() } else { Err(Unusual) }
    }

    /// The parameters of a function's type, and the type that it returns.
    fn parameter_types(&mut self) -> Result<(), Unusual> {
        let outside = std::mem::replace(&mut self.in_parameter_types, true);
        self.list(Token::CLOSE, |parser| {
            let rest = parser.lexer.rest();
            let is_named = matches!(parser.token, Token::NAME | Token::PRIMITIVE | Token::UNDERSCORE)
                && rest.first() == Some(&b':')
                && rest.get(1) != Some(&b':');
            if is_named {
                parser.advance()?;
                parser.advance()?;
            }
            // Alone it is the pattern of a parameter without a type; deeper inside, the grammar finds an error.
            let is_left_out = parser.token == Token::UNDERSCORE && matches!(rest.first(), Some(b',' | b')'));
            if is_left_out || parser.token == Token::ELLIPSIS { parser.advance() } else { parser.any_type() }
        })?;
        self.in_parameter_types = outside;
        if self.take(Token::ARROW)? { self.single_type() } else { Ok(()) }
    }

    /// `a::B<C>::D`, `Fn(A) -> B`, `name!(…)`.
    fn type_path(&mut self, start: usize) -> Result<(), Unusual> {
        let mut is_first = !self.take(Token::PATH)?;
        let mut follows_arguments = false;
        loop {
            let word = self.token;
            let segment = self.lexer.start;
            let is_name = matches!(word, Token::NAME | Token::PRIMITIVE);
            match word {
                Token::NAME | Token::PRIMITIVE | Token::SUPER => self.advance()?,
                Token::SELF | Token::CRATE if is_first => self.advance()?,
                _ => return Err(Unusual),
            }
            self.type_read(TypeKind::Named, segment);
            // `a as usize < b` compares.
            let has_arguments =
                matches!(self.token, Token::LESS | Token::SHIFT_LEFT) && !(is_first && word == Token::PRIMITIVE);
            match self.token {
                _ if has_arguments => {
                    let name = (start, self.end);
                    self.type_arguments()?;
                    (self.kind, self.type_name) = (TypeKind::Named, name);
                }
                Token::OPEN if word == Token::NAME => {
                    self.parameter_types()?;
                    self.type_read(TypeKind::Other, start);
                    return Ok(());
                }
                Token::NOT if is_name && !follows_arguments => {
                    self.macro_call(start)?;
                    self.type_read(TypeKind::Other, start);
                    return Ok(());
                }
                _ => {}
            }
            is_first = false;
            if !self.take(Token::PATH)? {
                return if is_name { Ok(()) } else { Err(Unusual) };
            }
            // The grammar has no path of more than one name after arguments.
            if follows_arguments && !has_arguments {
                return Err(Unusual);
            }
            follows_arguments = has_arguments;
            if matches!(self.token, Token::LESS | Token::SHIFT_LEFT) {
                self.type_arguments()?;
                self.expect(Token::PATH)?;
            }
        }
    }

    /// `<A as B>` before a path.
    pub(super) fn qualified_self(&mut self) -> Result<(), Unusual> {
        let outside = std::mem::replace(&mut self.in_parameter_types, false);
        self.open_angle()?;
        self.any_type()?;
        if self.take(Token::AS)? {
            self.any_type()?;
        }
        self.close_angle()?;
        self.in_parameter_types = outside;
        if self.token == Token::PATH { Ok(()) } else { Err(Unusual) }
    }

    /// `<`, which may be the beginning of `<<`.
    fn open_angle(&mut self) -> Result<(), Unusual> {
        if self.token == Token::SHIFT_LEFT {
            self.split(Token::LESS, Token::LESS);
            return Ok(());
        }
        self.expect(Token::LESS)
    }

    /// `>`, which may be the beginning of a longer sign.
    fn close_angle(&mut self) -> Result<(), Unusual> {
        let rest = match self.token {
            Token::GREATER => return self.advance(),
            Token::SHIFT_RIGHT => Token::GREATER,
            Token::AT_LEAST => Token::ASSIGN,
            Token::SHIFT_RIGHT_ASSIGN => Token::AT_LEAST,
            _ => return Err(Unusual),
        };
        self.split(Token::GREATER, rest);
        Ok(())
    }

    /// Whether `>` is next, alone or as the beginning of a longer sign.
    fn ends_angle(&self) -> bool {
        matches!(self.token, Token::GREATER | Token::SHIFT_RIGHT | Token::AT_LEAST | Token::SHIFT_RIGHT_ASSIGN)
    }

    /// A list between angle brackets.
    fn angles(&mut self, mut read: impl FnMut(&mut Self) -> Result<(), Unusual>) -> Result<(), Unusual> {
        let outside = std::mem::replace(&mut self.in_parameter_types, false);
        self.open_angle()?;
        while !self.ends_angle() {
            read(self)?;
            if !self.take(Token::COMMA)? && !self.ends_angle() {
                return Err(Unusual);
            }
        }
        self.in_parameter_types = outside;
        self.close_angle()
    }

    /// Such a list with something in it.
    fn filled_angles(&mut self, read: impl FnMut(&mut Self) -> Result<(), Unusual>) -> Result<(), Unusual> {
        if self.lexer.rest().first() == Some(&b'>') { Err(Unusual) } else { self.angles(read) }
    }

    /// `for<'a, 'b>`.
    fn for_lifetimes(&mut self) -> Result<(), Unusual> {
        self.expect(Token::FOR)?;
        self.filled_angles(|parser| parser.expect(Token::LIFETIME))
    }

    /// `use<'a, T>`.
    fn captures(&mut self) -> Result<(), Unusual> {
        self.advance()?;
        self.angles(|parser| if parser.take(Token::LIFETIME)? { Ok(()) } else { parser.expect(Token::NAME) })
    }

    /// `<A, 'b, 3, Item = C>`.
    pub(super) fn type_arguments(&mut self) -> Result<(), Unusual> {
        self.filled_angles(|parser| match parser.token {
            Token::LIFETIME | Token::NUMBER | Token::TEXT | Token::TRUE | Token::FALSE => parser.advance(),
            Token::OPEN_BRACE => parser.with_braces(false, Self::block),
            _ => parser.type_argument(),
        })
    }

    /// A type among arguments, or what a name among them is equal to or bound by.
    fn type_argument(&mut self) -> Result<(), Unusual> {
        let (start, is_name) = (self.lexer.start, self.token == Token::NAME);
        self.any_type()?;
        if self.token == Token::COLON {
            return self.bounds();
        }
        if self.token != Token::ASSIGN {
            return Ok(());
        }
        let (first, end) = self.type_name;
        let has_path = first != start || self.lexer.slice(first, end).contains(&b':');
        if !is_name || has_path || self.kind != TypeKind::Named {
            return Err(Unusual);
        }
        self.advance()?;
        self.any_type()
    }

    /// `: A + 'b + ?Sized`.
    pub(super) fn bounds(&mut self) -> Result<(), Unusual> {
        self.expect(Token::COLON)?;
        loop {
            match self.token {
                Token::LIFETIME => self.advance()?,
                Token::FOR => self.trait_type()?,
                _ => self.single_type()?,
            }
            if !self.take(Token::PLUS)? {
                return Ok(());
            }
        }
    }

    /// `<'a: 'b, T: A = B, const N: usize>` of a definition.
    pub(super) fn type_parameters(&mut self) -> Result<(), Unusual> {
        if self.token != Token::LESS {
            return Ok(());
        }
        self.filled_angles(|parser| {
            parser.attributes()?;
            let is_type = parser.token == Token::NAME;
            match parser.token {
                Token::CONST => return parser.const_parameter(),
                Token::LIFETIME | Token::NAME => parser.advance()?,
                _ => return Err(Unusual),
            }
            if parser.token == Token::COLON {
                parser.bounds()?;
            }
            if is_type && parser.take(Token::ASSIGN)? { parser.any_type() } else { Ok(()) }
        })
    }

    /// `const N: usize = 3`.
    fn const_parameter(&mut self) -> Result<(), Unusual> {
        self.advance()?;
        self.name()?;
        self.expect(Token::COLON)?;
        self.any_type()?;
        if !self.take(Token::ASSIGN)? {
            return Ok(());
        }
        match self.token {
            Token::OPEN_BRACE => self.with_braces(false, Self::block),
            Token::MINUS => {
                self.advance()?;
                self.expect(Token::NUMBER)
            }
            Token::NAME | Token::NUMBER | Token::TEXT | Token::TRUE | Token::FALSE => self.advance(),
            _ => Err(Unusual),
        }
    }

    /// `where T: A, 'b: 'c`.
    pub(super) fn where_clause(&mut self) -> Result<(), Unusual> {
        if !self.take(Token::WHERE)? {
            return Ok(());
        }
        while !matches!(self.token, Token::OPEN_BRACE | Token::SEMICOLON | Token::ASSIGN) {
            if !self.take(Token::LIFETIME)? {
                if self.token == Token::FOR {
                    self.for_lifetimes()?;
                }
                self.single_type()?;
                // The grammar has no bounds of `()`, `fn()` and the like.
                if self.kind == TypeKind::Other {
                    return Err(Unusual);
                }
            }
            self.bounds()?;
            if !self.take(Token::COMMA)? {
                break;
            }
        }
        Ok(())
    }
}
