//! Queries made of source code: sentences of its documentation, names, and words of names.

use std::collections::BTreeSet;

use crate::bench_support::pseudo_random::PseudoRandom;

const WORDS_OF_A_SENTENCE: std::ops::RangeInclusive<usize> = 4..=16;
/// Shorter names say little.
const SHORTEST_NAME: usize = 8;
const DEFINITIONS: [&str; 4] = ["fn ", "struct ", "trait ", "enum "];

/// So many queries, the same for the same texts: of five, three are sentences, one is a name and one is the words of a
/// name.
pub(crate) fn from_sources<'t>(texts: impl Iterator<Item = &'t str> + Clone, count: usize) -> Vec<String> {
    let sentences: Vec<&str> = distinct(texts.clone().flat_map(sentences));
    let names: Vec<&str> = distinct(texts.flat_map(names));
    let mut numbers = PseudoRandom::from(1);
    let mut queries = Vec::with_capacity(count);
    for place in 0..count {
        let mut pick = |from: &[&str]| match from.len() {
            0 => "read the configuration".to_owned(),
            all => from[numbers.below(all)].to_owned(),
        };
        queries.push(match place % 5 {
            0 => pick(&names),
            1 => words(&pick(&names)),
            _ => pick(&sentences),
        });
    }
    queries
}

fn distinct<'t>(found: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
    found.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The first lines of doc comments that are a sentence without markup.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut is_first = true;
    text.lines().filter_map(move |line| {
        let doc = line.trim_start().strip_prefix("/// ");
        let begins = std::mem::replace(&mut is_first, doc.is_none());
        let sentence = doc.filter(|_| begins)?.strip_suffix('.')?;
        let is_plain = sentence.chars().all(|letter| letter.is_ascii_alphanumeric() || " ,-'".contains(letter));
        (is_plain && WORDS_OF_A_SENTENCE.contains(&sentence.split_whitespace().count())).then_some(sentence)
    })
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = line.trim_start().strip_prefix("pub ")?;
        let rest = DEFINITIONS.iter().find_map(|keyword| line.strip_prefix(keyword))?;
        let name = rest.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').next()?;
        (name.len() >= SHORTEST_NAME).then_some(name)
    })
}

/// `poll_shutdown` and `PollShutdown` become `poll shutdown`.
fn words(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter == '_' || letter.is_ascii_uppercase() {
            words.push(' ');
        }
        if letter != '_' {
            words.push(letter.to_ascii_lowercase());
        }
    }
    words.trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "/// Closes the connection and waits.\n/// It may fail in this way.\npub fn close_connection() {}\n\
                          /// See [`other`] for a link to it.\npub struct PollShutdown;\nfn private_function() {}\n";

    #[test]
    fn sentences_are_the_first_lines_of_docs_without_markup() {
        assert_eq!(sentences(SOURCE).collect::<Vec<_>>(), ["Closes the connection and waits"]);
    }

    #[test]
    fn names_are_those_of_public_definitions() {
        assert_eq!(names(SOURCE).collect::<Vec<_>>(), ["close_connection", "PollShutdown"]);
        assert_eq!(names(SOURCE).map(words).collect::<Vec<_>>(), ["close connection", "poll shutdown"]);
    }

    #[test]
    fn queries_are_the_same_in_every_run() {
        let first = from_sources(std::iter::once(SOURCE), 10);
        assert_eq!(first, from_sources(std::iter::once(SOURCE), 10));
        assert_eq!(first.len(), 10);
        assert_eq!(first[2], "Closes the connection and waits");
    }
}
