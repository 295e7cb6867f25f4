//! Who waits for a person, each in a place that other calls need.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mainstay_core::Principal;

/// Calls of one principal that wait for a person at once.
const MOST: usize = 16;

#[derive(Default)]
pub(crate) struct Waiting(Mutex<HashMap<Principal, usize>>);

/// Given back when it is dropped, however the wait ends.
pub(crate) struct Seat<'a> {
    waiting: &'a Waiting,
    principal: Principal,
}

impl Waiting {
    /// Nothing if as many of this principal's calls wait as may.
    pub(crate) fn sit(&self, principal: &Principal) -> Option<Seat<'_>> {
        let mut taken = self.taken();
        let own = taken.entry(principal.clone()).or_default();
        if *own >= MOST {
            return None;
        }
        *own += 1;
        Some(Seat { waiting: self, principal: principal.clone() })
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<Principal, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut taken = self.waiting.taken();
        if let Some(own) = taken.get_mut(&self.principal) {
            *own -= 1;
            if *own == 0 {
                taken.remove(&self.principal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_principal_has_its_own_seats_and_gives_them_back() {
        let (waiting, bob) = (Waiting::default(), Principal::new("https://issuer", "bob"));
        let seats: Vec<_> = (0..MOST).map(|_| waiting.sit(&Principal::local()).unwrap()).collect();
        assert!(waiting.sit(&Principal::local()).is_none());
        assert!(waiting.sit(&bob).is_some());
        drop(seats);
        assert!(waiting.sit(&Principal::local()).is_some());
        assert!(waiting.taken().is_empty());
    }
}
