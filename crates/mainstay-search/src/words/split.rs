//! The splitting that the embedding model needs.

use super::MAX_WORD_BYTES;

const OTHER: u8 = 0;
const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 3;

/// The class of every byte. Bytes of a character outside ASCII are separators, as they were when the model was trained.
const CLASS: [u8; 256] = {
    let mut table = [OTHER; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = match byte {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            _ => OTHER,
        };
        byte += 1;
    }
    table
};

/// Splits text at every byte that is not an ASCII letter or digit and at the borders inside identifiers: `camelCase`,
/// `HTTPServer` and between letters and digits. Words of more than [`MAX_WORD_BYTES`] are left out.
///
/// The words are slices of the text in its own case, so that nothing is copied; the model's vocabulary is lower-case.
pub fn subwords(text: &str) -> Subwords<'_> {
    Subwords { text, at: 0 }
}

/// The words of a text; see [`subwords`].
#[derive(Clone, Debug)]
pub struct Subwords<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Subwords<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            let rest = self.text.as_bytes().get(self.at..)?;
            let start = self.at + rest.iter().position(|byte| class(*byte) != OTHER)?;
            let end = start + word_length(&self.text.as_bytes()[start..]);
            self.at = end;
            if end - start <= MAX_WORD_BYTES {
                return self.text.get(start..end);
            }
        }
    }
}

fn class(byte: u8) -> u8 {
    CLASS[usize::from(byte)]
}

/// The length of the word that `bytes` begins with.
fn word_length(bytes: &[u8]) -> usize {
    let run = |from: usize, wanted: u8| {
        let rest = bytes.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|byte| class(**byte) == wanted).count()
    };
    let Some(first) = bytes.first() else { return 0 };
    match class(*first) {
        UPPER => {
            let capitals = run(0, UPPER);
            let next = bytes.get(capitals).map_or(OTHER, |byte| class(*byte));
            match (capitals, next) {
                // `Server`: one capital and its small letters.
                (1, LOWER) => run(1, LOWER),
                // `HTTPServer`: the last capital belongs to the next word.
                (_, LOWER) => capitals - 1,
                _ => capitals,
            }
        }
        kind => run(0, kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        subwords(text).map(str::to_ascii_lowercase).collect()
    }

    #[test]
    fn identifiers_are_split_at_their_inner_borders() {
        assert_eq!(split("readFile"), ["read", "file"]);
        assert_eq!(split("parseXMLDocument"), ["parse", "xml", "document"]);
        assert_eq!(split("HTTPRequests"), ["http", "requests"]);
        assert_eq!(split("to_string(Vec2)"), ["to", "string", "vec", "2"]);
        assert_eq!(split("sha256sum"), ["sha", "256", "sum"]);
        assert_eq!(split("X509Certificate"), ["x", "509", "certificate"]);
        assert_eq!(split("ABc"), ["a", "bc"]);
        assert_eq!(split("Ab"), ["ab"]);
        assert_eq!(split("A"), ["a"]);
        assert_eq!(split("aB"), ["a", "b"]);
    }

    #[test]
    fn characters_outside_ascii_are_separators() {
        assert_eq!(split("déjà vu"), ["d", "j", "vu"]);
        assert!(split("日本語 … — ").is_empty());
    }

    #[test]
    fn words_over_the_limit_are_left_out() {
        let long = "x".repeat(MAX_WORD_BYTES + 1);
        assert_eq!(split(&format!("{long} open {}", &long[1..])), ["open", &long[1..]]);
    }
}
