//! How often may this client call?

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota as Bucket, RateLimiter};
use mainstay_auth::ip_prefix;
use mainstay_core::{Caller, Error, Kind, Principal, Reason, Result};

use super::window::Window;
use crate::settings::{Quota, RateSettings};

/// Whose share a call is taken from. The principal alone: neither a new session, nor another address, nor a forged
/// header makes a new client.
type Client = Principal;

/// Whose share of a dialect's limit: where nobody has to say who they are, the prefix of their address tells them apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Visitor {
    Known(Principal),
    At(Option<IpAddr>),
}

impl Visitor {
    fn of(caller: &Caller) -> Self {
        if caller.principal.is_local() {
            Self::At(caller.ip.map(ip_prefix))
        } else {
            Self::Known(caller.principal.clone())
        }
    }
}

struct Limit {
    quota: Quota,
    buckets: DefaultKeyedRateLimiter<Client>,
}

/// A contract's limit, kept to the letter.
struct Strict {
    quota: Quota,
    calls: Window<Visitor>,
}

pub(crate) struct RateLimits {
    per_client: Option<Limit>,
    per_tool: HashMap<String, Limit>,
    per_dialect: BTreeMap<&'static str, Strict>,
    clock: DefaultClock,
}

impl RateLimits {
    pub(crate) fn new(settings: &RateSettings) -> Self {
        Self {
            per_client: settings.per_client.map(Limit::new),
            per_tool: settings.per_tool.iter().map(|(tool, quota)| (tool.clone(), Limit::new(*quota))).collect(),
            per_dialect: BTreeMap::from([("agents", Strict::new(settings.agents))]),
            clock: DefaultClock::default(),
        }
    }

    pub(crate) fn admit(&self, caller: &Caller, tool: &str, dialect: Option<&str>) -> Result<()> {
        if let Some(limit) = dialect.and_then(|dialect| self.per_dialect.get(dialect)) {
            limit.admit(caller)?;
        }
        let limits = self.per_client.iter().chain(self.per_tool.get(tool));
        limits.into_iter().try_for_each(|limit| limit.admit(&caller.principal, &self.clock))
    }

    /// Forgets clients whose buckets are full again, so that memory follows those who call.
    pub(crate) fn sweep(&self) {
        for limit in self.per_client.iter().chain(self.per_tool.values()) {
            limit.buckets.retain_recent();
        }
        self.per_dialect.values().for_each(|limit| limit.calls.sweep(Instant::now()));
    }
}

impl Strict {
    fn new(quota: Quota) -> Self {
        Self { quota, calls: Window::new(quota.calls, Duration::from_secs(u64::from(quota.seconds.max(1)))) }
    }

    fn admit(&self, caller: &Caller) -> Result<()> {
        self.calls.admit(&Visitor::of(caller), Instant::now()).map_err(|wait| refusal(self.quota, wait))
    }
}

impl Limit {
    fn new(quota: Quota) -> Self {
        let calls = NonZeroU32::new(quota.calls).unwrap_or(NonZeroU32::MIN);
        let each = Duration::from_secs(u64::from(quota.seconds.max(1))) / calls.get();
        let bucket = Bucket::with_period(each).unwrap_or(Bucket::per_second(calls)).allow_burst(calls);
        Self { quota, buckets: RateLimiter::keyed(bucket) }
    }

    fn admit(&self, client: &Client, clock: &DefaultClock) -> Result<()> {
        self.buckets.check_key(client).map_err(|wait| refusal(self.quota, wait.wait_time_from(clock.now())))
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
    .with_reason(Reason::RateLimited { limit: quota.calls, retry_after: seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> RateLimits {
        let quota = |calls| Quota { calls, seconds: 60 };
        RateLimits::new(&RateSettings {
            per_client: Some(quota(3)),
            per_tool: [("slow".to_owned(), quota(1))].into(),
            agents: quota(2),
        })
    }

    #[test]
    fn a_client_is_refused_past_its_quota_and_told_when_to_return() {
        let (limits, caller) = (limits(), Caller::local(None));
        assert!((0..3).all(|_| limits.admit(&caller, "any", None).is_ok()));
        let refused = limits.admit(&caller, "any", None).unwrap_err();
        assert_eq!(refused.kind, Kind::RateLimited);
        assert_eq!(*refused.reason.unwrap(), Reason::RateLimited { limit: 3, retry_after: 20 });
    }

    #[test]
    fn a_tool_can_have_a_limit_of_its_own() {
        let (limits, caller) = (limits(), Caller::local(None));
        assert!(limits.admit(&caller, "slow", None).is_ok());
        assert!(limits.admit(&caller, "slow", None).is_err());
    }

    #[test]
    fn clients_do_not_share_a_bucket() {
        let limits = limits();
        let other = Caller { principal: Principal::new("https://issuer", "b"), ..Caller::local(None) };
        assert!((0..3).all(|_| limits.admit(&Caller::local(None), "any", None).is_ok()));
        assert!(limits.admit(&other, "any", None).is_ok());
    }

    #[test]
    fn a_dialect_has_a_limit_of_its_own_for_each_principal_or_else_for_each_address() {
        let limits =
            RateLimits::new(&RateSettings { agents: Quota { calls: 2, seconds: 60 }, ..RateSettings::default() });
        let from = |ip: &str| Caller::local(Some(ip.parse().unwrap()));
        let alice = |ip: &str| Caller { principal: Principal::new("https://issuer", "alice"), ..from(ip) };
        for caller in [from("127.0.0.1"), from("2001:db8::1"), alice("127.0.0.1")] {
            assert!((0..2).all(|_| limits.admit(&caller, "any", Some("agents")).is_ok()));
            assert!(limits.admit(&caller, "any", Some("agents")).is_err());
            assert!(limits.admit(&caller, "any", None).is_ok(), "other dialects do not share it");
        }
        for same in ["127.0.0.2", "::1", "::ffff:127.0.0.1", "2001:db8::2"] {
            assert!(limits.admit(&from(same), "any", Some("agents")).is_err(), "{same}");
        }
        assert!(limits.admit(&alice("10.0.0.9"), "any", Some("agents")).is_err(), "another address is the same person");
    }
}
