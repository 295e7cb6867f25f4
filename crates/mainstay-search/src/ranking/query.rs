//! What a query is: a symbol, a sentence about one function, or words.
//!
//! The classes differ in what a good answer is. A symbol has one definition, which has to come first however often the
//! name is used. A sentence in the style of a doc comment asks for one function, and its file matters little. Other
//! words ask where something is done, and the file matters more than any of its chunks.

use std::collections::HashSet;

use super::constants::{MAX_QUERY_BYTES, MAX_QUERY_TERMS};
use super::vocabulary::{is_about_tests, is_determiner, is_query_stop_word, is_third_person, is_verb};
use crate::document::{flat_name, name_hash};
use crate::words::{subwords, terms};

/// What is asked for, as far as the query tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryClass {
    /// A name: `Stack`, `Stack::push`, `read_text()`.
    Symbol,
    /// A sentence that says what one function does: "Returns the first value."
    Definition,
    /// Anything else: "how routes are matched".
    Words,
}

/// An identifier in a query in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mention {
    pub(super) name: String,
    /// Written as code is (`readText`, `read_text`), and not only with a capital.
    pub(super) is_strong: bool,
}

/// A query, taken apart.
#[derive(Debug, Clone)]
pub(super) struct Query {
    pub(super) text: String,
    pub(super) class: QueryClass,
    /// Of a symbol: its names, the last of which is looked for.
    pub(super) segments: Vec<String>,
    /// Stemmed and distinct.
    pub(super) terms: Vec<String>,
    pub(super) mentions: Vec<Mention>,
    /// Two or three neighbouring words joined, as names are: "JSON element" is `jsonelement`.
    pub(super) compounds: HashSet<String>,
    /// All words in lower case.
    pub(super) words: HashSet<String>,
    pub(super) asks_for_tests: bool,
}

impl Query {
    pub(super) fn new(text: &str) -> Self {
        let text = text.get(..text.floor_char_boundary(MAX_QUERY_BYTES)).unwrap_or_default();
        let segments = symbol(text.trim()).unwrap_or_default();
        let is_symbol = !segments.is_empty();
        let class = if is_symbol {
            QueryClass::Symbol
        } else if is_about_one_function(text) {
            QueryClass::Definition
        } else {
            QueryClass::Words
        };
        let words: HashSet<String> = text
            .split(|character: char| !is_word(character))
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        Self {
            class,
            segments,
            terms: query_terms(text),
            mentions: if is_symbol { Vec::new() } else { mentions(text) },
            compounds: compounds(text),
            asks_for_tests: words.iter().any(|word| is_about_tests(word)),
            words,
            text: text.to_owned(),
        }
    }
}

/// The terms by which a search finds chunks: the same as [`prepare_with_words`](crate::document::prepare_with_words) gives
/// of documents, without the words that say nothing in a question.
pub fn query_words(query: &str) -> Vec<String> {
    Query::new(query).terms
}

/// The hashes of the names whose definitions a search looks up, as [`NewDefinition`](crate::segment::NewDefinition) has
/// them. How much a definition counts depends on how many files have one of that name, so that whoever ranks a part of a
/// collection fetches all of them.
pub fn query_names(query: &str) -> Vec<u64> {
    let query = Query::new(query);
    let mut names: Vec<String> = query.mentions.iter().map(|mention| flat_name(&mention.name)).collect();
    // Of a symbol its last name alone is looked up, and nothing else of it is.
    match query.class {
        QueryClass::Symbol => names = flat_last(&query.segments).into_iter().collect(),
        QueryClass::Definition | QueryClass::Words => names.extend(query.compounds),
    }
    let mut hashes: Vec<u64> = names.iter().filter(|name| !name.is_empty()).map(|name| name_hash(name)).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The names of a symbol, if the whole text is one.
fn symbol(text: &str) -> Option<Vec<String>> {
    let mut rest = text.strip_suffix("()").unwrap_or(text);
    rest = rest.strip_suffix(['!', '?']).unwrap_or(rest);
    let mut names = Vec::new();
    loop {
        let is_part = |character: char| is_word(character) || character == '$';
        let end = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
        let (name, after) = rest.split_at_checked(end)?;
        let first = name.chars().next()?;
        if first.is_numeric() {
            return None;
        }
        names.push(name.to_owned());
        if after.is_empty() {
            return Some(names);
        }
        rest = ["::", "->", ".", "#", "/", "\\"].iter().find_map(|separator| after.strip_prefix(separator))?;
    }
}

/// Whether a sentence says what one function does, and so asks for that function rather than for a file.
fn is_about_one_function(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '\'';
    let mut words = lower.split(|character| !is_part(character)).filter(|word| !word.is_empty());
    let (Some(first), Some(second), Some(third)) = (words.next(), words.next(), words.next()) else { return false };
    // "how the cache works" and "handling the request" name a topic. "Parse a string" and whatever ends in a full stop
    // are how doc comments begin and end.
    !is_query_stop_word(first)
        && !first.ends_with("ing")
        && (is_third_person(first)
            || is_determiner(second)
            || (is_verb(first) && is_determiner(third))
            || text.trim_end().ends_with('.'))
}

/// The terms by which chunks are found. A query of stop words alone is looked up by what the index has of it.
fn query_terms(text: &str) -> Vec<String> {
    let spoken = text.split(|character: char| !is_word(character));
    let kept = spoken.filter(|word| !is_query_stop_word(&word.to_lowercase()));
    let mut found: Vec<String> = kept.flat_map(terms).collect();
    if found.is_empty() {
        found = terms(text);
    }
    let mut seen = HashSet::new();
    found.retain(|term| seen.insert(term.clone()));
    found.truncate(MAX_QUERY_TERMS);
    found
}

/// Identifiers that may be names of definitions, each once.
fn mentions(text: &str) -> Vec<Mention> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '$');
    let identifiers = text.split(|character| !is_part(character));
    let identifiers = identifiers.map(|word| word.trim_start_matches(|character: char| character.is_ascii_digit()));
    let mut found: Vec<Mention> = Vec::new();
    for (place, name) in identifiers.filter(|word| !word.is_empty()).take(MAX_QUERY_TERMS).enumerate() {
        let is_strong = is_strong(name);
        // The first word has a capital in any sentence; a short one is likely "How" or "The".
        let is_capitalised =
            name.starts_with(|first: char| first.is_ascii_uppercase()) && (place > 0 || name.len() > 3);
        if (is_strong || is_capitalised) && !found.iter().any(|known| known.name == name) {
            found.push(Mention { name: name.to_owned(), is_strong });
        }
    }
    found
}

/// `readText`, `read_text`, `HTTPServer`.
fn is_strong(name: &str) -> bool {
    let bytes = name.as_bytes();
    let is_small = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_camel = |pair: &[u8]| matches!(pair, [before, after] if is_small(before) && after.is_ascii_uppercase());
    let is_acronym = |three: &[u8]| match three {
        [one, two, after] => one.is_ascii_uppercase() && two.is_ascii_uppercase() && after.is_ascii_lowercase(),
        _ => false,
    };
    name.contains('_') || bytes.windows(2).any(is_camel) || bytes.windows(3).any(is_acronym)
}

/// Stop words are no part of names, so that "read from" gives nothing. Plurals are also taken without their `s`: "JSON
/// elements" is about `JsonElement`.
fn compounds(text: &str) -> HashSet<String> {
    let lower = text.to_ascii_lowercase();
    let words = lower.split(|character: char| !character.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.take(MAX_QUERY_TERMS).collect();
    let mut found = HashSet::new();
    for length in [2, 3] {
        for neighbours in words.windows(length).filter(|words| !words.iter().any(|word| is_query_stop_word(word))) {
            let joined = neighbours.concat();
            found.insert(joined.trim_end_matches('s').to_owned());
            found.insert(joined);
        }
    }
    found
}

/// The parts of a file's name, stemmed.
pub(super) fn stem_words(known_as: &str) -> Vec<String> {
    let mut words: Vec<String> = if known_as.is_ascii() {
        let stemmed = |part: &str| {
            let mut word = part.to_ascii_lowercase();
            crate::words::stem(&mut word);
            word
        };
        subwords(known_as).map(stemmed).collect()
    } else {
        terms(known_as)
    };
    words.sort_unstable();
    words.dedup();
    words
}

/// The last name of a symbol as names are compared.
pub(super) fn flat_last(segments: &[String]) -> Option<String> {
    segments.last().map(|last| flat_name(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_told_apart() {
        use QueryClass::{Definition, Symbol, Words};
        for (text, class) in [
            ("Engine", Symbol),
            ("engine", Symbol),
            ("Context.Next", Symbol),
            ("gin::Context->next()", Symbol),
            ("empty?", Symbol),
            (" vec! ", Symbol),
            ("Foo\\Bar", Symbol),
            ("$store", Symbol),
            ("größe", Symbol),
            ("2fa", Words),
            ("a..b", Words),
            ("", Words),
            ("  ", Words),
            ("()", Words),
            ("radix tree", Words),
            ("how routes are grouped and registered", Words),
            ("handling the request body", Words),
            ("the request body is read", Words),
            ("Returns the matched route full path", Definition),
            ("Copies bytes into buffers", Definition),
            ("Parse a query string", Definition),
            ("Add new handlers to list", Words),
            ("Send all the files", Definition),
            ("Write into the file", Definition),
            ("Smallest of three values.", Definition),
            ("Short sentence.", Words),
        ] {
            assert_eq!(Query::new(text).class, class, "{text:?}");
        }
    }

    #[test]
    fn symbols_have_their_names() {
        assert_eq!(Query::new("Stack::push()").segments, ["Stack", "push"]);
        assert_eq!(Query::new("how push works").segments, Vec::<String>::new());
    }

    #[test]
    fn terms_are_stemmed_distinct_and_without_stop_words() {
        assert_eq!(Query::new("how routes are handled, using the route table").terms, ["rout", "tabl"]);
        assert_eq!(Query::new("handle_request").terms, ["handl", "request", "handlerequest"]);
        assert_eq!(Query::new("works without").terms, ["work", "without"]);
        assert!(Query::new("what is this").terms.is_empty());
    }

    #[test]
    fn identifiers_are_mentions_when_they_look_like_names() {
        let names = |text: &str| -> Vec<(String, bool)> {
            Query::new(text).mentions.into_iter().map(|mention| (mention.name, mention.is_strong)).collect()
        };
        let expected = [("readText", true), ("Gson", false), ("XMLFile", true), ("uv_run", true)];
        let expected: Vec<(String, bool)> = expected.map(|(name, strong)| (name.to_owned(), strong)).into();
        assert_eq!(names("How readText and Gson use XMLFile or uv_run, Gson"), expected);
        assert_eq!(names("JSON request"), [("JSON".to_owned(), false)]);
    }

    #[test]
    fn neighbouring_words_are_compounds() {
        let compounds = Query::new("how JSON elements are read from trees").compounds;
        assert!(compounds.contains("jsonelement") && compounds.contains("jsonelements"));
        assert!(!compounds.contains("elementsare") && !compounds.contains("readfrom"));
    }
}
