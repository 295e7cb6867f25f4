//! Sets of ids, one bit for each.

/// Which ids a search may find.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdSet {
    words: Vec<u64>,
}

impl IdSet {
    /// The ids below `end`.
    pub fn below(end: u32) -> Self {
        let mut words = vec![u64::MAX; end as usize / 64];
        if !end.is_multiple_of(64) {
            words.push((1 << (end % 64)) - 1);
        }
        Self { words }
    }

    pub fn insert(&mut self, id: u32) {
        let index = id as usize / 64;
        if index >= self.words.len() {
            self.words.resize(index + 1, 0);
        }
        self.words[index] |= 1 << (id % 64);
    }

    pub fn remove(&mut self, id: u32) {
        if let Some(word) = self.words.get_mut(id as usize / 64) {
            *word &= !(1 << (id % 64));
        }
    }

    pub fn contains(&self, id: u32) -> bool {
        self.word(id / 64) >> (id % 64) & 1 == 1
    }

    /// How many ids are in the set.
    pub fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The bits of the ids from `64 · index`.
    pub(super) fn word(&self, index: u32) -> u64 {
        self.words.get(index as usize).copied().unwrap_or(0)
    }
}

impl From<Vec<u64>> for IdSet {
    /// Id `n` is bit `n % 64` of word `n / 64`.
    fn from(words: Vec<u64>) -> Self {
        Self { words }
    }
}

impl FromIterator<u32> for IdSet {
    fn from_iter<I: IntoIterator<Item = u32>>(ids: I) -> Self {
        let mut set = Self::default();
        ids.into_iter().for_each(|id| set.insert(id));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_in_and_not_taken_out() {
        let mut set: IdSet = [3, 64, 200].into_iter().collect();
        set.remove(64);
        set.remove(9_999);
        assert_eq!((0..300).filter(|id| set.contains(*id)).collect::<Vec<_>>(), [3, 200]);
        assert_eq!(set.count(), 2);
    }

    #[test]
    fn all_ids_below_an_end_are_a_set() {
        for end in [0, 1, 63, 64, 65, 128] {
            let set = IdSet::below(end);
            assert_eq!(set.count(), u64::from(end));
            assert!(!set.contains(end) && (end == 0 || set.contains(end - 1)));
        }
    }
}
