//! Names of the documents' files: the first 12 digits of the content's hash, more where documents share them.

use std::collections::{HashMap, HashSet};

const MIN_DIGITS: usize = 12;
const ALL_DIGITS: usize = 64;

/// The name of each document's file without its extension, for documents sorted by id. The first document that wants a
/// name gets it; the next one's name has a digit more, and so on. Documents of equal content run out of digits and get a
/// number.
pub(crate) fn assign(versions: &[String]) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::with_capacity(versions.len());
    // Where to go on for each version; starting over would be quadratic for a content that a thousand documents share.
    let mut tried: HashMap<&str, usize> = HashMap::new();
    let candidate = |version: &str, nth: usize| -> String {
        let digits = digits(version);
        match MIN_DIGITS + nth {
            length if length <= ALL_DIGITS => digits.get(..length).unwrap_or(digits).to_owned(),
            longer => format!("{digits}-{}", longer - ALL_DIGITS),
        }
    };
    let names = versions.iter().map(|version| {
        let next = tried.entry(version.as_str()).or_default();
        loop {
            let name = candidate(version, *next);
            *next += 1;
            if taken.insert(name.clone()) {
                return name;
            }
        }
    });
    names.collect()
}

/// The name that a document has unless another one has it.
pub(crate) fn preferred(version: &str) -> &str {
    let digits = digits(version);
    digits.get(..MIN_DIGITS).unwrap_or(digits)
}

/// The name of a document whose final name is not known yet. No hash looks like it.
pub(crate) fn temporary(nth: usize) -> String {
    format!("temporary-{nth}")
}

fn digits(version: &str) -> &str {
    version.strip_prefix("sha256:").unwrap_or(version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::cache::version_of;

    #[test]
    fn equal_contents_get_longer_names_in_the_order_of_the_ids() {
        let (one, other) = (version_of(b""), version_of(b"x"));
        let mut versions = vec![one.clone(); 60];
        versions.insert(1, other.clone());
        let names = assign(&versions);
        let lengths: Vec<usize> = names.iter().map(String::len).collect();
        assert_eq!(lengths[..4], [12, 12, 13, 14]);
        assert_eq!(
            (lengths[53], &names[54], &names[60]),
            (64, &format!("{}-1", digits(&one)), &format!("{}-7", digits(&one)))
        );
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), 61);
        assert!(
            names
                .iter()
                .all(|name| digits(&one).starts_with(name.split('-').next().unwrap()) || name == preferred(&other))
        );
    }

    #[test]
    fn shared_prefix_of_two_hashes_is_lengthened_for_the_second() {
        let version = |last: char| format!("sha256:{}{}", "a".repeat(13), last.to_string().repeat(51));
        assert_eq!(assign(&[version('b'), version('c')]), ["a".repeat(12), "a".repeat(13)]);
    }
}
