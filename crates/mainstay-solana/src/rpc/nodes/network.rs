//! A network: its nodes in the order of preference, and the slots observed on it.

use std::time::Duration;

use tokio::time::Instant;

use super::node::{Genesis, Node};
use super::slots::ObservedSlots;
use crate::rpc::address::NodeUrl;
use crate::rpc::settings::NetworkSettings;

#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) settings: NetworkSettings,
    pub(crate) nodes: Vec<Node>,
    pub(crate) slots: ObservedSlots,
}

/// What one call knows about the nodes it has tried.
#[derive(Debug)]
pub(crate) struct Tries(Vec<NodeTries>);

#[derive(Debug, Clone, Default)]
struct NodeTries {
    failures: u32,
    /// The end of the wait before another request of this call.
    ready_at: Option<Instant>,
}

/// Which node gets the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Selection {
    /// This one, after a wait.
    Node { index: usize, wait: Duration },
    /// None: the node with the shortest wait is ready only after the deadline.
    TooLate { wait: Duration },
    /// None: all circuits are open, or their chain is another one.
    None,
}

impl Network {
    pub(crate) fn new(settings: NetworkSettings, now: Instant) -> Result<Self, String> {
        let limit = settings.requests_per_second;
        let node = |url: &String| NodeUrl::http(url).map(|url| Node::new(url, limit, now));
        let nodes = settings.urls.iter().map(node).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { settings, nodes, slots: ObservedSlots::default() })
    }

    pub(crate) fn name(&self) -> &str {
        &self.settings.name
    }

    /// Selects the node for the next request of a call: one that is not behind before one that is, one that is ready before
    /// one that has to wait, one that failed less often in this call, and then the order of the configuration.
    pub(crate) fn select(&self, tries: &Tries, now: Instant, deadline: Instant, recheck: Duration) -> Selection {
        let left = deadline.saturating_duration_since(now);
        let candidate = |(index, node): (usize, &Node)| {
            let usable = node.is_admissible(now) && !matches!(node.genesis(now), Genesis::Wrong { .. });
            let tried = tries.0.get(index).cloned().unwrap_or_default();
            let backoff = tried.ready_at.map_or(Duration::ZERO, |at| at.saturating_duration_since(now));
            let is_behind = node.behind_by(now, recheck).is_some();
            usable.then(|| (is_behind, node.wait(now).max(backoff), tried.failures, index))
        };
        let candidates: Vec<_> = self.nodes.iter().enumerate().filter_map(candidate).collect();
        match candidates.iter().filter(|(_, wait, ..)| *wait < left).min() {
            Some(&(_, wait, _, index)) => Selection::Node { index, wait },
            None => match candidates.iter().map(|(_, wait, ..)| *wait).min() {
                Some(wait) => Selection::TooLate { wait },
                None => Selection::None,
            },
        }
    }

    /// Whether a node other than this one could answer now: it is not behind, and this call has not failed on it.
    pub(crate) fn has_alternative(&self, index: usize, tries: &Tries, now: Instant, recheck: Duration) -> bool {
        self.nodes.iter().enumerate().any(|(other, node)| {
            other != index
                && tries.0.get(other).is_some_and(|tried| tried.failures == 0)
                && node.is_admissible(now)
                && node.behind_by(now, recheck).is_none()
                && !matches!(node.genesis(now), Genesis::Wrong { .. })
        })
    }

    /// The chain that a node which was refused serves.
    pub(crate) fn wrong_genesis(&self, now: Instant) -> Option<(&Node, String)> {
        self.nodes.iter().find_map(|node| match node.genesis(now) {
            Genesis::Wrong { found, .. } => Some((node, found)),
            Genesis::Unverified | Genesis::Verified => None,
        })
    }
}

impl Tries {
    pub(crate) fn new(network: &Network) -> Self {
        Self(vec![NodeTries::default(); network.nodes.len()])
    }

    /// How often the call failed on a node.
    pub(crate) fn failures(&self, index: usize) -> u32 {
        self.0.get(index).map_or(0, |tried| tried.failures)
    }

    /// The call failed on a node, and asks it again only after this moment.
    pub(crate) fn failed(&mut self, index: usize, ready_at: Instant) {
        if let Some(tried) = self.0.get_mut(index) {
            tried.failures = tried.failures.saturating_add(1);
            tried.ready_at = Some(ready_at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::fault::Fault;
    use crate::rpc::settings::{BreakerSettings, known_network};

    const RECHECK: Duration = Duration::from_secs(10);
    const LEFT: Duration = Duration::from_secs(5);

    fn network(now: Instant) -> Network {
        let urls = ["https://a.example", "https://b.example"].map(str::to_owned).to_vec();
        Network::new(NetworkSettings { urls, ..known_network("mainnet").unwrap() }, now).unwrap()
    }

    fn selected(network: &Network, tries: &Tries, now: Instant) -> Selection {
        network.select(tries, now, now + LEFT, RECHECK)
    }

    fn first(index: usize) -> Selection {
        Selection::Node { index, wait: Duration::ZERO }
    }

    #[test]
    fn the_order_of_the_configuration_decides_among_equal_nodes() {
        let now = Instant::now();
        let network = network(now);
        let mut tries = Tries::new(&network);
        assert_eq!(selected(&network, &tries, now), first(0));
        tries.failed(0, now + Duration::from_secs(1));
        assert_eq!(selected(&network, &tries, now), first(1), "the other is ready at once");
        tries.failed(1, now + Duration::from_secs(2));
        let wait = Duration::from_secs(1);
        assert_eq!(selected(&network, &tries, now), Selection::Node { index: 0, wait });
        let too_late = network.select(&tries, now, now + wait, RECHECK);
        assert_eq!(too_late, Selection::TooLate { wait });
    }

    #[test]
    fn a_node_that_is_behind_or_serves_another_chain_is_avoided() {
        let now = Instant::now();
        let network = network(now);
        let tries = Tries::new(&network);
        network.nodes[0].set_behind(Some(100), now);
        assert_eq!(selected(&network, &tries, now), first(1));
        assert!(!network.has_alternative(1, &tries, now, RECHECK));
        assert_eq!(selected(&network, &tries, now + RECHECK), first(0), "it is asked again");
        network.nodes[1].set_genesis(Genesis::Wrong { found: "x".into(), until: now + LEFT });
        assert_eq!(selected(&network, &tries, now), first(0), "better late than of another chain");
        network.nodes[0].set_genesis(Genesis::Wrong { found: "x".into(), until: now + LEFT });
        assert_eq!(selected(&network, &tries, now), Selection::None);
    }

    #[tokio::test]
    async fn retry_after_rests_a_node_for_all_calls() {
        let now = Instant::now();
        let network = network(now);
        let (permit, _) = network.nodes[0].admit(now).unwrap();
        let fault = Fault::RateLimited { retry_after: Some(Duration::from_mins(1)) };
        permit.settle(Some(&fault), &BreakerSettings::default());
        assert_eq!(selected(&network, &Tries::new(&network), Instant::now()), first(1));
    }
}
