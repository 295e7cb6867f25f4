//! The vocabulary of a model, and the splitting of words into its tokens.

use std::borrow::Cow;

use super::ModelError;
use crate::words::MAX_WORD_BYTES;

/// Rows of a model that stand for no text: padding and unknown words.
const SPECIAL: [&[u8]; 2] = [b"[PAD]", b"[UNK]"];
/// What a token begins with that continues a word.
const CONTINUATION: &[u8] = b"##";
/// No vocabulary in use has more than some hundred thousand tokens; the limit keeps the table small for a wrong file.
const MAX_TOKENS: usize = 1 << 20;

/// A slot without a token; rows are below [`MAX_TOKENS`].
const EMPTY: u32 = u32::MAX;

/// Tokens by their text: a hash table over the bytes of `vocab.txt`.
///
/// The hash of a word's every prefix comes from one pass over it, so that the longest token at a place is found with one
/// probe for each length, and most words, which are tokens themselves, with one probe in all.
pub(super) struct Vocabulary {
    text: Cow<'static, [u8]>,
    tokens: Vec<Token>,
    /// Token of each slot with a part of its hash, which spares most comparisons.
    slots: Vec<(u32, u32)>,
    longest: usize,
}

/// A token's place in the file, without the mark of a continuation.
#[derive(Clone, Copy)]
struct Token {
    start: u32,
    /// 0 for a token that matches nothing.
    length: u8,
    position: Position,
}

/// Whether a token begins a word or continues one: "ing" and "##ing" are two tokens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Start,
    Inside,
}

impl Position {
    /// Different seeds put "ing" and "##ing" into different slots, so that one is not probed in vain for the other.
    fn seed(self) -> u64 {
        match self {
            Self::Start => 0x9e37_79b9_7f4a_7c15,
            Self::Inside => 0xc2b2_ae3d_27d4_eb4f,
        }
    }
}

impl Vocabulary {
    /// Reads `vocab.txt`: one token a line, the number of the line is its row.
    pub(super) fn parse(text: Cow<'static, [u8]>) -> Result<Self, ModelError> {
        if u32::try_from(text.len()).is_err() {
            return Err(ModelError::vocabulary(format!("{} bytes are too many", text.len())));
        }
        let content = text.strip_suffix(b"\n").unwrap_or(&text);
        let count = if content.is_empty() { 0 } else { content.split(|byte| *byte == b'\n').count() };
        if count == 0 || count > MAX_TOKENS {
            return Err(ModelError::vocabulary(format!("{count} tokens, expected 1 to {MAX_TOKENS}")));
        }
        let mut vocabulary = Self {
            tokens: Vec::with_capacity(count),
            // At most a quarter full, so that a word that is no token is known by its first slot.
            slots: vec![(EMPTY, 0); (count * 4).next_power_of_two()],
            longest: 0,
            // Filled in at the end: the lines that are inserted borrow the text until then.
            text: Cow::Borrowed(b""),
        };
        let mut start = 0;
        for line in content.split(|byte| *byte == b'\n') {
            vocabulary.insert(content, start, line)?;
            start += line.len() + 1;
        }
        vocabulary.text = text;
        Ok(vocabulary)
    }

    fn insert(&mut self, text: &[u8], start: usize, line: &[u8]) -> Result<(), ModelError> {
        let row = self.tokens.len();
        let wrong = |problem: &str| ModelError::vocabulary(format!("line {}: {problem}", row + 1));
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let (token, position, start) = match line.strip_prefix(CONTINUATION) {
            Some(rest) if !rest.is_empty() => (rest, Position::Inside, start + CONTINUATION.len()),
            _ => (line, Position::Start, start),
        };
        let start = u32::try_from(start).map_err(|_| wrong("too far into the file"))?;
        // A longer token can never match; it keeps its row.
        let usable = (1..=MAX_WORD_BYTES).contains(&token.len()) && !SPECIAL.contains(&line);
        let length = if usable { u8::try_from(token.len()).map_err(|_| wrong("too long"))? } else { 0 };
        self.tokens.push(Token { start, length, position });
        if !usable {
            return Ok(());
        }
        let hash = finish(token.iter().fold(position.seed(), |hash, byte| step(hash, *byte)));
        let mut slot = self.slot(hash);
        while self.slots[slot].0 != EMPTY {
            let (other, tag) = self.slots[slot];
            if tag == tag_of(hash) && self.is_token(other, text, token, position) {
                return Err(wrong("the token is in the list already"));
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        self.slots[slot] = (u32::try_from(row).map_err(|_| wrong("too many tokens"))?, tag_of(hash));
        self.longest = self.longest.max(token.len());
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Calls `each` with the tokens of a word, the longest that fits first. A word with a part that is no token has none.
    ///
    /// The word is of ASCII letters and digits, in any case.
    pub(super) fn for_each_token(&self, word: &[u8], mut each: impl FnMut(u32)) {
        let mut lower = [0; MAX_WORD_BYTES];
        let Some(lower) = lower.get_mut(..word.len()) else { return };
        let mut hash = Position::Start.seed();
        for (lower, byte) in lower.iter_mut().zip(word) {
            // In letters this bit is what tells capitals from small ones, and all digits have it.
            *lower = byte | 0x20;
            hash = step(hash, *lower);
        }
        // Of the words of code, 99 in 100 are one token.
        match self.find(lower, Position::Start, finish(hash)) {
            Some(token) => each(token),
            None => self.split_word(lower, each),
        }
    }

    fn split_word(&self, word: &[u8], each: impl FnMut(u32)) {
        let mut found = [0; MAX_WORD_BYTES];
        let mut count = 0;
        let mut rest = word;
        let mut position = Position::Start;
        while !rest.is_empty() {
            let Some((token, length)) = self.longest_prefix(rest, position) else { return };
            found[count] = token;
            count += 1;
            rest = &rest[length..];
            position = Position::Inside;
        }
        // Only now: a word that turned out to have an unknown part must not leave tokens behind.
        found[..count].iter().copied().for_each(each);
    }

    /// The longest token that `word` begins with, and its length.
    fn longest_prefix(&self, word: &[u8], position: Position) -> Option<(u32, usize)> {
        let mut hashes = [0; MAX_WORD_BYTES];
        let longest = word.len().min(self.longest);
        let mut hash = position.seed();
        for (slot, byte) in hashes[..longest].iter_mut().zip(word) {
            hash = step(hash, *byte);
            *slot = hash;
        }
        (1..=longest).rev().find_map(|length| {
            let token = self.find(&word[..length], position, finish(hashes[length - 1]))?;
            Some((token, length))
        })
    }

    fn find(&self, word: &[u8], position: Position, hash: u64) -> Option<u32> {
        let mut slot = self.slot(hash);
        loop {
            let (token, tag) = self.slots[slot];
            if token == EMPTY {
                return None;
            }
            if tag == tag_of(hash) && self.is_token(token, &self.text, word, position) {
                return Some(token);
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    fn is_token(&self, row: u32, text: &[u8], word: &[u8], position: Position) -> bool {
        let token = self.tokens[row as usize];
        let start = token.start as usize;
        token.position == position && text[start..start + usize::from(token.length)] == *word
    }

    #[expect(clippy::cast_possible_truncation, reason = "only the low bits count, whatever the size of a pointer")]
    fn slot(&self, hash: u64) -> usize {
        hash as usize & (self.slots.len() - 1)
    }
}

/// One byte more of a text's hash.
fn step(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

/// The low bits of a product depend on the low bits of its factors alone; this mixes the high ones in.
fn finish(hash: u64) -> u64 {
    hash ^ (hash >> 32)
}

/// The half of the hash that does not choose the slot.
fn tag_of(hash: u64) -> u32 {
    (hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary(lines: &[&str]) -> Result<Vocabulary, ModelError> {
        Vocabulary::parse(Cow::Owned(lines.join("\n").into_bytes()))
    }

    fn tokens(vocabulary: &Vocabulary, word: &str) -> Vec<u32> {
        let mut tokens = Vec::new();
        vocabulary.for_each_token(word.as_bytes(), |token| tokens.push(token));
        tokens
    }

    #[test]
    fn the_longest_token_wins_at_every_place() {
        let vocabulary = vocabulary(&["[PAD]", "[UNK]", "re", "read", "##ing", "##in", "##g", "ing", "##re"]).unwrap();
        assert_eq!(tokens(&vocabulary, "reading"), [3, 4]);
        assert_eq!(tokens(&vocabulary, "Re"), [2]);
        assert_eq!(tokens(&vocabulary, "READin"), [3, 5]);
        assert_eq!(tokens(&vocabulary, "ing"), [7]);
        assert_eq!(tokens(&vocabulary, "rere"), [2, 8]);
    }

    #[test]
    fn a_word_with_a_part_that_is_no_token_has_none() {
        let vocabulary = vocabulary(&["read", "##ing"]).unwrap();
        assert!(tokens(&vocabulary, "readxing").is_empty());
        assert!(tokens(&vocabulary, "pad").is_empty());
        assert!(tokens(&vocabulary, "").is_empty());
        assert!(tokens(&vocabulary, &"read".repeat(17)).is_empty());
    }

    #[test]
    fn line_ends_of_both_kinds_are_read() {
        let vocabulary = vocabulary(&["a\r", "##b\r", ""]).unwrap();
        assert_eq!((vocabulary.len(), tokens(&vocabulary, "ab")), (2, vec![0, 1]));
    }

    #[test]
    fn damaged_lists_are_errors_that_name_the_line() {
        assert!(vocabulary(&[]).is_err());
        let error = vocabulary(&["read", "##read", "read"]).err().unwrap();
        assert_eq!(error.to_string(), "vocab.txt: line 3: the token is in the list already");
    }

    proptest::proptest! {
        #[test]
        fn no_list_makes_the_parser_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200), word: String) {
            if let Ok(vocabulary) = Vocabulary::parse(Cow::Owned(bytes)) {
                vocabulary.for_each_token(word.as_bytes(), |token| assert!((token as usize) < vocabulary.len()));
            }
        }
    }
}
