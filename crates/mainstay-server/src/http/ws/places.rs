//! Who may listen at the same time.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mainstay_core::Principal;

/// One principal has at most this part of all places…
const PART: usize = 10;

/// …and at least so many, if there are.
const FEW: usize = 10;

#[derive(Clone)]
pub(super) struct Places(Arc<House>);

struct House {
    all: usize,
    each: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    by: HashMap<Principal, usize>,
}

/// A place, for as long as this is held.
pub(super) struct Place {
    house: Arc<House>,
    of: Principal,
}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    House,
    Share,
}

impl Full {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::House => "As many listen as may (server.websockets in the configuration). Try again later.\n",
            Self::Share => {
                "You listen as often as one may (a tenth of server.websockets in the configuration). Close a connection \
                 first.\n"
            }
        }
    }
}

impl Places {
    pub(super) fn new(all: usize) -> Self {
        Self(Arc::new(House { all, each: (all / PART).max(FEW), taken: Mutex::default() }))
    }

    pub(super) fn take(&self, principal: &Principal) -> Result<Place, Full> {
        let mut taken = self.0.taken();
        if taken.all >= self.0.all {
            return Err(Full::House);
        }
        let own = taken.by.entry(principal.clone()).or_default();
        if *own >= self.0.each {
            return Err(Full::Share);
        }
        *own += 1;
        taken.all += 1;
        Ok(Place { house: self.0.clone(), of: principal.clone() })
    }
}

impl House {
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.house.taken();
        taken.all -= 1;
        if let Entry::Occupied(mut own) = taken.by.entry(self.of.clone()) {
            *own.get_mut() -= 1;
            if *own.get() == 0 {
                own.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn principal(name: &str) -> Principal {
        Principal::new("https://issuer", name)
    }

    #[test]
    fn one_principal_has_a_tenth_of_the_places_and_gives_them_back() {
        let (places, ann) = (Places::new(200), principal("ann"));
        let held: Vec<Place> = (0..20).map(|_| places.take(&ann).ok().unwrap()).collect();
        assert_eq!(places.take(&ann).err(), Some(Full::Share));
        assert!(places.take(&principal("bob")).is_ok());
        drop(held);
        assert!(places.take(&ann).is_ok());
        assert!(places.0.taken().by.is_empty() && places.0.taken().all == 0);
    }

    #[test]
    fn a_few_are_anybodys_as_long_as_there_are_any() {
        let (few, ann) = (Places::new(20), principal("ann"));
        let held: Vec<_> = (0..10).map(|_| few.take(&ann)).collect();
        assert!(held.iter().all(Result::is_ok));
        assert_eq!(few.take(&ann).err(), Some(Full::Share));
        let two = Places::new(2);
        let _held = [two.take(&ann), two.take(&ann)];
        assert_eq!(two.take(&ann).err(), Some(Full::House));
    }
}
