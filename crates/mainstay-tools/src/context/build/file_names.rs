//! What the files of documents are called: after their content, as short as can be.

use std::collections::{HashMap, HashSet};

/// The digits that are enough if nobody else has them.
const SHORTEST: usize = 12;
const WHOLE: usize = 64;

/// The name of each document, without its ending.
#[derive(Debug)]
pub(crate) struct Stems(Vec<String>);

impl Stems {
    /// For documents in the order of their ids. Of those that want the same name the first has it; the next has a digit
    /// more, and so on; and when there are no more digits, a number.
    pub(crate) fn of(versions: &[String]) -> Self {
        let mut taken: HashSet<String> = HashSet::with_capacity(versions.len());
        // Where to go on looking, for a content that a thousand documents have.
        let mut tried: HashMap<&str, usize> = HashMap::new();
        let name = |version: &'_ str, nth: usize| -> String {
            let digits = digits(version);
            match SHORTEST + nth {
                length if length <= WHOLE => digits.get(..length).unwrap_or(digits).to_owned(),
                longer => format!("{digits}-{}", longer - WHOLE),
            }
        };
        let names = versions.iter().map(|version| {
            let next = tried.entry(version.as_str()).or_default();
            loop {
                let stem = name(version, *next);
                *next += 1;
                if taken.insert(stem.clone()) {
                    return stem;
                }
            }
        });
        Self(names.collect())
    }

    pub(crate) fn shortest(version: &str) -> &str {
        let digits = digits(version);
        digits.get(..SHORTEST).unwrap_or(digits)
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.0
    }
}

/// A name that no content has, until it is known which one a document gets.
pub(crate) fn spare(nth: usize) -> String {
    format!("spare-{nth}")
}

fn digits(version: &str) -> &str {
    version.strip_prefix("sha256:").unwrap_or(version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::cache::manifest::version_of;

    #[test]
    fn equal_content_has_longer_and_longer_names_in_the_order_of_the_ids() {
        let (one, other) = (version_of(b""), version_of(b"x"));
        let mut versions = vec![one.clone(); 60];
        versions.insert(1, other.clone());
        let stems = Stems::of(&versions);
        let lengths: Vec<usize> = stems.names().iter().map(String::len).collect();
        assert_eq!(lengths[..4], [12, 12, 13, 14]);
        assert_eq!(
            (lengths[53], &stems.names()[54], &stems.names()[60]),
            (64, &format!("{}-1", digits(&one)), &format!("{}-7", digits(&one)))
        );
        assert_eq!(stems.names().iter().collect::<HashSet<_>>().len(), 61);
        assert!(
            stems.names().iter().all(
                |stem| digits(&one).starts_with(stem.split('-').next().unwrap()) || stem == Stems::shortest(&other)
            )
        );
    }

    #[test]
    fn a_beginning_that_two_contents_share_is_lengthened_for_the_second() {
        let alike = |last: char| format!("sha256:{}{}", "a".repeat(13), last.to_string().repeat(51));
        assert_eq!(Stems::of(&[alike('b'), alike('c')]).names(), ["a".repeat(12), "a".repeat(13)]);
    }
}
