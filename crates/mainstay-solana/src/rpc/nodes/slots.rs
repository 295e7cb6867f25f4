//! The highest slot that was observed on a network, per commitment: finalized slots are some 30 behind processed ones.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// A height that no node has confirmed for this long is forgotten: a local validator starts again at slot 0.
const FORGET_AFTER: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy)]
struct Observation {
    slot: u64,
    at: Instant,
}

/// Observed slots by commitment.
#[derive(Debug, Default)]
pub(crate) struct ObservedSlots(Mutex<[Option<Observation>; 3]>);

/// Nodes take a missing commitment as finalized.
fn index(commitment: Option<&str>) -> usize {
    match commitment {
        Some("processed") => 0,
        Some("confirmed") => 1,
        Some(_) | None => 2,
    }
}

impl ObservedSlots {
    /// Takes note of a slot and returns the highest that is known.
    pub(crate) fn observe(&self, commitment: Option<&str>, slot: u64, now: Instant) -> u64 {
        let mut all = self.0.lock();
        let Some(known) = all.get_mut(index(commitment)) else { return slot };
        let stays = known.is_some_and(|known| known.slot > slot && now.duration_since(known.at) < FORGET_AFTER);
        if !stays {
            *known = Some(Observation { slot, at: now });
        }
        known.map_or(slot, |known| known.slot)
    }

    pub(crate) fn highest(&self, commitment: Option<&str>) -> Option<u64> {
        self.0.lock().get(index(commitment)).copied().flatten().map(|known| known.slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commitments_are_observed_apart_and_only_rise() {
        let (slots, now) = (ObservedSlots::default(), Instant::now());
        assert_eq!(slots.observe(Some("processed"), 132, now), 132);
        assert_eq!(slots.observe(Some("finalized"), 100, now), 100);
        assert_eq!(slots.observe(None, 99, now), 100, "without a commitment it is finalized");
        assert_eq!(slots.highest(Some("processed")), Some(132));
        assert_eq!(slots.highest(Some("confirmed")), None);
    }

    #[test]
    fn a_height_that_nobody_confirms_is_forgotten() {
        let (slots, now) = (ObservedSlots::default(), Instant::now());
        slots.observe(None, 1000, now);
        assert_eq!(slots.observe(None, 5, now + FORGET_AFTER / 2), 1000);
        assert_eq!(slots.observe(None, 6, now + FORGET_AFTER), 6);
    }
}
