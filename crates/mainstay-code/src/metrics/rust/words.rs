//! Rust's tokens, by number.
//!
//! The grammar has a number for each word and sign, and Halstead's operators are told apart by it; these numbers stand for the same
//! ones. Some are in an order that makes a group of them a range, since the reader asks for every token what it can begin.

/// What a token is. Its number is also that of the operator, where the token is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token(pub(super) u8);

impl Token {
    // Operators between two values; the functions below rely on the order.
    pub(super) const PLUS: Self = Self(0);
    pub(super) const MINUS: Self = Self(1);
    pub(super) const STAR: Self = Self(2);
    const SLASH: Self = Self(3);
    const PERCENT: Self = Self(4);
    const CARET: Self = Self(5);
    pub(super) const AND: Self = Self(6);
    pub(super) const OR: Self = Self(7);
    pub(super) const SHIFT_LEFT: Self = Self(8);
    pub(super) const SHIFT_RIGHT: Self = Self(9);
    const EQUAL: Self = Self(10);
    const UNEQUAL: Self = Self(11);
    pub(super) const LESS: Self = Self(12);
    pub(super) const GREATER: Self = Self(13);
    const AT_MOST: Self = Self(14);
    pub(super) const AT_LEAST: Self = Self(15);
    // Assignments.
    pub(super) const ASSIGN: Self = Self(16);
    const ADD_ASSIGN: Self = Self(17);
    const SUBTRACT_ASSIGN: Self = Self(18);
    const MULTIPLY_ASSIGN: Self = Self(19);
    const DIVIDE_ASSIGN: Self = Self(20);
    const REMAINDER_ASSIGN: Self = Self(21);
    const XOR_ASSIGN: Self = Self(22);
    const AND_ASSIGN: Self = Self(23);
    const OR_ASSIGN: Self = Self(24);
    const SHIFT_LEFT_ASSIGN: Self = Self(25);
    pub(super) const SHIFT_RIGHT_ASSIGN: Self = Self(26);
    // Other signs.
    pub(super) const AND_AND: Self = Self(30);
    pub(super) const OR_OR: Self = Self(31);
    pub(super) const NOT: Self = Self(32);
    pub(super) const QUESTION: Self = Self(33);
    pub(super) const DOT: Self = Self(34);
    pub(super) const RANGE: Self = Self(35);
    pub(super) const RANGE_INCLUSIVE: Self = Self(36);
    pub(super) const ELLIPSIS: Self = Self(37);
    pub(super) const COMMA: Self = Self(38);
    pub(super) const SEMICOLON: Self = Self(39);
    pub(super) const COLON: Self = Self(40);
    pub(super) const PATH: Self = Self(41);
    pub(super) const ARROW: Self = Self(42);
    pub(super) const FAT_ARROW: Self = Self(43);
    pub(super) const HASH: Self = Self(44);
    pub(super) const DOLLAR: Self = Self(45);
    pub(super) const AT: Self = Self(46);
    pub(super) const UNDERSCORE: Self = Self(47);
    pub(super) const OPEN: Self = Self(48);
    pub(super) const OPEN_SQUARE: Self = Self(49);
    pub(super) const OPEN_BRACE: Self = Self(50);
    // Words that are operators: first those that begin a value, then those that begin an item.
    pub(super) const IF: Self = Self(60);
    pub(super) const MATCH: Self = Self(61);
    pub(super) const WHILE: Self = Self(62);
    pub(super) const LOOP: Self = Self(63);
    pub(super) const FOR: Self = Self(64);
    pub(super) const UNSAFE: Self = Self(65);
    pub(super) const CONST: Self = Self(66);
    pub(super) const ASYNC: Self = Self(67);
    pub(super) const RETURN: Self = Self(68);
    pub(super) const BREAK: Self = Self(69);
    pub(super) const CONTINUE: Self = Self(70);
    pub(super) const TRUE: Self = Self(71);
    pub(super) const FALSE: Self = Self(72);
    pub(super) const ENUM: Self = Self(73);
    pub(super) const FN: Self = Self(74);
    pub(super) const IMPL: Self = Self(75);
    pub(super) const MOD: Self = Self(76);
    pub(super) const PUB: Self = Self(77);
    pub(super) const STATIC: Self = Self(78);
    pub(super) const STRUCT: Self = Self(79);
    pub(super) const TRAIT: Self = Self(80);
    pub(super) const TYPE: Self = Self(81);
    pub(super) const USE: Self = Self(82);
    pub(super) const AS: Self = Self(83);
    pub(super) const AWAIT: Self = Self(84);
    pub(super) const LET: Self = Self(85);
    pub(super) const WHERE: Self = Self(86);
    // Words that are operators in syntax and names among the tokens of a macro.
    pub(super) const DYN: Self = Self(90);
    pub(super) const ELSE: Self = Self(91);
    pub(super) const EXTERN: Self = Self(92);
    pub(super) const IN: Self = Self(93);
    pub(super) const MOVE: Self = Self(94);
    pub(super) const REF: Self = Self(95);
    const TRY: Self = Self(96);
    const YIELD: Self = Self(97);
    // Names that are operators in some places.
    pub(super) const DEFAULT: Self = Self(100);
    pub(super) const GEN: Self = Self(101);
    pub(super) const UNION: Self = Self(102);
    pub(super) const MACRO_RULES: Self = Self(103);
    pub(super) const RAW: Self = Self(104);
    // What only closes.
    pub(super) const CLOSE: Self = Self(150);
    pub(super) const CLOSE_SQUARE: Self = Self(151);
    pub(super) const CLOSE_BRACE: Self = Self(152);
    pub(super) const END: Self = Self(153);
    // Operands.
    pub(super) const NAME: Self = Self(200);
    /// `u8`, `str` and the like: as types they have no arguments.
    pub(super) const PRIMITIVE: Self = Self(201);
    pub(super) const NUMBER: Self = Self(202);
    pub(super) const TEXT: Self = Self(203);
    pub(super) const SELF: Self = Self(204);
    pub(super) const SUPER: Self = Self(205);
    pub(super) const CRATE: Self = Self(206);
    pub(super) const MUT: Self = Self(207);
    /// A lifetime or label, without its quote.
    pub(super) const LIFETIME: Self = Self(208);

    pub(super) fn is_operand(self) -> bool {
        self.0 >= Self::NAME.0
    }

    /// Not a token of its own: each pair of brackets is one operator.
    pub(super) fn is_closing(self) -> bool {
        (Self::CLOSE.0..=Self::END.0).contains(&self.0)
    }

    /// An operator between two values that is no boolean one.
    pub(super) fn is_binary(self) -> bool {
        self.0 <= Self::AT_LEAST.0
    }

    pub(super) fn is_assignment(self) -> bool {
        (Self::ASSIGN.0..=Self::SHIFT_RIGHT_ASSIGN.0).contains(&self.0)
    }

    /// A word that is a name among the tokens of a macro.
    pub(super) fn is_name_in_macro(self) -> bool {
        (Self::DYN.0..=Self::YIELD.0).contains(&self.0)
    }

    /// A word that begins an item and nothing else.
    pub(super) fn begins_item(self) -> bool {
        (Self::ENUM.0..=Self::USE.0).contains(&self.0) || self == Self::EXTERN
    }

    /// A word or sign that begins an expression with a block, or may begin one.
    pub(super) fn begins_block(self) -> bool {
        (Self::IF.0..=Self::CONST.0).contains(&self.0) || matches!(self, Self::OPEN_BRACE | Self::LIFETIME)
    }

    /// A word or sign that may begin an expression, but for `{`, `..`, `&&` and `||`.
    pub(super) fn begins_value(self) -> bool {
        let is_word = (Self::IF.0..=Self::FALSE.0).contains(&self.0) || self == Self::MOVE;
        let is_sign = matches!(self, Self::MINUS | Self::STAR | Self::NOT | Self::AND | Self::OR | Self::LESS);
        let opens = matches!(self, Self::OPEN | Self::OPEN_SQUARE | Self::PATH | Self::UNDERSCORE);
        is_word || is_sign || opens || (self.is_operand() && self != Self::MUT)
    }

    /// A word or sign that may begin a path.
    pub(super) fn begins_path(self) -> bool {
        matches!(self, Self::NAME | Self::PRIMITIVE | Self::SELF | Self::SUPER | Self::CRATE | Self::PATH)
    }
}

/// The token that a word is.
pub(super) fn word(text: &[u8]) -> Token {
    // Words with a meaning have two to eight small letters; most names are told apart by that.
    if !(2..=8).contains(&text.len()) || !text[0].is_ascii_lowercase() {
        return if text == b"_" { Token::UNDERSCORE } else { Token::NAME };
    }
    match text {
        b"as" => Token::AS,
        b"async" => Token::ASYNC,
        b"await" => Token::AWAIT,
        b"break" => Token::BREAK,
        b"const" => Token::CONST,
        b"continue" => Token::CONTINUE,
        b"crate" => Token::CRATE,
        b"dyn" => Token::DYN,
        b"else" => Token::ELSE,
        b"enum" => Token::ENUM,
        b"extern" => Token::EXTERN,
        b"false" => Token::FALSE,
        b"fn" => Token::FN,
        b"for" => Token::FOR,
        b"if" => Token::IF,
        b"impl" => Token::IMPL,
        b"in" => Token::IN,
        b"let" => Token::LET,
        b"loop" => Token::LOOP,
        b"match" => Token::MATCH,
        b"mod" => Token::MOD,
        b"move" => Token::MOVE,
        b"mut" => Token::MUT,
        b"pub" => Token::PUB,
        b"ref" => Token::REF,
        b"return" => Token::RETURN,
        b"self" => Token::SELF,
        b"static" => Token::STATIC,
        b"struct" => Token::STRUCT,
        b"super" => Token::SUPER,
        b"trait" => Token::TRAIT,
        b"true" => Token::TRUE,
        b"try" => Token::TRY,
        b"type" => Token::TYPE,
        b"unsafe" => Token::UNSAFE,
        b"use" => Token::USE,
        b"where" => Token::WHERE,
        b"while" => Token::WHILE,
        b"yield" => Token::YIELD,
        b"u8" | b"i8" | b"u16" | b"i16" | b"u32" | b"i32" | b"u64" | b"i64" | b"u128" | b"i128" | b"isize"
        | b"usize" | b"f32" | b"f64" | b"bool" | b"str" | b"char" => Token::PRIMITIVE,
        _ => Token::NAME,
    }
}

/// The sign that begins with these bytes, and its length.
///
/// The longest sign is taken, as the grammar does where it is possible there. Where it is not, the parser splits it.
pub(super) fn sign(first: u8, second: u8, third: u8) -> Option<(Token, usize)> {
    Some(match (first, second, third) {
        (b'<', b'<', b'=') => (Token::SHIFT_LEFT_ASSIGN, 3),
        (b'>', b'>', b'=') => (Token::SHIFT_RIGHT_ASSIGN, 3),
        (b'.', b'.', b'=') => (Token::RANGE_INCLUSIVE, 3),
        (b'.', b'.', b'.') => (Token::ELLIPSIS, 3),
        (b'<', b'<', _) => (Token::SHIFT_LEFT, 2),
        (b'>', b'>', _) => (Token::SHIFT_RIGHT, 2),
        (b'.', b'.', _) => (Token::RANGE, 2),
        (b':', b':', _) => (Token::PATH, 2),
        (b'-', b'>', _) => (Token::ARROW, 2),
        (b'=', b'>', _) => (Token::FAT_ARROW, 2),
        (b'&', b'&', _) => (Token::AND_AND, 2),
        (b'|', b'|', _) => (Token::OR_OR, 2),
        (b'=', b'=', _) => (Token::EQUAL, 2),
        (b'!', b'=', _) => (Token::UNEQUAL, 2),
        (b'<', b'=', _) => (Token::AT_MOST, 2),
        (b'>', b'=', _) => (Token::AT_LEAST, 2),
        (b'+', b'=', _) => (Token::ADD_ASSIGN, 2),
        (b'-', b'=', _) => (Token::SUBTRACT_ASSIGN, 2),
        (b'*', b'=', _) => (Token::MULTIPLY_ASSIGN, 2),
        (b'/', b'=', _) => (Token::DIVIDE_ASSIGN, 2),
        (b'%', b'=', _) => (Token::REMAINDER_ASSIGN, 2),
        (b'^', b'=', _) => (Token::XOR_ASSIGN, 2),
        (b'&', b'=', _) => (Token::AND_ASSIGN, 2),
        (b'|', b'=', _) => (Token::OR_ASSIGN, 2),
        (b'(', ..) => (Token::OPEN, 1),
        (b')', ..) => (Token::CLOSE, 1),
        (b'[', ..) => (Token::OPEN_SQUARE, 1),
        (b']', ..) => (Token::CLOSE_SQUARE, 1),
        (b'{', ..) => (Token::OPEN_BRACE, 1),
        (b'}', ..) => (Token::CLOSE_BRACE, 1),
        (b',', ..) => (Token::COMMA, 1),
        (b';', ..) => (Token::SEMICOLON, 1),
        (b':', ..) => (Token::COLON, 1),
        (b'.', ..) => (Token::DOT, 1),
        (b'=', ..) => (Token::ASSIGN, 1),
        (b'&', ..) => (Token::AND, 1),
        (b'|', ..) => (Token::OR, 1),
        (b'!', ..) => (Token::NOT, 1),
        (b'?', ..) => (Token::QUESTION, 1),
        (b'<', ..) => (Token::LESS, 1),
        (b'>', ..) => (Token::GREATER, 1),
        (b'+', ..) => (Token::PLUS, 1),
        (b'-', ..) => (Token::MINUS, 1),
        (b'*', ..) => (Token::STAR, 1),
        (b'/', ..) => (Token::SLASH, 1),
        (b'%', ..) => (Token::PERCENT, 1),
        (b'^', ..) => (Token::CARET, 1),
        (b'#', ..) => (Token::HASH, 1),
        (b'$', ..) => (Token::DOLLAR, 1),
        (b'@', ..) => (Token::AT, 1),
        _ => return None,
    })
}

/// The kinds of syntax that a parameter of a macro can stand for. Each is an operator.
const FRAGMENTS: [&[u8]; 15] = [
    b"block",
    b"expr",
    b"expr_2021",
    b"ident",
    b"item",
    b"lifetime",
    b"literal",
    b"meta",
    b"pat",
    b"pat_param",
    b"path",
    b"stmt",
    b"tt",
    b"ty",
    b"vis",
];
const FIRST_FRAGMENT: u8 = 110;

pub(super) fn fragment(text: &[u8]) -> Option<Token> {
    let index = FRAGMENTS.iter().position(|fragment| *fragment == text)?;
    Some(Token(FIRST_FRAGMENT + u8::try_from(index).ok()?))
}
