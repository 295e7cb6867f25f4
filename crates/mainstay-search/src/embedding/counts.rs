//! How often each token occurs in a text.

/// Only so many tokens of a text count, as in training; a chunk of code seldom has more.
pub const MAX_TOKENS: usize = 512;

/// At most half of the slots are taken, so that probing always finds an empty one, and soon.
const SLOTS: usize = 2 * MAX_TOKENS;

/// How often each token occurs: a hash table small enough for the stack, so that embedding a text allocates nothing.
pub(super) struct TokenCounts {
    /// Index into `tokens` plus one; 0 is an empty slot.
    slots: [u16; SLOTS],
    tokens: [(u32, u16); MAX_TOKENS],
    distinct: usize,
    total: usize,
}

impl TokenCounts {
    pub(super) fn new() -> Self {
        Self { slots: [0; SLOTS], tokens: [(0, 0); MAX_TOKENS], distinct: 0, total: 0 }
    }

    #[expect(clippy::cast_possible_truncation, reason = "there are at most 512 distinct tokens")]
    pub(super) fn add(&mut self, token: u32) {
        if self.is_full() {
            return;
        }
        self.total += 1;
        // The high bits of a product are the well mixed ones; 32 - 22 = 10 of them number the 1,024 slots.
        let mut slot = (token.wrapping_mul(0x9e37_79b1) >> 22) as usize;
        loop {
            match self.slots[slot] {
                0 => {
                    self.tokens[self.distinct] = (token, 1);
                    self.distinct += 1;
                    self.slots[slot] = self.distinct as u16;
                    return;
                }
                index if self.tokens[usize::from(index) - 1].0 == token => {
                    self.tokens[usize::from(index) - 1].1 += 1;
                    return;
                }
                _ => slot = (slot + 1) % SLOTS,
            }
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.total >= MAX_TOKENS
    }

    pub(super) fn len(&self) -> usize {
        self.distinct
    }

    /// Tokens with their counts, by first occurrence.
    pub(super) fn distinct(&self) -> impl Iterator<Item = (u32, u16)> + '_ {
        self.tokens[..self.distinct].iter().copied()
    }
}
