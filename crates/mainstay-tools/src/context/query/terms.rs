//! Words of documents and terms of queries: both are split at white space and compared in lower case.

use std::borrow::Cow;
use std::collections::BTreeSet;

use mainstay_core::Result;

use crate::progress::Progress;

/// After so many words, cancellation is checked: a single document may have millions.
const CHECK_INTERVAL: u64 = 4096;

/// The words of a text in lower case. Lowering them one by one gives the same as lowering the text: no letter's lower
/// case depends on what is beyond white space.
pub(crate) fn words(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    text.split_whitespace().map(lowered)
}

/// Calls `visit` with every word and returns their number. Stops early if `visit` returns false or the call is
/// cancelled.
pub(crate) fn count_words(
    text: &str,
    progress: &Progress,
    mut visit: impl FnMut(Cow<'_, str>) -> bool,
) -> Result<Option<u64>> {
    let mut count = 0;
    for word in words(text) {
        count += 1;
        if count % CHECK_INTERVAL == 0 {
            progress.check()?;
        }
        if !visit(word) {
            return Ok(None);
        }
    }
    Ok(Some(count))
}

fn lowered(word: &str) -> Cow<'_, str> {
    if word.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(word.to_lowercase())
}

/// Each term of a query once, sorted: one that occurs twice is shown twice in the answer and counts once.
pub(crate) fn distinct(terms: &[String]) -> BTreeSet<&str> {
    terms.iter().map(String::as_str).collect()
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
    fn final_sigma_of_a_word_does_not_depend_on_the_next_word() {
        let text = "ΟΔΟΣ ΟΔΟΣ. Σ ΑΣ\u{2003}ΣΑ İI ẞ";
        let lower = text.to_lowercase();
        assert_eq!(words(text).collect::<Vec<_>>(), lower.split_whitespace().collect::<Vec<_>>());
    }

    #[test]
    fn repeated_term_is_shown_twice_and_counts_once() {
        let query = crate::context::query::Query::new(" Deploy\tnow deploy ", 1);
        assert_eq!(query.terms, ["deploy", "now", "deploy"]);
        assert_eq!(distinct(&query.terms), BTreeSet::from(["deploy", "now"]));
    }
}
