//! How often may this client call?

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota as Bucket, RateLimiter};
use mainstay_core::{Caller, Error, Kind, Principal, Result};
use serde_json::json;

use crate::settings::{Quota, RateSettings};

/// The principal alone: neither a new session, nor another address, nor a forged header makes a new client.
type Client = Principal;

struct Limit {
    quota: Quota,
    buckets: DefaultKeyedRateLimiter<Client>,
}

pub(crate) struct RateLimits {
    per_client: Option<Limit>,
    per_tool: HashMap<String, Limit>,
    clock: DefaultClock,
}

impl RateLimits {
    pub(crate) fn new(settings: &RateSettings) -> Self {
        Self {
            per_client: settings.per_client.map(Limit::new),
            per_tool: settings.per_tool.iter().map(|(tool, quota)| (tool.clone(), Limit::new(*quota))).collect(),
            clock: DefaultClock::default(),
        }
    }

    pub(crate) fn admit(&self, caller: &Caller, tool: &str) -> Result<()> {
        let limits = self.per_client.iter().chain(self.per_tool.get(tool));
        for limit in limits {
            if let Err(wait) = limit.buckets.check_key(&caller.principal) {
                return Err(refusal(limit.quota, wait.wait_time_from(self.clock.now())));
            }
        }
        Ok(())
    }

    /// Forgets clients whose buckets are full again, so that memory follows those who call.
    pub(crate) fn sweep(&self) {
        for limit in self.per_client.iter().chain(self.per_tool.values()) {
            limit.buckets.retain_recent();
        }
    }
}

impl Limit {
    fn new(quota: Quota) -> Self {
        let calls = NonZeroU32::new(quota.calls).unwrap_or(NonZeroU32::MIN);
        let each = Duration::from_secs(u64::from(quota.seconds.max(1))) / calls.get();
        let bucket = Bucket::with_period(each).unwrap_or(Bucket::per_second(calls)).allow_burst(calls);
        Self { quota, buckets: RateLimiter::keyed(bucket) }
    }
}

fn refusal(quota: Quota, wait: Duration) -> Error {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    Error::new(
        Kind::RateLimited,
        format!(
            "The limit of {} calls in {} seconds is used up. Try again in {seconds} s.",
            quota.calls, quota.seconds
        ),
    )
    .with_data(json!({ "retry_after": seconds, "limit": quota.calls, "remaining": 0 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> RateLimits {
        let quota = |calls| Quota { calls, seconds: 60 };
        RateLimits::new(&RateSettings { per_client: Some(quota(3)), per_tool: [("slow".to_owned(), quota(1))].into() })
    }

    #[test]
    fn a_client_is_refused_past_its_quota_and_told_when_to_return() {
        let (limits, caller) = (limits(), Caller::local(None));
        assert!((0..3).all(|_| limits.admit(&caller, "any").is_ok()));
        let refused = limits.admit(&caller, "any").unwrap_err();
        assert_eq!(refused.kind, Kind::RateLimited);
        assert_eq!(refused.data.unwrap()["retry_after"], 20);
    }

    #[test]
    fn a_tool_can_have_a_limit_of_its_own() {
        let (limits, caller) = (limits(), Caller::local(None));
        assert!(limits.admit(&caller, "slow").is_ok());
        assert!(limits.admit(&caller, "slow").is_err());
    }

    #[test]
    fn clients_do_not_share_a_bucket() {
        let limits = limits();
        let other = Caller { principal: Principal::new("https://issuer", "b"), ..Caller::local(None) };
        assert!((0..3).all(|_| limits.admit(&Caller::local(None), "any").is_ok()));
        assert!(limits.admit(&other, "any").is_ok());
    }
}
