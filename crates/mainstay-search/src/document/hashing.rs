//! Hashes by which terms and names are found. They are stored, so that they may not change from version to version.

/// Of a term of [`words`](crate::words).
pub fn term_hash(term: &str) -> u64 {
    hash(term.as_bytes(), 0x5155_d74c_30a1_93e5)
}

/// Of a simple name as [`flat_name`] writes it.
/// The seed differs from that of terms, so that hashes of the two are unrelated even for the same letters.
pub fn name_hash(flat: &str) -> u64 {
    hash(flat.as_bytes(), 0x8ee5_9b2d_6c07_f1a9)
}

/// Of a tag that the author of a document has given it. Stored among its terms, and with another seed, so that no word of a
/// text has it.
pub fn tag_hash(tag: &str) -> u64 {
    hash(tag.as_bytes(), 0x3c79_ac49_2ba7_b653)
}

/// A name without case and the signs that differ between conventions: `read_text`, `readText` and `READ-TEXT` are one.
pub fn flat_name(name: &str) -> String {
    let letters = name.chars().filter(|character| !matches!(character, '_' | '$' | '.' | '-'));
    letters.flat_map(char::to_lowercase).collect()
}

/// Eight bytes at a time, each mixed in by a product of 128 bits whose halves are folded. Terms are a few bytes long,
/// for which a cryptographic hash takes ten times as long.
fn hash(bytes: &[u8], seed: u64) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    // With the length, since the last word is filled up with zeros.
    let mut state = seed ^ u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    for word in words {
        state = fold(state ^ u64::from_le_bytes(*word), 0x9e37_79b9_7f4a_7c15);
    }
    let mut last = [0; 8];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    state = fold(state ^ u64::from_le_bytes(last), 0xd6e8_feb8_6659_fd93);
    fold(state ^ seed, 0xa076_1d64_78bd_642f)
}

#[expect(clippy::cast_possible_truncation, reason = "the two halves of the product")]
fn fold(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_of_every_convention_are_one() {
        for name in ["read_text", "readText", "ReadText", "READ_TEXT", "read-text", "$readText", "read.text"] {
            assert_eq!(flat_name(name), "readtext");
        }
    }

    /// What is stored by one version is looked up by the next.
    #[test]
    fn hashes_stay_what_they_are() {
        assert_eq!(term_hash(""), 0x8ed8_7688_a5b2_13e0);
        assert_eq!(term_hash("read"), 0x7d17_c1b5_67cb_ca37);
        assert_eq!(name_hash("readtextfile"), 0x9754_8397_c62c_25a1);
    }

    #[test]
    fn short_terms_have_different_hashes_in_all_their_bits() {
        let terms: Vec<String> = (0..20_000).map(|number| format!("t{number}")).collect();
        for shift in [0, 32] {
            let halves: HashSet<u64> = terms.iter().map(|term| (term_hash(term) >> shift) & 0xffff_ffff).collect();
            assert!(halves.len() > 19_990, "{}", halves.len());
        }
        let hashes: HashSet<u64> = terms.iter().map(|term| term_hash(term)).collect();
        assert_eq!(hashes.len(), terms.len());
    }
}
