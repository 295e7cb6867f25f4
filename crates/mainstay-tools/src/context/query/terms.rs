//! Words and terms: what stands between white space, in lower case.

use std::borrow::Cow;

/// The words of a text. Lower case is found word by word: no letter's depends on what is beyond white space.
pub(crate) fn words(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    text.split_whitespace().map(lowered)
}

fn lowered(word: &str) -> Cow<'_, str> {
    if word.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(word.to_lowercase())
}

/// What is looked for. A term that stands twice in a query is shown twice and counts once.
#[derive(Debug)]
pub(crate) struct Terms(Vec<String>);

impl Terms {
    pub(crate) fn of(query: &str) -> Self {
        Self(words(query).map(Cow::into_owned).collect())
    }

    /// As they stand in the query.
    pub(crate) fn shown(&self) -> &[String] {
        &self.0
    }

    /// Each once, in order.
    pub(crate) fn distinct(&self) -> Vec<&str> {
        let mut distinct: Vec<&str> = self.0.iter().map(String::as_str).collect();
        distinct.sort_unstable();
        distinct.dedup();
        distinct
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn words_are_those_of_the_text_in_lower_case(text in r"[\PC\s]{0,80}") {
            let lower = text.to_lowercase();
            let expected: Vec<&str> = lower.split_whitespace().collect();
            prop_assert_eq!(words(&text).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn the_last_sigma_of_a_word_is_the_last_one_whatever_follows_the_word() {
        let text = "ΟΔΟΣ ΟΔΟΣ. Σ ΑΣ\u{2003}ΣΑ İI ẞ";
        let lower = text.to_lowercase();
        assert_eq!(words(text).collect::<Vec<_>>(), lower.split_whitespace().collect::<Vec<_>>());
    }

    #[test]
    fn a_term_that_stands_twice_is_shown_twice_and_counts_once() {
        let terms = Terms::of(" Deploy\tnow deploy ");
        assert_eq!(
            (terms.shown(), terms.distinct()),
            (&["deploy", "now", "deploy"].map(String::from)[..], vec!["deploy", "now"])
        );
    }
}
