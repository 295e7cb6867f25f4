//! What kind of character a character is, for the splitting of terms.

/// The kind of a character, as far as it decides where a word ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Not part of a word.
    Separator,
    /// Joins the parts of an identifier.
    Underscore,
    Upper,
    /// A small letter, or a letter of a script that has no case.
    Lower,
    Digit,
    /// A letter of a script that is written without spaces between words.
    Unspaced,
}

impl Kind {
    /// The kind of a byte that is a character of its own.
    pub(super) fn of_ascii(byte: u8) -> Option<Self> {
        ASCII.get(usize::from(byte)).copied()
    }

    pub(super) fn of(character: char) -> Self {
        match character {
            '\0'..='\x7f' => ASCII[character as usize],
            _ if is_unspaced(character) => Self::Unspaced,
            _ if character.is_uppercase() => Self::Upper,
            // A combining accent stays with its letter, or "é" in two code points would be two words.
            '\u{300}'..='\u{36f}' => Self::Lower,
            _ if character.is_alphabetic() => Self::Lower,
            _ if character.is_numeric() => Self::Digit,
            _ => Self::Separator,
        }
    }
}

/// A table, because the kind of every byte of every file is asked for.
const ASCII: [Kind; 128] = {
    let mut table = [Kind::Separator; 128];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = match byte {
            b'a'..=b'z' => Kind::Lower,
            b'A'..=b'Z' => Kind::Upper,
            b'0'..=b'9' => Kind::Digit,
            b'_' => Kind::Underscore,
            _ => Kind::Separator,
        };
        byte += 1;
    }
    table
};

/// Scripts in which a word cannot be told from its neighbours without a dictionary. Korean has spaces, but writes particles
/// onto its words, so that whole words seldom match.
fn is_unspaced(character: char) -> bool {
    matches!(character,
        '\u{0e01}'..='\u{0edf}'      // Thai, Lao
        | '\u{1000}'..='\u{109f}'    // Myanmar
        | '\u{1100}'..='\u{11ff}'    // Hangul letters
        | '\u{1780}'..='\u{17d3}'    // Khmer
        | '\u{3005}'..='\u{3007}'    // Iteration marks and zero
        | '\u{3041}'..='\u{309f}'    // Hiragana
        | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' // Katakana
        | '\u{3105}'..='\u{318e}'    // Bopomofo, Hangul compatibility letters
        | '\u{31a0}'..='\u{31bf}' | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' // Chinese characters
        | '\u{ac00}'..='\u{d7a3}'    // Hangul syllables
        | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ffdc}'    // Half-width forms
        | '\u{1b000}'..='\u{1b16f}'  // Historic kana
        | '\u{20000}'..='\u{3ffff}') // Rare Chinese characters
}

/// Appends the lower-case form of a character. Both forms of the Greek sigma become one, and the dot that the Turkish "İ"
/// leaves behind is dropped, since otherwise a word in capitals would not equal the same word in small letters.
pub(super) fn push_lower(character: char, into: &mut String) {
    if character.is_ascii() {
        into.push(character.to_ascii_lowercase());
        return;
    }
    for lower in character.to_lowercase() {
        match lower {
            'ς' => into.push('σ'),
            '\u{307}' => {}
            _ => into.push(lower),
        }
    }
}
