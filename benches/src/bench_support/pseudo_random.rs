//! Pseudo-random numbers to generate files from: the same in every run, of no statistical quality.

/// A generator of xorshift numbers.
pub(crate) struct PseudoRandom(u64);

impl PseudoRandom {
    pub(crate) fn from(seed: u64) -> Self {
        let mut numbers = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        numbers.draw();
        numbers
    }

    pub(crate) fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.draw() % end as u64).unwrap_or(0)
    }
}
