//! Text that looks like words and is the same every time.

use crate::bench_support::pseudo_random::PseudoRandom;

/// Found in a handful of lines.
pub(crate) const RARE: &str = "a quetzal flies over the house\n";
/// Found in some ten thousand lines.
pub(crate) const COMMON: &str = "a lantern hangs at the door\n";
/// Ends every small file, so that a search has something that looks like what it wants.
pub(crate) const ROUTINE: &str = "fn routine() of no number\n";

const SYLLABLES: [&str; 16] =
    ["ba", "co", "di", "fu", "go", "hi", "ka", "lo", "mi", "no", "pe", "ra", "so", "tu", "ve", "zi"];
const LINE: usize = 78;

pub(crate) struct TextCorpus(PseudoRandom);

impl TextCorpus {
    pub(crate) fn from(seed: u64) -> Self {
        Self(PseudoRandom::from(seed))
    }

    /// One line with its end.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::with_capacity(LINE + 8);
        while line.len() < LINE {
            let mut bits = self.0.draw();
            for _ in 0..2 + bits % 3 {
                bits >>= 4;
                line.push_str(SYLLABLES[usize::try_from(bits % 16).unwrap_or(0)]);
            }
            line.push(' ');
        }
        line.pop();
        line.push('\n');
        line
    }

    /// Whole lines, the last cut so that exactly `bytes` come out, an end of line among them.
    pub(crate) fn text(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + LINE + 8);
        while text.len() < bytes {
            text.push_str(&self.line());
        }
        text.truncate(bytes.saturating_sub(1));
        text.push('\n');
        text
    }

    /// A line that the regular expression of the search finds.
    pub(crate) fn routine(&mut self) -> String {
        format!("fn routine_{:03}(lamp) of the house\n", self.0.draw() % 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_the_length_asked_for_and_is_the_same_every_time() {
        assert_eq!(TextCorpus::from(3).text(4_000).len(), 4_000);
        assert_eq!(TextCorpus::from(3).text(4_000), TextCorpus::from(3).text(4_000));
        assert_ne!(TextCorpus::from(3).line(), TextCorpus::from(4).line());
    }
}
