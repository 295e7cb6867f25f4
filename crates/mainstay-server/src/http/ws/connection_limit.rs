//! How many WebSocket connections may be open at once, in all and for one principal.

use mainstay_core::{LimitReached, PrincipalLimit};

/// One principal may have a tenth of all connections, …
const SHARES: usize = 10;

/// … and at least this many, as long as the total allows it.
const MIN_PER_PRINCIPAL: usize = 10;

/// The limit for a total of `server.websockets`.
pub(super) fn connection_limit(total: usize) -> PrincipalLimit {
    PrincipalLimit::new(total, (total / SHARES).max(MIN_PER_PRINCIPAL))
}

/// The body of the response to a connection that is rejected.
pub(super) fn rejection(limit: LimitReached) -> String {
    match limit {
        LimitReached::Total(limit) => {
            format!("WebSocket connection limit reached ({limit}, server.websockets). Try again later.\n")
        }
        LimitReached::PerPrincipal(limit) => {
            format!("WebSocket connection limit reached ({limit} per client). Close a connection first.\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use mainstay_core::{Principal, PrincipalPermit};

    use super::*;

    fn principal(name: &str) -> Principal {
        Principal::new("https://issuer", name)
    }

    #[test]
    fn one_principal_gets_a_tenth_of_the_connections_and_returns_them() {
        let (limit, ann) = (connection_limit(200), principal("ann"));
        let held: Vec<PrincipalPermit> = (0..20).map(|_| limit.acquire(&ann).ok().unwrap()).collect();
        assert_eq!(limit.acquire(&ann).err(), Some(LimitReached::PerPrincipal(20)));
        assert!(limit.acquire(&principal("bob")).is_ok());
        drop(held);
        assert!(limit.acquire(&ann).is_ok());
    }

    #[test]
    fn a_principal_gets_at_least_ten_connections_within_the_total() {
        let (few, ann) = (connection_limit(20), principal("ann"));
        let held: Vec<_> = (0..10).map(|_| few.acquire(&ann)).collect();
        assert!(held.iter().all(Result::is_ok));
        assert_eq!(few.acquire(&ann).err(), Some(LimitReached::PerPrincipal(10)));
        let two = connection_limit(2);
        let _held = [two.acquire(&ann), two.acquire(&ann)];
        assert_eq!(two.acquire(&ann).err(), Some(LimitReached::Total(2)));
    }
}
