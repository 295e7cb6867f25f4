//! Subscriptions to resources of the chain: one of the node for each resource, however many clients want to hear of it.

use std::collections::HashMap;
use std::str::FromStr as _;
use std::sync::{Arc, Weak};

use mainstay_core::{Announce, Change, Error, Event, Kind, Result, Watch};
use mainstay_solana::methods::Commitment;
use mainstay_solana::rpc::NetworkSettings;
use mainstay_solana::subscriptions::{
    Event as ChainEvent, Subscription, SubscriptionSettings, Subscriptions, Topic, TopicKind,
};
use parking_lot::Mutex;
use serde_json::json;
use solana_address::Address;
use solana_signature::Signature;
use tokio::task::AbortHandle;

use super::settings::invalid_settings;

/// The most resources that are watched at the same time, for all clients: a node limits what one connection may follow.
const MOST_WATCHES: usize = 1000;

/// What can be read and watched.
pub(super) enum Resource<'a> {
    Account(&'a str),
    Transaction(&'a str),
    Logs(&'a str),
    Slot,
}

/// The watches that somebody holds, by URI.
#[derive(Clone)]
pub(super) struct Watches {
    subscriptions: Subscriptions,
    commitment: Commitment,
    running: Arc<Mutex<HashMap<String, Weak<Running>>>>,
}

/// A task that announces changes until nobody holds it any more.
struct Running(AbortHandle);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Watches {
    pub(super) fn new(networks: &[NetworkSettings], commitment: Commitment) -> Result<Self> {
        let subscriptions = Subscriptions::new(networks, SubscriptionSettings::default()).map_err(invalid_settings)?;
        Ok(Self { subscriptions, commitment, running: Arc::default() })
    }

    /// Watches a resource. Clients that watch the same one share the watch, so that each change is announced once.
    pub(super) async fn watch(
        &self,
        uri: &str,
        network: &str,
        resource: &Resource<'_>,
        announce: Announce,
    ) -> Result<Watch> {
        if let Some(running) = self.running(uri)? {
            return Ok(Box::new(running));
        }
        let topic = self.topic(resource)?;
        let subscription = self.subscriptions.subscribe(network, topic).await;
        let subscription = subscription.map_err(|error| Error::new(Kind::Unavailable, error.to_string()))?;
        let shared: Arc<str> = uri.into();
        let task = tokio::spawn(announce_changes(subscription, shared, announce));
        let started = Arc::new(Running(task.abort_handle()));
        let mut running = self.running.lock();
        // Another client may have begun to watch it meanwhile; then this one's task ends here.
        let kept = running.get(uri).and_then(Weak::upgrade).unwrap_or(started);
        running.insert(uri.to_owned(), Arc::downgrade(&kept));
        Ok(Box::new(kept))
    }

    /// The watch of this resource, if there is one. Fails if there are too many others.
    fn running(&self, uri: &str) -> Result<Option<Arc<Running>>> {
        let mut running = self.running.lock();
        if let Some(found) = running.get(uri).and_then(Weak::upgrade) {
            return Ok(Some(found));
        }
        running.retain(|_, watch| watch.strong_count() > 0);
        if running.len() < MOST_WATCHES {
            return Ok(None);
        }
        let message =
            format!("{MOST_WATCHES} resources of the chain are watched already. Unsubscribe from others first.");
        Err(Error::new(Kind::Unavailable, message))
    }

    /// The subscription of the node. Its names are checked here: a node reports a wrong one only in its own words.
    fn topic(&self, resource: &Resource<'_>) -> Result<Topic> {
        let options = json!({"commitment": self.commitment.as_str(), "encoding": "base64"});
        let commitment = json!({"commitment": self.commitment.as_str()});
        let wrong = |what: &str| Error::invalid(format!("The URI does not name {what} in base58."));
        let address = |text: &str| Address::from_str(text).map_err(|_| wrong("an address"));
        Ok(match resource {
            Resource::Account(text) => {
                Topic { kind: TopicKind::Account, params: vec![json!(address(text)?.to_string()), options] }
            }
            Resource::Transaction(text) => {
                let signature = Signature::from_str(text).map_err(|_| wrong("a signature"))?;
                Topic { kind: TopicKind::Signature, params: vec![json!(signature.to_string()), commitment] }
            }
            Resource::Logs(text) => {
                let mentions = json!({ "mentions": [address(text)?.to_string()] });
                Topic { kind: TopicKind::Logs, params: vec![mentions, commitment] }
            }
            Resource::Slot => Topic { kind: TopicKind::Slot, params: Vec::new() },
        })
    }
}

/// Announces every change. What may have been missed counts as one, and so does the end of the subscription: the client
/// reads the resource anew, and learns what is wrong.
async fn announce_changes(mut subscription: Subscription, uri: Arc<str>, announce: Announce) {
    while let Some(event) = subscription.next().await {
        match event {
            ChainEvent::Changed(_) | ChainEvent::Missed | ChainEvent::Failed(_) => {
                announce(Event::ResourceUpdated { uri: uri.clone(), change: Change::Modified });
            }
        }
    }
}
