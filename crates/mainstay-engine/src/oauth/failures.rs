//! Who has failed too often of late. Looking at a secret is hard work on purpose, so nobody may make us do it for ever.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So many failures…
const ALLOWED: u32 = 10;
/// …in so long.
const WINDOW: Duration = Duration::from_mins(1);

/// Places remembered at once. Past this the oldest windows go first.
const ROOM: usize = 10_000;

/// A client and where it is asked for. Clients that do not exist are one: making up names gives no new start, and
/// whoever does it behind the same proxy as others does not stand in their way.
pub(super) type Place = (Option<String>, Option<IpAddr>);

#[derive(Default)]
pub struct Failures(Mutex<HashMap<Place, Counted>>);

struct Counted {
    since: Instant,
    failures: u32,
}

impl Counted {
    fn is_over(&self) -> bool {
        self.since.elapsed() >= WINDOW
    }
}

impl Failures {
    /// Counts an attempt before it is made, so that many at once are not all let in; whoever succeeds gives it back.
    /// Seconds to wait instead, if there were too many.
    pub(super) fn attempt(&self, place: &Place) -> Result<(), u64> {
        if let Some(seconds) = self.wait(place) {
            return Err(seconds);
        }
        self.note(place.clone());
        Ok(())
    }

    pub(super) fn give_back(&self, place: &Place) {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = counted.get_mut(place) {
            found.failures = found.failures.saturating_sub(1);
        }
    }

    /// Seconds to wait, if there were too many.
    pub fn wait(&self, place: &Place) -> Option<u64> {
        let counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = counted.get(place).filter(|found| !found.is_over() && found.failures >= ALLOWED)?;
        Some(WINDOW.saturating_sub(found.since.elapsed()).as_secs() + 1)
    }

    pub fn note(&self, place: Place) {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.len() >= ROOM {
            counted.retain(|_, found| !found.is_over());
        }
        if counted.len() >= ROOM
            && let Some(oldest) = counted.iter().min_by_key(|(_, found)| found.since).map(|(place, _)| place.clone())
        {
            counted.remove(&oldest);
        }
        let found = counted.entry(place).or_insert_with(|| Counted { since: Instant::now(), failures: 0 });
        if found.is_over() {
            *found = Counted { since: Instant::now(), failures: 0 };
        }
        found.failures += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(client: &str, last: u8) -> Place {
        (Some(client.to_owned()), Some(IpAddr::from([127, 0, 0, last])))
    }

    #[test]
    fn the_eleventh_failure_in_a_minute_has_to_wait_and_others_do_not() {
        let failures = Failures::default();
        for _ in 0..ALLOWED {
            assert_eq!(failures.wait(&place("a", 1)), None);
            failures.note(place("a", 1));
        }
        assert!(failures.wait(&place("a", 1)).is_some_and(|seconds| (1..=60).contains(&seconds)));
        for other in [place("b", 1), place("a", 2), (None, place("a", 1).1)] {
            assert_eq!(failures.wait(&other), None);
        }
    }

    #[test]
    fn attempts_count_while_they_are_made_and_those_that_succeed_do_not() {
        let failures = Failures::default();
        for _ in 0..100 {
            assert!(failures.attempt(&place("a", 1)).is_ok());
            failures.give_back(&place("a", 1));
        }
        assert!((0..ALLOWED).all(|_| failures.attempt(&place("a", 1)).is_ok()));
        assert!(failures.attempt(&place("a", 1)).is_err());
        failures.give_back(&place("a", 1));
        assert!(failures.attempt(&place("a", 1)).is_ok());
        failures.give_back(&place("never seen", 1));
    }

    #[test]
    fn memory_is_bounded_however_many_places_fail() {
        let failures = Failures::default();
        for number in 0..=ROOM {
            failures.note(place(&number.to_string(), 1));
        }
        assert_eq!(failures.0.lock().unwrap().len(), ROOM);
    }
}
