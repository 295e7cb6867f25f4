//! Names of the documents' files: the first 12 digits of the content's hash, more where documents share them.

use std::collections::{HashMap, HashSet};

const MIN_DIGITS: usize = 12;
const ALL_DIGITS: usize = 64;

/// Gives out names. Documents have to come in the order of their ids: the first one that wants a name gets it, the next
/// one's name has a digit more, and so on. Documents of equal content run out of digits and get a number.
#[derive(Debug, Default)]
pub(crate) struct FileNames {
    taken: HashSet<String>,
    /// Where to go on for each version; starting over would be quadratic for a content that a thousand documents share.
    tried: HashMap<String, usize>,
}

impl FileNames {
    /// The name of the next document's file, without its extension.
    pub(crate) fn assign(&mut self, version: &str) -> String {
        let digits = digits(version);
        let next = self.tried.entry(version.to_owned()).or_default();
        loop {
            let name = match MIN_DIGITS + *next {
                length if length <= ALL_DIGITS => digits.get(..length).unwrap_or(digits).to_owned(),
                longer => format!("{digits}-{}", longer - ALL_DIGITS),
            };
            *next += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

fn digits(version: &str) -> &str {
    version.strip_prefix("sha256:").unwrap_or(version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::cache::version_of;

    fn assign(versions: &[String]) -> Vec<String> {
        let mut names = FileNames::default();
        versions.iter().map(|version| names.assign(version)).collect()
    }

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
            names.iter().all(|name| digits(&one).starts_with(name.split('-').next().unwrap())
                || *name == digits(&other)[..MIN_DIGITS])
        );
    }

    #[test]
    fn shared_prefix_of_two_hashes_is_lengthened_for_the_second() {
        let version = |last: char| format!("sha256:{}{}", "a".repeat(13), last.to_string().repeat(51));
        assert_eq!(assign(&[version('b'), version('c')]), ["a".repeat(12), "a".repeat(13)]);
    }
}
