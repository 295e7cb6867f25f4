//! The newest slot that each session has seen. A session never reads an older state than it has read before, whichever node
//! answers.

use std::collections::HashMap;
use std::sync::Arc;

use mainstay_solana::methods::Commitment;
use parking_lot::Mutex;

/// More sessions than this are not remembered: the oldest half is forgotten, and with it only this promise.
const MOST_SESSIONS: usize = 10_000;

/// A session's view of one network. Slots of different commitments are not compared: a finalized state is always older
/// than a confirmed one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct View {
    session: Arc<str>,
    network: String,
    commitment: Commitment,
}

#[derive(Debug, Default)]
struct Seen {
    slots: HashMap<View, (u64, u64)>,
    /// Counts updates, to tell old entries from new ones.
    updates: u64,
}

#[derive(Debug, Default)]
pub(super) struct SessionSlots(Mutex<Seen>);

impl SessionSlots {
    /// The oldest slot that this session accepts.
    pub(super) fn minimum(&self, session: &Arc<str>, network: &str, commitment: Commitment) -> Option<u64> {
        let view = View { session: session.clone(), network: network.to_owned(), commitment };
        self.0.lock().slots.get(&view).map(|(slot, _)| *slot)
    }

    /// The session has seen this slot.
    pub(super) fn saw(&self, session: &Arc<str>, network: &str, commitment: Commitment, slot: u64) {
        let view = View { session: session.clone(), network: network.to_owned(), commitment };
        let mut seen = self.0.lock();
        seen.updates += 1;
        let updates = seen.updates;
        let entry = seen.slots.entry(view).or_default();
        *entry = (entry.0.max(slot), updates);
        if seen.slots.len() > MOST_SESSIONS {
            let mut ages: Vec<u64> = seen.slots.values().map(|(_, updated)| *updated).collect();
            let middle = ages.len() / 2;
            let (_, median, _) = ages.select_nth_unstable(middle);
            let median = *median;
            seen.slots.retain(|_, (_, updated)| *updated >= median);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_does_not_go_back_and_others_are_not_held_to_it() {
        let slots = SessionSlots::default();
        let (one, two): (Arc<str>, Arc<str>) = ("one".into(), "two".into());
        slots.saw(&one, "mainnet", Commitment::Confirmed, 10);
        slots.saw(&one, "mainnet", Commitment::Confirmed, 9);
        assert_eq!(slots.minimum(&one, "mainnet", Commitment::Confirmed), Some(10));
        assert_eq!(slots.minimum(&one, "mainnet", Commitment::Finalized), None);
        assert_eq!(slots.minimum(&one, "devnet", Commitment::Confirmed), None);
        assert_eq!(slots.minimum(&two, "mainnet", Commitment::Confirmed), None);
    }

    #[test]
    fn the_oldest_sessions_are_forgotten() {
        let slots = SessionSlots::default();
        for number in 0..=MOST_SESSIONS {
            slots.saw(&number.to_string().into(), "mainnet", Commitment::Confirmed, 1);
        }
        let known = |number: usize| slots.minimum(&number.to_string().into(), "mainnet", Commitment::Confirmed);
        assert_eq!((known(0), known(MOST_SESSIONS)), (None, Some(1)));
        assert!(slots.0.lock().slots.len() <= MOST_SESSIONS);
    }
}
