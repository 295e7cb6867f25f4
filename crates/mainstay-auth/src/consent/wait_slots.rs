//! How many calls of one principal wait for a person at once: in this process, whose slots they hold, and on all replicas
//! of one store together.

use std::time::Duration;

use mainstay_core::{Principal, PrincipalPermit, Result, canonical_digest};
use mainstay_store::{Lease, LeaseRequest};
use serde_json::json;

use super::policy::{ConsentPolicy, MAX_WAITING};

/// Has to be freed in the end. One that never is, because its server died, expires with the wait it was for.
pub(super) struct WaitSlot {
    _permit: PrincipalPermit,
    lease: Option<i64>,
}

impl ConsentPolicy {
    /// `None` if as many calls of this principal wait as may.
    pub(super) async fn take_wait_slot(&self, principal: &Principal, longest: Duration) -> Result<Option<WaitSlot>> {
        let Ok(permit) = self.waits.acquire(principal) else { return Ok(None) };
        let (store, now_ms) = (&self.requests.store, self.requests.clock.now_ms());
        if !store.is_shared() {
            return Ok(Some(WaitSlot { _permit: permit, lease: None }));
        }
        let request = LeaseRequest {
            counter: canonical_digest(&json!(["calls that wait for consent", principal.as_str()])),
            limit: u32::try_from(MAX_WAITING).unwrap_or(u32::MAX),
            wanted: 1,
            unused: None,
            now_ms,
            expires_ms: now_ms.saturating_add(i64::try_from(longest.as_millis()).unwrap_or(i64::MAX)),
        };
        Ok(match store.limits().lease(request).await? {
            Lease::Granted { id, .. } => Some(WaitSlot { _permit: permit, lease: Some(id) }),
            Lease::Exhausted { .. } => None,
        })
    }

    pub(super) async fn free_wait_slot(&self, slot: WaitSlot) {
        if let Some(id) = slot.lease {
            // If it fails the slot expires by itself; the call's own outcome is not affected.
            let _ = self.requests.store.limits().give_back(id, 1).await;
        }
    }
}
