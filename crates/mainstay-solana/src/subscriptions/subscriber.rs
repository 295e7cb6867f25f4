//! Subscribing, and receiving what a node sends.

use std::fmt;
use std::sync::Arc;

use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::time::timeout;

use super::connection::{Connector, address};
use super::event::Event;
use super::mailbox::{Command, Mailbox};
use super::settings::SubscriptionSettings;
use super::topic::Topic;
use super::worker::Worker;
use crate::rpc::{NetworkSettings, RpcError, Transport};

struct NetworkEntry {
    connector: Arc<Connector>,
    mailbox: Arc<Mailbox>,
}

/// Subscriptions of several networks. Clones share the connections.
#[derive(Clone)]
pub struct Subscriptions {
    networks: Arc<Vec<NetworkEntry>>,
    settings: Arc<SubscriptionSettings>,
}

impl fmt::Debug for Subscriptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<_> =
            self.networks.iter().map(|entry| (&entry.connector.network, &entry.connector.url)).collect();
        formatter.debug_struct("Subscriptions").field("networks", &hosts).finish_non_exhaustive()
    }
}

impl Subscriptions {
    /// Connects to nothing yet. The error says which setting is wrong.
    pub fn new(networks: &[NetworkSettings], settings: SubscriptionSettings) -> Result<Self, String> {
        let transport = Arc::new(Transport::new(settings.timeout, settings.max_message_bytes));
        let entry = |network: &NetworkSettings| {
            network.validate()?;
            let connector = Arc::new(Connector {
                network: network.name.clone(),
                url: address(network)?,
                transport: Arc::clone(&transport),
                timeout: settings.timeout,
                max_message_bytes: settings.max_message_bytes,
            });
            Ok(NetworkEntry { connector, mailbox: Arc::default() })
        };
        let networks = networks.iter().map(entry).collect::<Result<Vec<_>, String>>()?;
        Ok(Self { networks: Arc::new(networks), settings: Arc::new(settings) })
    }

    /// Subscribes to a topic of a network, and returns when the node has accepted it.
    pub async fn subscribe(&self, network: &str, topic: Topic) -> Result<Subscription, RpcError> {
        let entry = self.networks.iter().find(|entry| entry.connector.network == network).ok_or_else(|| {
            let known = self.networks.iter().map(|entry| entry.connector.network.clone()).collect();
            RpcError::UnknownNetwork { network: network.to_owned(), known }
        })?;
        let method = topic.kind.subscribe_method();
        let (reply, answer) = oneshot::channel();
        // Made first: should this call be cancelled, the worker hears of it.
        let release = Release { mailbox: Arc::clone(&entry.mailbox), key: topic.key() };
        self.send(entry, Command::Subscribe { topic, reply });
        match timeout(self.settings.timeout, answer).await {
            Ok(Ok(events)) => Ok(Subscription { events: Some(events?), _release: release }),
            // The worker ends only without waiting subscribers, unless the runtime stops.
            Ok(Err(_)) => Err(entry.connector.unreachable("the connection was given up")),
            Err(_) => Err(RpcError::TimedOut { network: network.to_owned(), method: method.to_owned() }),
        }
    }

    /// Passes a command to the worker of a network and starts one if there is none.
    fn send(&self, entry: &NetworkEntry, command: Command) {
        let mut mailbox = entry.mailbox.0.lock();
        let unsent = match &*mailbox {
            Some(worker) => worker.send(command).err().map(|error| error.0),
            None => Some(command),
        };
        if let Some(command) = unsent {
            let (sender, receiver) = mpsc::unbounded_channel();
            // The receiver lives until the worker starts, so this cannot fail.
            let _ = sender.send(command);
            let (connector, mailbox_of) = (Arc::clone(&entry.connector), Arc::clone(&entry.mailbox));
            tokio::spawn(Worker::new(connector, Arc::clone(&self.settings), mailbox_of, receiver).run());
            *mailbox = Some(sender);
        }
    }
}

/// A subscription; it ends when it is dropped.
pub struct Subscription {
    /// `None` only while it is dropped: the worker counts receivers, so this one has to be gone first.
    events: Option<broadcast::Receiver<Event>>,
    _release: Release,
}

impl fmt::Debug for Subscription {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Subscription").finish_non_exhaustive()
    }
}

impl Subscription {
    /// Waits for the next event. `None` is the end: the fate of a transaction is told, or the subscription failed.
    pub async fn next(&mut self) -> Option<Event> {
        match self.events.as_mut()?.recv().await {
            Ok(event) => Some(event),
            Err(RecvError::Lagged(_)) => Some(Event::Missed),
            Err(RecvError::Closed) => None,
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.events = None;
    }
}

/// Tells the worker that a subscriber is gone.
struct Release {
    mailbox: Arc<Mailbox>,
    key: String,
}

impl Drop for Release {
    fn drop(&mut self) {
        if let Some(worker) = &*self.mailbox.0.lock() {
            // A worker that has ended has nothing to release.
            let _ = worker.send(Command::Released { key: std::mem::take(&mut self.key) });
        }
    }
}
