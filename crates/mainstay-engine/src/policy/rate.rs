//! Rate limits: how often a client may call.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use governor::clock::{Clock as _, DefaultClock};
use governor::state::keyed::DashMapStateStore;
use governor::{Quota as Bucket, RateLimiter};
use mainstay_auth::ip_prefix;
use mainstay_core::{Caller, DialectPolicy, Error, Kind, Principal, Quota, QuotaKind, Reason, Result};
use parking_lot::RwLock;

use super::window::Window;
use crate::settings::RateSettings;

/// Who the configured limits are counted for. The principal alone: neither a new session, nor another address, nor a forged
/// header makes a new client.
type Client = Principal;

/// Who a dialect's quota is counted for: the session, so that a team on one machine is not one client. Where there is
/// none, the principal, or without authentication the address, as a prefix. Opening a session has none yet, so that
/// new sessions are counted there, and cannot be had without end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum QuotaKey {
    Session(Arc<str>),
    Principal(Principal),
    Address(Option<IpAddr>),
}

impl QuotaKey {
    fn of(caller: &Caller, session: Option<&Arc<str>>) -> Self {
        if let Some(session) = session {
            Self::Session(session.clone())
        } else if caller.principal.is_local() {
            Self::Address(caller.ip.map(ip_prefix))
        } else {
            Self::Principal(caller.principal.clone())
        }
    }
}

/// A token bucket for each key, which admits a burst and then refills evenly: a configured limit, or that of a dialect
/// that counts so.
struct Limit<K: Clone + Hash + Eq> {
    quota: Quota,
    /// Every call looks up two of them, so they use a hasher that is made for short keys.
    buckets: RateLimiter<K, DashMapStateStore<K, RandomState>, DefaultClock>,
}

/// A dialect's limit, counted in the way its contract says.
enum DialectLimit {
    Window { quota: Quota, calls: Window<QuotaKey> },
    Bucket(Limit<QuotaKey>),
}

/// All limits of the server, with counters in memory, for a server that is alone on its store. Replicas use the limits of
/// this and the counters of `shared_limits.rs`.
pub(crate) struct RateLimits {
    per_client: Option<Limit<Client>>,
    /// By the listed name of the tool.
    per_tool: HashMap<String, Limit<Client>, RandomState>,
    /// The quotas set in the configuration, by dialect.
    configured: BTreeMap<String, Quota>,
    /// Created when a dialect with a quota is first used.
    per_dialect: RwLock<HashMap<&'static str, Arc<DialectLimit>>>,
    clock: DefaultClock,
}

impl RateLimits {
    /// `tools` are the listed names of all tools: each has a limit, its own or that of `each_tool`.
    pub(crate) fn new<'a>(settings: &RateSettings, tools: impl Iterator<Item = &'a str>) -> Self {
        let limit = |tool: &'a str| {
            let quota = settings.per_tool.get(tool).copied().or(settings.each_tool)?;
            Some((tool.to_owned(), Limit::new(quota)))
        };
        Self {
            per_client: settings.per_client.map(Limit::new),
            per_tool: tools.filter_map(limit).collect(),
            configured: settings.per_dialect.clone(),
            per_dialect: RwLock::default(),
            clock: DefaultClock::default(),
        }
    }

    /// The quota of a dialect: the configured one, or else the one it declares.
    pub(crate) fn quota(&self, policy: DialectPolicy) -> Option<Quota> {
        self.configured.get(policy.name).copied().or(policy.quota)
    }

    /// Counts a request of this name, or fails with the time until the next one is admitted. `session` belongs to the
    /// caller: one that is only claimed must not be given.
    pub(crate) fn admit(
        &self,
        caller: &Caller,
        session: Option<&Arc<str>>,
        tool: &str,
        policy: DialectPolicy,
    ) -> Result<()> {
        self.admit_to_dialect(caller, session, policy)?;
        if policy.counts_apart {
            return Ok(());
        }
        let limits = self.per_client.iter().chain(self.per_tool.get(tool));
        limits.into_iter().try_for_each(|limit| limit.admit(&caller.principal, &self.clock))
    }

    /// The part of [`Self::admit`] that replicas do not count together: the bucket of a session belongs to a connection,
    /// and that to one process.
    pub(crate) fn admit_to_bucket(
        &self,
        caller: &Caller,
        session: Option<&Arc<str>>,
        policy: DialectPolicy,
    ) -> Result<()> {
        match policy.quota_kind {
            QuotaKind::Window => Ok(()),
            QuotaKind::Bucket => self.admit_to_dialect(caller, session, policy),
        }
    }

    fn admit_to_dialect(&self, caller: &Caller, session: Option<&Arc<str>>, policy: DialectPolicy) -> Result<()> {
        let Some(quota) = self.quota(policy) else { return Ok(()) };
        self.dialect_limit(policy, quota).admit(&QuotaKey::of(caller, session), &self.clock)
    }

    /// What a request is counted under, for replicas that count together: each client of each limit has a name. Without
    /// what [`Self::admit_to_bucket`] counts.
    pub(crate) fn counters(
        &self,
        caller: &Caller,
        session: Option<&Arc<str>>,
        tool: &str,
        policy: DialectPolicy,
    ) -> Vec<(String, Quota)> {
        let client = &caller.principal;
        let of_dialect = |quota| (format!("dialect {} {:?}", policy.name, QuotaKey::of(caller, session)), quota);
        let shared = self.quota(policy).filter(|_| policy.quota_kind == QuotaKind::Window);
        let dialect = shared.map(of_dialect);
        if policy.counts_apart {
            return dialect.into_iter().collect();
        }
        let per_client = self.per_client.as_ref().map(|limit| (format!("client {client}"), limit.quota));
        let per_tool = self.per_tool.get(tool).map(|limit| (format!("tool {tool} {client}"), limit.quota));
        [dialect, per_client, per_tool].into_iter().flatten().collect()
    }

    fn dialect_limit(&self, policy: DialectPolicy, quota: Quota) -> Arc<DialectLimit> {
        // The common case takes no write lock.
        if let Some(limit) = self.per_dialect.read().get(policy.name) {
            return limit.clone();
        }
        let limit = || Arc::new(DialectLimit::new(policy.quota_kind, quota));
        self.per_dialect.write().entry(policy.name).or_insert_with(limit).clone()
    }

    /// Forgets clients whose buckets are full again, so that memory is used only for active clients.
    pub(crate) fn sweep(&self) {
        for limit in self.per_client.iter().chain(self.per_tool.values()) {
            limit.buckets.retain_recent();
        }
        for limit in self.per_dialect.read().values() {
            match limit.as_ref() {
                DialectLimit::Window { calls, .. } => calls.sweep(Instant::now()),
                DialectLimit::Bucket(limit) => limit.buckets.retain_recent(),
            }
        }
    }
}

impl DialectLimit {
    fn new(kind: QuotaKind, quota: Quota) -> Self {
        let span = Duration::from_secs(u64::from(quota.seconds.max(1)));
        match kind {
            QuotaKind::Window => Self::Window { quota, calls: Window::new(quota.calls, span) },
            QuotaKind::Bucket => Self::Bucket(Limit::new(quota)),
        }
    }

    fn admit(&self, key: &QuotaKey, clock: &DefaultClock) -> Result<()> {
        match self {
            Self::Window { quota, calls } => calls.admit(key, Instant::now()).map_err(|wait| refusal(*quota, wait)),
            Self::Bucket(limit) => limit.admit(key, clock),
        }
    }
}

impl<K: Clone + Hash + Eq> Limit<K> {
    fn new(quota: Quota) -> Self {
        let calls = NonZeroU32::new(quota.calls).unwrap_or(NonZeroU32::MIN);
        let each = Duration::from_secs(u64::from(quota.seconds.max(1))) / calls.get();
        let bucket = Bucket::with_period(each).unwrap_or(Bucket::per_second(calls)).allow_burst(calls);
        let (clock, hasher) = (DefaultClock::default(), RandomState::default());
        Self { quota, buckets: RateLimiter::dashmap_with_clock_and_hasher(bucket, clock, hasher) }
    }

    fn admit(&self, key: &K, clock: &DefaultClock) -> Result<()> {
        self.buckets.check_key(key).map_err(|wait| refusal(self.quota, wait.wait_time_from(clock.now())))
    }
}

/// The error with the numbers that a client needs to retry. The wait is rounded up: a retry after it succeeds.
pub(super) fn refusal(quota: Quota, wait: Duration) -> Error {
    let retry_after = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let Quota { calls, seconds } = quota;
    let line = format!("The limit of {calls} calls in {seconds} seconds is used up. Try again in {retry_after} s.");
    Error::new(Kind::RateLimited, line).with_reason(Reason::RateLimited { limit: calls, retry_after })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a session.
    fn admit(limits: &RateLimits, caller: &Caller, tool: &str, policy: DialectPolicy) -> Result<()> {
        limits.admit(caller, None, tool, policy)
    }

    fn limits() -> RateLimits {
        let quota = |calls| Quota { calls, seconds: 60 };
        let settings = RateSettings {
            per_client: Some(quota(3)),
            each_tool: Some(quota(2)),
            per_tool: [("slow".to_owned(), quota(1))].into(),
            per_dialect: [("strict".to_owned(), quota(2))].into(),
        };
        RateLimits::new(&settings, ["slow", "other"].into_iter())
    }

    #[test]
    fn each_tool_has_a_limit_and_names_that_are_no_tools_have_none() {
        let (limits, caller) = (limits(), Caller::local(None));
        assert!((0..2).all(|_| admit(&limits, &caller, "other", DialectPolicy::default()).is_ok()));
        let refused = admit(&limits, &caller, "other", DialectPolicy::default()).unwrap_err();
        assert_eq!(*refused.reason.unwrap(), Reason::RateLimited { limit: 2, retry_after: 30 });
        assert_eq!(limits.per_tool.len(), 2);
    }

    #[test]
    fn clients_and_tools_are_limited_unless_configured_otherwise() {
        let limits = RateLimits::new(&RateSettings::default(), ["any"].into_iter());
        assert!(limits.per_client.is_some() && limits.per_tool.contains_key("any"));
    }

    #[test]
    fn a_client_is_rejected_past_its_quota_and_told_when_to_retry() {
        let (limits, caller) = (limits(), Caller::local(None));
        assert!((0..3).all(|_| admit(&limits, &caller, "any", DialectPolicy::default()).is_ok()));
        let refused = admit(&limits, &caller, "any", DialectPolicy::default()).unwrap_err();
        assert_eq!(refused.kind, Kind::RateLimited);
        assert_eq!(*refused.reason.unwrap(), Reason::RateLimited { limit: 3, retry_after: 20 });
    }

    #[test]
    fn a_tool_can_have_a_limit_of_its_own() {
        let (limits, caller) = (limits(), Caller::local(None));
        assert!(admit(&limits, &caller, "slow", DialectPolicy::default()).is_ok());
        assert!(admit(&limits, &caller, "slow", DialectPolicy::default()).is_err());
    }

    #[test]
    fn clients_do_not_share_a_bucket() {
        let limits = limits();
        let other = Caller { principal: Principal::new("https://issuer", "b"), ..Caller::local(None) };
        assert!((0..3).all(|_| admit(&limits, &Caller::local(None), "any", DialectPolicy::default()).is_ok()));
        assert!(admit(&limits, &other, "any", DialectPolicy::default()).is_ok());
    }

    #[test]
    fn a_dialect_has_a_limit_of_its_own_for_each_principal_or_else_for_each_address() {
        let declared =
            DialectPolicy { name: "strict", quota: Some(Quota { calls: 2, seconds: 60 }), ..DialectPolicy::default() };
        let limits = RateLimits::new(&RateSettings::default(), std::iter::empty());
        let from = |ip: &str| Caller::local(Some(ip.parse().unwrap()));
        let alice = |ip: &str| Caller { principal: Principal::new("https://issuer", "alice"), ..from(ip) };
        for caller in [from("127.0.0.1"), from("2001:db8::1"), alice("127.0.0.1")] {
            assert!((0..2).all(|_| admit(&limits, &caller, "any", declared).is_ok()));
            assert!(admit(&limits, &caller, "any", declared).is_err());
            assert!(admit(&limits, &caller, "any", DialectPolicy::default()).is_ok(), "other dialects do not share it");
        }
        for same in ["127.0.0.2", "::1", "::ffff:127.0.0.1", "2001:db8::2"] {
            assert!(admit(&limits, &from(same), "any", declared).is_err(), "{same}");
        }
        assert!(admit(&limits, &alice("10.0.0.9"), "any", declared).is_err(), "another address is the same person");
    }

    #[test]
    fn each_session_has_the_whole_quota_and_what_has_none_shares_that_of_its_address() {
        let declared = DialectPolicy { name: "strict", quota: Some(Quota { calls: 2, seconds: 60 }), ..limitless() };
        let limits = RateLimits::new(&RateSettings::default(), std::iter::empty());
        let caller = Caller::local(Some("127.0.0.1".parse().unwrap()));
        let admit = |session: Option<&str>| {
            let session: Option<Arc<str>> = session.map(Into::into);
            limits.admit(&caller, session.as_ref(), "any", declared).is_ok()
        };
        for session in [Some("a"), Some("b"), None] {
            assert_eq!([admit(session), admit(session), admit(session)], [true, true, false], "{session:?}");
        }
    }

    #[test]
    fn a_bucket_admits_its_capacity_at_once_and_then_as_it_refills() {
        let quota = Some(Quota { calls: 100, seconds: 2 });
        let bucket = DialectPolicy { name: "bucket", quota, quota_kind: QuotaKind::Bucket, ..limitless() };
        let limits = RateLimits::new(&RateSettings::default(), std::iter::empty());
        let (caller, sessions) = (Caller::local(None), ["a", "b"].map(Arc::<str>::from));
        let admitted = |session: &Arc<str>| {
            let calls = (0..1000).filter(|_| limits.admit(&caller, Some(session), "any", bucket).is_ok());
            calls.count()
        };
        // It refills while it is used, so a slow machine gets a few more.
        for session in &sessions {
            let count = admitted(session);
            assert!((100..500).contains(&count), "{count}");
        }
        let refused = limits.admit(&caller, Some(&sessions[0]), "any", bucket).unwrap_err();
        assert_eq!(*refused.reason.unwrap(), Reason::RateLimited { limit: 100, retry_after: 1 });
        std::thread::sleep(Duration::from_millis(200));
        let count = admitted(&sessions[0]);
        assert!((10..500).contains(&count), "{count}");
    }

    #[test]
    fn replicas_count_windows_together_and_buckets_alone() {
        let quota = Some(Quota { calls: 1, seconds: 60 });
        let window = DialectPolicy { name: "window", quota, ..limitless() };
        let bucket = DialectPolicy { name: "bucket", quota_kind: QuotaKind::Bucket, ..window };
        let settings = RateSettings { per_client: None, ..RateSettings::default() };
        let (limits, caller) = (RateLimits::new(&settings, std::iter::empty()), Caller::local(None));
        assert_eq!(limits.counters(&caller, None, "any", window).len(), 1);
        assert_eq!(limits.counters(&caller, None, "any", bucket).len(), 0);
        let admit = |policy| [(); 2].map(|()| limits.admit_to_bucket(&caller, None, policy).is_ok());
        assert_eq!((admit(window), admit(bucket)), ([true, true], [true, false]));
    }

    #[test]
    fn what_counts_apart_is_not_kept_out_by_the_limits_of_its_client() {
        let (limits, caller) = (limits(), Caller::local(None));
        while admit(&limits, &caller, "any", limitless()).is_ok() {}
        let apart = DialectPolicy { name: "strict", counts_apart: true, ..limitless() };
        assert!((0..2).all(|_| admit(&limits, &caller, "any", apart).is_ok()));
        assert!(admit(&limits, &caller, "any", apart).is_err(), "it has a quota of its own");
    }

    #[test]
    fn a_configured_quota_replaces_the_one_a_dialect_declares() {
        let declared = DialectPolicy { name: "strict", quota: Some(Quota { calls: 9, seconds: 60 }), ..limitless() };
        assert_eq!(limits().quota(declared), Some(Quota { calls: 2, seconds: 60 }));
        assert_eq!(limits().quota(DialectPolicy { name: "other", ..declared }), declared.quota);
        assert_eq!(limits().quota(limitless()), None);
    }

    fn limitless() -> DialectPolicy {
        DialectPolicy::default()
    }
}
