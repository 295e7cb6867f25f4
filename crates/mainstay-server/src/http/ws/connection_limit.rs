//! How many WebSocket connections may be open at once, in all and for one principal.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use mainstay_core::Principal;
use parking_lot::Mutex;

/// One principal may have a tenth of all connections, …
const SHARES: usize = 10;

/// … and at least this many, as long as the total allows it.
const MIN_PER_PRINCIPAL: usize = 10;

#[derive(Clone)]
pub(super) struct ConnectionLimit(Arc<Limits>);

struct Limits {
    total: usize,
    per_principal: usize,
    open: Mutex<HashMap<Principal, usize>>,
}

/// Counts one connection for as long as it is held.
pub(super) struct ConnectionPermit {
    limits: Arc<Limits>,
    principal: Principal,
}

/// Which limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LimitReached {
    Total(usize),
    PerPrincipal(usize),
}

impl std::fmt::Display for LimitReached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Total(limit) => {
                writeln!(f, "WebSocket connection limit reached ({limit}, server.websockets). Try again later.")
            }
            Self::PerPrincipal(limit) => {
                writeln!(f, "WebSocket connection limit reached ({limit} per client). Close a connection first.")
            }
        }
    }
}

impl ConnectionLimit {
    pub(super) fn new(total: usize) -> Self {
        let per_principal = (total / SHARES).max(MIN_PER_PRINCIPAL);
        Self(Arc::new(Limits { total, per_principal, open: Mutex::default() }))
    }

    pub(super) fn acquire(&self, principal: &Principal) -> Result<ConnectionPermit, LimitReached> {
        let limits = &self.0;
        let mut open = limits.open.lock();
        if open.values().sum::<usize>() >= limits.total {
            return Err(LimitReached::Total(limits.total));
        }
        let own = open.entry(principal.clone()).or_default();
        if *own >= limits.per_principal {
            return Err(LimitReached::PerPrincipal(limits.per_principal));
        }
        *own += 1;
        Ok(ConnectionPermit { limits: limits.clone(), principal: principal.clone() })
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        if let Entry::Occupied(mut own) = self.limits.open.lock().entry(self.principal.clone()) {
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
    fn one_principal_gets_a_tenth_of_the_connections_and_returns_them() {
        let (limit, ann) = (ConnectionLimit::new(200), principal("ann"));
        let held: Vec<ConnectionPermit> = (0..20).map(|_| limit.acquire(&ann).ok().unwrap()).collect();
        assert_eq!(limit.acquire(&ann).err(), Some(LimitReached::PerPrincipal(20)));
        assert!(limit.acquire(&principal("bob")).is_ok());
        drop(held);
        assert!(limit.acquire(&ann).is_ok());
        assert!(limit.0.open.lock().is_empty());
    }

    #[test]
    fn a_principal_gets_at_least_ten_connections_within_the_total() {
        let (few, ann) = (ConnectionLimit::new(20), principal("ann"));
        let held: Vec<_> = (0..10).map(|_| few.acquire(&ann)).collect();
        assert!(held.iter().all(Result::is_ok));
        assert_eq!(few.acquire(&ann).err(), Some(LimitReached::PerPrincipal(10)));
        let two = ConnectionLimit::new(2);
        let _held = [two.acquire(&ann), two.acquire(&ann)];
        assert_eq!(two.acquire(&ann).err(), Some(LimitReached::Total(2)));
    }
}
