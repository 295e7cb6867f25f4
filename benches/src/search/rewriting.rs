//! Source files made of others by exchanging identifiers, so that a few thousand give hundreds of thousands that differ.

use std::collections::BTreeMap;

use crate::bench_support::pseudo_random::PseudoRandom;
use crate::search::source_files::SourceFile;

/// Identifiers as long as this or longer are exchanged; most keywords are shorter.
const SHORTEST: usize = 4;
/// Of all identifiers of a file, one in so many is exchanged: its other words keep it a file about something.
const ONE_IN: u64 = 3;
/// A word of the vocabulary occurs in the sources at least so often.
const LEAST_USES: usize = 8;
const WORD: std::ops::RangeInclusive<usize> = 3..=10;

/// What the parsers must find where it is.
const KEYWORDS: [&str; 46] = [
    "abstract",
    "async",
    "await",
    "bool",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "crate",
    "default",
    "define",
    "double",
    "elif",
    "else",
    "endif",
    "enum",
    "export",
    "extends",
    "extern",
    "false",
    "float",
    "func",
    "function",
    "ifdef",
    "impl",
    "import",
    "include",
    "interface",
    "match",
    "namespace",
    "package",
    "private",
    "public",
    "return",
    "self",
    "static",
    "struct",
    "switch",
    "this",
    "trait",
    "true",
    "type",
    "void",
    "while",
];

/// The words that identifiers are made of.
pub(crate) struct Vocabulary {
    words: Vec<String>,
}

impl Vocabulary {
    /// The parts of identifiers that the sources use often.
    pub(crate) fn of(sources: &[SourceFile]) -> Self {
        let mut uses: BTreeMap<String, usize> = BTreeMap::new();
        for source in sources {
            for part in source.text.split(|letter: char| !letter.is_ascii_lowercase()) {
                if WORD.contains(&part.len()) && !KEYWORDS.contains(&part) {
                    *uses.entry(part.to_owned()).or_default() += 1;
                }
            }
        }
        let often = uses.into_iter().filter(|(_, uses)| *uses >= LEAST_USES);
        let mut words: Vec<String> = often.map(|(word, _)| word).collect();
        if words.is_empty() {
            words.push("word".to_owned());
        }
        Self { words }
    }

    /// The word of a number.
    fn word(&self, number: u64) -> &str {
        let place = usize::try_from(number % self.words.len() as u64).unwrap_or(0);
        &self.words[place]
    }

    pub(crate) fn draw(&self, numbers: &mut PseudoRandom) -> &str {
        self.word(numbers.draw() >> 8)
    }

    /// The source with a third of its identifiers exchanged. One identifier becomes the same everywhere in a file, and
    /// another one with another seed.
    pub(crate) fn rewrite(&self, source: &str, seed: u64) -> String {
        let mut text = String::with_capacity(source.len() + source.len() / 8);
        let mut rest = source;
        while let Some(start) = rest.find(|letter: char| letter.is_ascii_alphabetic() || letter == '_') {
            text.push_str(&rest[..start]);
            rest = &rest[start..];
            let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(rest.len());
            self.write(&rest[..end], seed, &mut text);
            rest = &rest[end..];
        }
        text.push_str(rest);
        text
    }

    fn write(&self, identifier: &str, seed: u64, text: &mut String) {
        let number = hash(identifier, seed);
        if identifier.len() < SHORTEST || !number.is_multiple_of(ONE_IN) || KEYWORDS.contains(&identifier) {
            text.push_str(identifier);
            return;
        }
        let words = [self.word(number >> 8), self.word(number >> 32)];
        if identifier.starts_with(|letter: char| letter.is_ascii_uppercase()) {
            for word in words {
                text.push_str(&word[..1].to_ascii_uppercase());
                text.push_str(&word[1..]);
            }
        } else {
            text.push_str(words[0]);
            text.push('_');
            text.push_str(words[1]);
        }
    }
}

/// FNV-1a, and a last step that mixes the high bits into the low ones.
fn hash(text: &str, seed: u64) -> u64 {
    let start = 0xCBF2_9CE4_8422_2325 ^ seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let sum = text.bytes().fold(start, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3));
    (sum ^ sum >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) ^ sum >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "pub struct Connection { buffer: Vec<u8> }\nimpl Connection { fn flush(&mut self) {} }\n";

    fn vocabulary() -> Vocabulary {
        let text = "alpha beta gamma delta lantern harbour ".repeat(LEAST_USES);
        Vocabulary::of(&[SourceFile { extension: "rs", text }])
    }

    #[test]
    fn the_same_seed_gives_the_same_text_and_another_seed_another() {
        let vocabulary = vocabulary();
        let texts: std::collections::BTreeSet<String> = (0..20).map(|seed| vocabulary.rewrite(SOURCE, seed)).collect();
        assert!(texts.len() > 10, "{texts:?}");
        assert_eq!(vocabulary.rewrite(SOURCE, 7), vocabulary.rewrite(SOURCE, 7));
    }

    #[test]
    fn an_identifier_is_exchanged_everywhere_or_nowhere_and_keywords_stay() {
        let vocabulary = vocabulary();
        for seed in 0..50 {
            let text = vocabulary.rewrite(SOURCE, seed);
            assert!(text.contains("pub struct ") && text.contains("\nimpl ") && text.contains("&mut self"), "{text}");
            let names: Vec<&str> = text.match_indices(" {").map(|(at, _)| &text[..at]).collect();
            let last = |text: &str| text.rsplit(' ').next().map(str::to_owned);
            assert_eq!(last(names[0]), last(names[1]), "{text}");
        }
    }
}
