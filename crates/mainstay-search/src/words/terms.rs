//! The terms of the lexical index.

use super::script::{Kind, push_lower};
use super::{MAX_WORD_BYTES, is_stop_word, stem, subwords};

/// An unbroken run of ASCII letters and digits longer than this is encoded data, not an identifier: its capitals and digits
/// would put hundreds of meaningless terms into the index.
const MAX_IDENTIFIER_BYTES: usize = 256;

/// The terms of a text as a list; for a query, where speed is no concern.
pub fn terms(text: &str) -> Vec<String> {
    let mut list = Vec::new();
    Terms::default().for_each(text, |term| list.push(term.to_owned()));
    list
}

/// Splits texts into index terms, with a buffer that is used again from text to text.
///
/// - An identifier gives its parts (`readText`, `read_text`, `READ_TEXT`: "read", "text") and, when there is more than one,
///   the whole without underscores ("readtext"), which is the same in every convention.
/// - Every term is lower-case and [stemmed](stem).
/// - [Stop words](is_stop_word) and words of more than [`MAX_WORD_BYTES`] are left out.
/// - Letters of every script count. A script without spaces between words gives each character and each pair of
///   neighbours, so that one character can be looked up and longer words still rank first.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    term: String,
}

impl Terms {
    /// Calls `each` with every term of the text, in order and with repetitions; of an identifier, its parts come first.
    pub fn for_each(&mut self, text: &str, mut each: impl FnMut(&str)) {
        let mut at = 0;
        while let Some((start, end)) = next_identifier(text, at) {
            let identifier = &text[start..end];
            if identifier.is_ascii() {
                self.ascii_identifier(identifier, &mut each);
            } else {
                self.mixed_identifier(identifier, &mut each);
            }
            at = end;
        }
    }

    fn ascii_identifier(&mut self, identifier: &str, each: &mut impl FnMut(&str)) {
        if identifier.len() > MAX_IDENTIFIER_BYTES {
            return;
        }
        let mut parts = 0;
        for part in subwords(identifier) {
            parts += 1;
            self.term.clear();
            self.term.push_str(part);
            self.term.make_ascii_lowercase();
            self.emit(each);
        }
        self.whole_identifier(identifier, parts, each);
    }

    /// The same with characters outside ASCII.
    fn mixed_identifier(&mut self, identifier: &str, each: &mut impl FnMut(&str)) {
        // No limit of length: a sentence in a script without spaces is one run of letters.
        let mut parts = 0;
        let mut start = 0;
        let mut previous = Kind::Underscore;
        let mut characters = identifier.char_indices().peekable();
        while let Some((at, character)) = characters.next() {
            // A combining accent is of the kind of its letter.
            if matches!(character, '\u{300}'..='\u{36f}') {
                continue;
            }
            let kind = Kind::of(character);
            let next = characters.peek().map(|(_, character)| Kind::of(*character));
            if is_border(previous, kind, next) {
                parts += usize::from(self.mixed_part(&identifier[start..at], previous, each));
                start = at;
            }
            previous = kind;
        }
        parts += usize::from(self.mixed_part(&identifier[start..], previous, each));
        self.whole_identifier(identifier, parts, each);
    }

    /// Emits the terms of a part whose letters are of one kind, and says whether it has any.
    fn mixed_part(&mut self, part: &str, kind: Kind, each: &mut impl FnMut(&str)) -> bool {
        match kind {
            Kind::Separator | Kind::Underscore => false,
            Kind::Unspaced => {
                unspaced_part(part, each);
                true
            }
            Kind::Upper | Kind::Lower | Kind::Digit => {
                self.term.clear();
                part.chars().for_each(|character| push_lower(character, &mut self.term));
                self.emit(each);
                true
            }
        }
    }

    fn whole_identifier(&mut self, identifier: &str, parts: usize, each: &mut impl FnMut(&str)) {
        if parts < 2 {
            return;
        }
        self.term.clear();
        for piece in identifier.split('_') {
            if piece.is_ascii() {
                self.term.push_str(piece);
            } else {
                piece.chars().for_each(|character| push_lower(character, &mut self.term));
            }
        }
        self.term.make_ascii_lowercase();
        self.emit(each);
    }

    fn emit(&mut self, each: &mut impl FnMut(&str)) {
        // Before stemming: the list has words as they are written, and "does" would no longer be in it.
        if self.term.len() <= MAX_WORD_BYTES && !is_stop_word(&self.term) {
            stem(&mut self.term);
            each(&self.term);
        }
    }
}

/// Each character, then each pair of neighbours.
fn unspaced_part(part: &str, each: &mut impl FnMut(&str)) {
    let ends = || part.char_indices().map(|(at, character)| at + character.len_utf8());
    let starts = || part.char_indices().map(|(at, _)| at);
    for (start, end) in starts().zip(ends()) {
        each(&part[start..end]);
    }
    for (start, end) in starts().zip(ends().skip(1)) {
        each(&part[start..end]);
    }
}

/// The next run of letters, digits and underscores from `at`, as its start and end.
fn next_identifier(text: &str, at: usize) -> Option<(usize, usize)> {
    let start = skip(text, at, |kind| kind == Kind::Separator);
    let end = skip(text, start, |kind| kind != Kind::Separator);
    (start < end).then_some((start, end))
}

/// The first place from `at` with a character whose kind is not `wanted`, or the end.
fn skip(text: &str, mut at: usize, wanted: impl Fn(Kind) -> bool) -> usize {
    while let Some(byte) = text.as_bytes().get(at) {
        // Almost all of code is ASCII, whose kinds are a table.
        if let Some(kind) = Kind::of_ascii(*byte) {
            if !wanted(kind) {
                return at;
            }
            at += 1;
        } else {
            match text[at..].chars().next() {
                Some(character) if wanted(Kind::of(character)) => at += character.len_utf8(),
                _ => return at,
            }
        }
    }
    at
}

/// Whether a new part begins at `current`.
/// These are the borders of [`subwords`], so that one accented letter does not change how an identifier is split.
fn is_border(previous: Kind, current: Kind, next: Option<Kind>) -> bool {
    match (previous, current) {
        (Kind::Upper, Kind::Upper) => next == Some(Kind::Lower),
        (Kind::Upper, Kind::Lower) => false,
        (previous, current) => previous != current,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_gives_its_parts_and_one_whole_in_every_convention() {
        for name in ["readText", "read_text", "READ_TEXT", "ReadText", "__read_text__"] {
            assert_eq!(terms(name), ["read", "text", "readtext"], "{name}");
        }
        assert_eq!(terms("_private"), terms("private"));
        assert_eq!(terms("utf8"), ["utf", "8", "utf8"]);
        assert!(terms("__ _ -> { }").is_empty());
    }

    #[test]
    fn a_compound_is_found_by_the_word_that_is_written_together() {
        assert_eq!(terms("DataBases").last(), terms("database").last());
    }

    #[test]
    fn stop_words_are_left_out_but_count_in_a_whole_identifier() {
        assert_eq!(terms("what is the lock"), ["lock"]);
        assert_eq!(terms("is_not"), ["isnot"]);
    }

    #[test]
    fn letters_outside_ascii_are_kept_and_lowered() {
        assert_eq!(terms("ÜBERGRÖSSE Übergrösse"), ["übergrösse", "übergrösse"]);
        assert_eq!(terms("größeÄndern"), ["größe", "ändern", "größeändern"]);
        assert_eq!(terms("ΟΔΟΣ οδος"), ["οδοσ", "οδοσ"]);
        assert_eq!(terms("İstanbul"), ["istanbul"]);
        assert_eq!(terms("читатьФайл"), ["читать", "файл", "читатьфайл"]);
        assert_eq!(terms("cafe\u{301} bar"), ["cafe\u{301}", "bar"]);
        assert_eq!(terms("É\u{301}COLE"), ["é\u{301}cole"]);
    }

    #[test]
    fn text_without_spaces_is_found_by_a_character_and_by_pairs() {
        assert_eq!(terms("東京都"), ["東", "京", "都", "東京", "京都"]);
        assert_eq!(terms("読む"), ["読", "む", "読む"]);
        assert_eq!(terms("東Tokyo"), ["東", "tokyo", "東tokyo"]);
    }

    #[test]
    fn encoded_data_gives_no_terms() {
        assert!(terms(&"aB3".repeat(100)).is_empty());
        assert!(terms(&"x".repeat(65)).is_empty());
        assert_eq!(terms(&"x".repeat(64)).len(), 1);
    }

    proptest::proptest! {
        #[test]
        fn every_term_of_any_text_is_short_and_not_empty(text in "\\PC*") {
            Terms::default().for_each(&text, |term| assert!((1..=MAX_WORD_BYTES).contains(&term.len())));
        }

        #[test]
        fn ascii_identifiers_are_split_alike_on_both_paths(identifier in "[a-zA-Z0-9_]{1,40}") {
            let (mut fast, mut general) = (Vec::new(), Vec::new());
            Terms::default().ascii_identifier(&identifier, &mut |term: &str| fast.push(term.to_owned()));
            Terms::default().mixed_identifier(&identifier, &mut |term: &str| general.push(term.to_owned()));
            assert_eq!(fast, general);
        }
    }
}
