//! Documents that look like Markdown and are the same every time.

use crate::bench_support::pseudo_random::PseudoRandom;

const SYLLABLES: [&str; 16] =
    ["ba", "co", "di", "fu", "go", "hi", "ka", "lo", "mi", "no", "pe", "ra", "so", "tu", "ve", "zi"];
/// Begin the words of some ranks, so that not all text is ASCII.
const LETTERS: [&str; 6] = ["é", "ö", "ñ", "λ", "ж", "東"];
const LETTERED: usize = 13;

/// Ranks double this often: each word of an octave is as frequent as the others, and half as frequent as one of the
/// octave before. That comes close to how often words are used in a language.
const OCTAVES: usize = 15;

const SHORTEST: usize = 2_000;
const LONGEST: usize = 6_000;

/// The word of a rank; 0 is the most common one. No two ranks have the same.
pub(crate) fn word(rank: usize) -> String {
    let mut syllables = Vec::new();
    // From two syllables on, of which the first is never "ba": so the number can be read from the word.
    let mut left = rank + SYLLABLES.len();
    while left > 0 {
        syllables.push(SYLLABLES[left % SYLLABLES.len()]);
        left /= SYLLABLES.len();
    }
    if rank.is_multiple_of(LETTERED) && rank > 0 {
        syllables.push(LETTERS[rank / LETTERED % LETTERS.len()]);
    }
    syllables.into_iter().rev().collect()
}

/// The document of a number. Its title holds the number: two of equal content are refused by the peer.
pub(crate) fn document(number: usize) -> String {
    let mut writer = Writer(PseudoRandom::from(number as u64 + 1));
    let length = SHORTEST + writer.0.below(LONGEST - SHORTEST);
    let mut text = format!("# {} {number}\n", writer.words(2));
    while text.len() < length {
        text.push('\n');
        text.push_str(&writer.block());
    }
    text
}

struct Writer(PseudoRandom);

impl Writer {
    fn block(&mut self) -> String {
        match self.0.below(12) {
            0 | 1 => format!("## {}\n", self.words(3)),
            2 => format!("- {}\n- {}\n- {}\n", self.words(5), self.words(4), self.words(6)),
            3 => format!("```\n\tlet {} = \"{}\\n\";\n```\n", self.word(), self.word()),
            _ => self.paragraph(),
        }
    }

    fn paragraph(&mut self) -> String {
        let sentences: Vec<String> = (0..3 + self.0.below(3)).map(|_| self.sentence()).collect();
        sentences.join("\n") + "\n"
    }

    fn sentence(&mut self) -> String {
        let length = 6 + self.0.below(12);
        let words = self.words(length);
        let mut letters = words.chars();
        let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
        format!("{first}{}.", letters.as_str())
    }

    fn words(&mut self, count: usize) -> String {
        let words: Vec<String> = (0..count).map(|_| self.word()).collect();
        words.join(" ")
    }

    fn word(&mut self) -> String {
        let octave = 1 << self.0.below(OCTAVES);
        word(octave - 1 + self.0.below(octave))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_rank_has_a_word_of_its_own() {
        let ranks = (1 << OCTAVES) - 1;
        let words: HashSet<String> = (0..ranks).map(word).collect();
        assert_eq!(words.len(), ranks);
        assert!(words.iter().all(|word| word.to_lowercase() == *word));
    }

    #[test]
    fn documents_differ_and_are_the_same_every_time() {
        let documents: HashSet<String> = (0..500).map(document).collect();
        assert_eq!(documents.len(), 500);
        assert_eq!(document(7), document(7));
        assert!(documents.iter().all(|text| (SHORTEST..LONGEST + 1_500).contains(&text.len())));
    }

    #[test]
    fn a_common_word_is_in_most_documents_and_a_rare_one_in_few() {
        let holding = |rank| {
            let term = word(rank);
            (0..500).filter(|number| document(*number).split_whitespace().any(|word| word == term)).count()
        };
        assert!(holding(0) > 450, "{}", holding(0));
        assert!(holding(20_000) < 10, "{}", holding(20_000));
    }
}
