//! A limit on the calls of one principal that wait for a person at the same time.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mainstay_core::Principal;

/// Waiting calls per principal. Each holds a slot of the gate that other calls need.
const MAX_WAITING: usize = 16;

#[derive(Default)]
pub(super) struct WaitLimit(Mutex<HashMap<Principal, usize>>);

/// Released on drop, however the wait ends.
pub(super) struct WaitSlot<'a> {
    limit: &'a WaitLimit,
    principal: Principal,
}

impl WaitLimit {
    /// `None` if this principal has [`MAX_WAITING`] waiting calls already.
    pub(super) fn acquire(&self, principal: &Principal) -> Option<WaitSlot<'_>> {
        let mut waiting = self.waiting();
        let count = waiting.entry(principal.clone()).or_default();
        if *count >= MAX_WAITING {
            return None;
        }
        *count += 1;
        Some(WaitSlot { limit: self, principal: principal.clone() })
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<Principal, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WaitSlot<'_> {
    fn drop(&mut self) {
        let mut waiting = self.limit.waiting();
        if let Some(count) = waiting.get_mut(&self.principal) {
            *count -= 1;
            if *count == 0 {
                waiting.remove(&self.principal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_principal_has_its_own_slots_and_releases_them() {
        let (limit, bob) = (WaitLimit::default(), Principal::new("https://issuer", "bob"));
        let slots: Vec<_> = (0..MAX_WAITING).map(|_| limit.acquire(&Principal::local()).unwrap()).collect();
        assert!(limit.acquire(&Principal::local()).is_none());
        assert!(limit.acquire(&bob).is_some());
        drop(slots);
        assert!(limit.acquire(&Principal::local()).is_some());
        assert!(limit.waiting().is_empty());
    }
}
