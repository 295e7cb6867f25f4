//! Python's tokens, by number.

/// What a token is, by number: a keyword, operator or bracket (see the constants of this module), or one of the kinds below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token(pub(super) u8);

impl Token {
    pub(super) const NAME: Self = Self(200);
    pub(super) const NUMBER: Self = Self(201);
    /// A string without interpolation.
    pub(super) const TEXT: Self = Self(202);
    /// `None`, `True`, `False`, `...`: values that are words or signs.
    pub(super) const CONSTANT: Self = Self(203);
    /// The beginning of a string with interpolation: its prefix and quotes.
    pub(super) const TEXT_START: Self = Self(210);
    pub(super) const NEWLINE: Self = Self(211);
    pub(super) const INDENT: Self = Self(212);
    pub(super) const DEDENT: Self = Self(213);
    pub(super) const END: Self = Self(214);
}

pub(super) const AND: Token = Token(0);
pub(super) const AS: Token = Token(1);
pub(super) const ASSERT: Token = Token(2);
pub(super) const ASYNC: Token = Token(3);
pub(super) const AWAIT: Token = Token(4);
pub(super) const BREAK: Token = Token(5);
pub(super) const CLASS: Token = Token(6);
pub(super) const CONTINUE: Token = Token(7);
pub(super) const DEF: Token = Token(8);
pub(super) const DEL: Token = Token(9);
pub(super) const ELIF: Token = Token(10);
pub(super) const ELSE: Token = Token(11);
pub(super) const EXCEPT: Token = Token(12);
pub(super) const FINALLY: Token = Token(13);
pub(super) const FOR: Token = Token(14);
pub(super) const FROM: Token = Token(15);
pub(super) const GLOBAL: Token = Token(16);
pub(super) const IF: Token = Token(17);
pub(super) const IMPORT: Token = Token(18);
pub(super) const IN: Token = Token(19);
pub(super) const IS: Token = Token(20);
pub(super) const LAMBDA: Token = Token(21);
pub(super) const NONLOCAL: Token = Token(22);
pub(super) const NOT: Token = Token(23);
pub(super) const OR: Token = Token(24);
pub(super) const PASS: Token = Token(25);
pub(super) const RAISE: Token = Token(26);
pub(super) const RETURN: Token = Token(27);
pub(super) const TRY: Token = Token(28);
pub(super) const WHILE: Token = Token(29);
pub(super) const WITH: Token = Token(30);
pub(super) const YIELD: Token = Token(31);
pub(super) const OPEN: Token = Token(32);
pub(super) const CLOSE: Token = Token(33);
pub(super) const OPEN_SQUARE: Token = Token(34);
pub(super) const CLOSE_SQUARE: Token = Token(35);
pub(super) const OPEN_BRACE: Token = Token(36);
pub(super) const CLOSE_BRACE: Token = Token(37);
pub(super) const COMMA: Token = Token(38);
pub(super) const COLON: Token = Token(39);
pub(super) const SEMICOLON: Token = Token(40);
pub(super) const DOT: Token = Token(41);
pub(super) const ARROW: Token = Token(42);
pub(super) const ASSIGN: Token = Token(43);
pub(super) const WALRUS: Token = Token(44);
pub(super) const AT: Token = Token(45);
pub(super) const PLUS: Token = Token(46);
pub(super) const MINUS: Token = Token(47);
pub(super) const STAR: Token = Token(48);
pub(super) const SLASH: Token = Token(49);
pub(super) const FLOOR: Token = Token(50);
pub(super) const PERCENT: Token = Token(51);
pub(super) const POWER: Token = Token(52);
pub(super) const LEFT: Token = Token(53);
pub(super) const RIGHT: Token = Token(54);
pub(super) const BIT_AND: Token = Token(55);
pub(super) const BIT_OR: Token = Token(56);
pub(super) const BIT_XOR: Token = Token(57);
pub(super) const TILDE: Token = Token(58);
pub(super) const LESS: Token = Token(59);
pub(super) const GREATER: Token = Token(60);
pub(super) const AT_MOST: Token = Token(61);
pub(super) const AT_LEAST: Token = Token(62);
pub(super) const EQUAL: Token = Token(63);
pub(super) const UNEQUAL: Token = Token(64);
pub(super) const ADD_ASSIGN: Token = Token(65);
pub(super) const SUBTRACT_ASSIGN: Token = Token(66);
pub(super) const MULTIPLY_ASSIGN: Token = Token(67);
pub(super) const DIVIDE_ASSIGN: Token = Token(68);
pub(super) const FLOOR_ASSIGN: Token = Token(69);
pub(super) const REMAINDER_ASSIGN: Token = Token(70);
pub(super) const POWER_ASSIGN: Token = Token(71);
pub(super) const LEFT_ASSIGN: Token = Token(72);
pub(super) const RIGHT_ASSIGN: Token = Token(73);
pub(super) const AND_ASSIGN: Token = Token(74);
pub(super) const OR_ASSIGN: Token = Token(75);
pub(super) const XOR_ASSIGN: Token = Token(76);
pub(super) const MATRIX_ASSIGN: Token = Token(77);
pub(super) const EXCLAMATION: Token = Token(80);

/// The word that a name is, if it is a keyword.
pub(super) fn keyword(name: &[u8]) -> Option<Token> {
    // Keywords have two to eight lower-case letters; most names are told apart by that.
    if !(2..=8).contains(&name.len()) || !name[0].is_ascii_lowercase() {
        return None;
    }
    Some(match name {
        b"and" => AND,
        b"as" => AS,
        b"assert" => ASSERT,
        b"async" => ASYNC,
        b"await" => AWAIT,
        b"break" => BREAK,
        b"class" => CLASS,
        b"continue" => CONTINUE,
        b"def" => DEF,
        b"del" => DEL,
        b"elif" => ELIF,
        b"else" => ELSE,
        b"except" => EXCEPT,
        b"finally" => FINALLY,
        b"for" => FOR,
        b"from" => FROM,
        b"global" => GLOBAL,
        b"if" => IF,
        b"import" => IMPORT,
        b"in" => IN,
        b"is" => IS,
        b"lambda" => LAMBDA,
        b"nonlocal" => NONLOCAL,
        b"not" => NOT,
        b"or" => OR,
        b"pass" => PASS,
        b"raise" => RAISE,
        b"return" => RETURN,
        b"try" => TRY,
        b"while" => WHILE,
        b"with" => WITH,
        b"yield" => YIELD,
        _ => return None,
    })
}

/// The sign at the beginning of some bytes, and its length.
pub(super) fn sign(bytes: &[u8]) -> Option<(Token, usize)> {
    let at = |index: usize| bytes.get(index).copied().unwrap_or(0);
    let (first, second, third) = (at(0), at(1), at(2));
    Some(match (first, second, third) {
        (b'/', b'/', b'=') => (FLOOR_ASSIGN, 3),
        (b'*', b'*', b'=') => (POWER_ASSIGN, 3),
        (b'<', b'<', b'=') => (LEFT_ASSIGN, 3),
        (b'>', b'>', b'=') => (RIGHT_ASSIGN, 3),
        (b'-', b'>', _) => (ARROW, 2),
        (b':', b'=', _) => (WALRUS, 2),
        (b'/', b'/', _) => (FLOOR, 2),
        (b'*', b'*', _) => (POWER, 2),
        (b'<', b'<', _) => (LEFT, 2),
        (b'>', b'>', _) => (RIGHT, 2),
        (b'<', b'=', _) => (AT_MOST, 2),
        (b'>', b'=', _) => (AT_LEAST, 2),
        (b'=', b'=', _) => (EQUAL, 2),
        (b'!', b'=', _) => (UNEQUAL, 2),
        (b'+', b'=', _) => (ADD_ASSIGN, 2),
        (b'-', b'=', _) => (SUBTRACT_ASSIGN, 2),
        (b'*', b'=', _) => (MULTIPLY_ASSIGN, 2),
        (b'/', b'=', _) => (DIVIDE_ASSIGN, 2),
        (b'%', b'=', _) => (REMAINDER_ASSIGN, 2),
        (b'&', b'=', _) => (AND_ASSIGN, 2),
        (b'|', b'=', _) => (OR_ASSIGN, 2),
        (b'^', b'=', _) => (XOR_ASSIGN, 2),
        (b'@', b'=', _) => (MATRIX_ASSIGN, 2),
        (b'(', _, _) => (OPEN, 1),
        (b')', _, _) => (CLOSE, 1),
        (b'[', _, _) => (OPEN_SQUARE, 1),
        (b']', _, _) => (CLOSE_SQUARE, 1),
        (b'{', _, _) => (OPEN_BRACE, 1),
        (b'}', _, _) => (CLOSE_BRACE, 1),
        (b',', _, _) => (COMMA, 1),
        (b':', _, _) => (COLON, 1),
        (b';', _, _) => (SEMICOLON, 1),
        (b'.', _, _) => (DOT, 1),
        (b'=', _, _) => (ASSIGN, 1),
        (b'@', _, _) => (AT, 1),
        (b'+', _, _) => (PLUS, 1),
        (b'-', _, _) => (MINUS, 1),
        (b'*', _, _) => (STAR, 1),
        (b'/', _, _) => (SLASH, 1),
        (b'%', _, _) => (PERCENT, 1),
        (b'&', _, _) => (BIT_AND, 1),
        (b'|', _, _) => (BIT_OR, 1),
        (b'^', _, _) => (BIT_XOR, 1),
        (b'~', _, _) => (TILDE, 1),
        (b'<', _, _) => (LESS, 1),
        (b'>', _, _) => (GREATER, 1),
        (b'!', _, _) => (EXCLAMATION, 1),
        _ => return None,
    })
}

/// Binary operators of arithmetic and bits.
pub(super) fn is_arithmetic(token: Token) -> bool {
    matches!(
        token,
        PLUS | MINUS | STAR | SLASH | FLOOR | PERCENT | POWER | LEFT | RIGHT | BIT_AND | BIT_OR | BIT_XOR | AT
    )
}

pub(super) fn is_comparison(token: Token) -> bool {
    matches!(token, LESS | GREATER | AT_MOST | AT_LEAST | EQUAL | UNEQUAL | IN | IS | NOT)
}

/// `+=` and the like.
pub(super) fn is_augmented_assignment(token: Token) -> bool {
    matches!(
        token,
        ADD_ASSIGN
            | SUBTRACT_ASSIGN
            | MULTIPLY_ASSIGN
            | DIVIDE_ASSIGN
            | FLOOR_ASSIGN
            | REMAINDER_ASSIGN
            | POWER_ASSIGN
            | LEFT_ASSIGN
            | RIGHT_ASSIGN
            | AND_ASSIGN
            | OR_ASSIGN
            | XOR_ASSIGN
            | MATRIX_ASSIGN
    )
}

/// Brackets that only close are no operators of their own.
pub(super) fn is_closing(token: Token) -> bool {
    matches!(token, CLOSE | CLOSE_SQUARE | CLOSE_BRACE)
}
