//! A limit on what principals use at the same time, such as open connections or calls that wait for a person.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::Principal;

/// Counts permits, in all and for each principal, so that one principal cannot use up what all of them share.
#[derive(Clone)]
pub struct PrincipalLimit(Arc<Limits>);

struct Limits {
    total: usize,
    per_principal: usize,
    /// Of the local user.
    local: usize,
    used: Mutex<Used>,
}

/// What has been taken and not returned.
#[derive(Default)]
struct Used {
    /// The sum of the others, which would take long to add up for ten thousand principals.
    total: usize,
    /// Principals without a permit have no entry: their number is not bounded.
    by_principal: HashMap<Principal, usize>,
}

/// Counts until it is dropped.
pub struct PrincipalPermit {
    limits: Arc<Limits>,
    principal: Principal,
    count: usize,
}

/// Which limit was reached, and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitReached {
    Total(usize),
    PerPrincipal(usize),
}

impl PrincipalLimit {
    pub fn new(total: usize, per_principal: usize) -> Self {
        Self(Arc::new(Limits { total, per_principal, local: per_principal, used: Mutex::default() }))
    }

    /// One principal may have half of the permits, so that others can always have some. The local user may have all:
    /// without tokens there is no other principal.
    pub fn halved(total: usize) -> Self {
        Self(Arc::new(Limits { total, per_principal: total / 2, local: total, used: Mutex::default() }))
    }

    pub fn acquire(&self, principal: &Principal) -> Result<PrincipalPermit, LimitReached> {
        self.acquire_many(principal, 1)
    }

    /// Takes several at once, or none.
    pub fn acquire_many(&self, principal: &Principal, count: usize) -> Result<PrincipalPermit, LimitReached> {
        let limits = &self.0;
        let mut used = limits.used.lock();
        let total = used.total.saturating_add(count);
        if total > limits.total {
            return Err(LimitReached::Total(limits.total));
        }
        let own = used.by_principal.get(principal).copied().unwrap_or(0).saturating_add(count);
        let most = if principal.is_local() { limits.local } else { limits.per_principal };
        if own > most {
            return Err(LimitReached::PerPrincipal(most));
        }
        used.total = total;
        used.by_principal.insert(principal.clone(), own);
        Ok(PrincipalPermit { limits: limits.clone(), principal: principal.clone(), count })
    }
}

impl Drop for PrincipalPermit {
    fn drop(&mut self) {
        let mut used = self.limits.used.lock();
        used.total -= self.count;
        if let Some(own) = used.by_principal.get_mut(&self.principal) {
            *own -= self.count;
            if *own == 0 {
                used.by_principal.remove(&self.principal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_principal_has_its_own_permits_and_returns_them() {
        let (limit, bob) = (PrincipalLimit::new(usize::MAX, 16), Principal::new("https://issuer", "bob"));
        let permits: Vec<_> = (0..16).map(|_| limit.acquire(&Principal::local()).ok().unwrap()).collect();
        assert_eq!(limit.acquire(&Principal::local()).err(), Some(LimitReached::PerPrincipal(16)));
        assert!(limit.acquire(&bob).is_ok());
        drop(permits);
        assert!(limit.acquire(&Principal::local()).is_ok());
        assert!(limit.0.used.lock().by_principal.is_empty());
    }

    #[test]
    fn half_is_left_to_others_where_there_are_others() {
        let (limit, bob) = (PrincipalLimit::halved(8), Principal::new("https://issuer", "bob"));
        let half = limit.acquire_many(&bob, 4).ok().unwrap();
        assert_eq!(limit.acquire(&bob).err(), Some(LimitReached::PerPrincipal(4)));
        assert!(limit.acquire_many(&Principal::new("https://issuer", "ann"), 4).is_ok());
        drop(half);
        assert!(limit.acquire_many(&Principal::local(), 8).is_ok());
    }
}
