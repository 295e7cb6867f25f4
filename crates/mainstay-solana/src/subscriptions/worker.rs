//! The task that keeps the connection of one network.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use tokio::sync::{broadcast, mpsc};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};
use tokio_tungstenite::tungstenite;

use super::connection::{Connector, Socket};
use super::event::Event;
use super::mailbox::{Command, Mailbox, Reply};
use super::message::{Message, is_last_of_signature, parse};
use super::settings::SubscriptionSettings;
use super::topic::{Topic, TopicKind};
use crate::rpc::{RpcError, backoff, request};

/// How far the subscription of the node is.
enum Upstream {
    None,
    Requested { id: u64, at: Instant },
    Active { subscription: u64 },
}

struct TopicState {
    topic: Topic,
    events: broadcast::Sender<Event>,
    upstream: Upstream,
    /// Subscribers that wait until it is active.
    waiting: Vec<Reply>,
}

impl TopicState {
    /// Nobody receives its events, and nobody waits for them.
    fn is_unused(&self) -> bool {
        self.events.receiver_count() == 0 && self.waiting.iter().all(Reply::is_closed)
    }
}

pub(super) struct Worker {
    connector: Arc<Connector>,
    settings: Arc<SubscriptionSettings>,
    mailbox: Arc<Mailbox>,
    commands: mpsc::UnboundedReceiver<Command>,
    topics: HashMap<String, TopicState>,
    /// Requests to be written to the connection.
    outgoing: Vec<Vec<u8>>,
    next_id: u64,
}

impl Worker {
    pub(super) fn new(
        connector: Arc<Connector>,
        settings: Arc<SubscriptionSettings>,
        mailbox: Arc<Mailbox>,
        commands: mpsc::UnboundedReceiver<Command>,
    ) -> Self {
        Self { connector, settings, mailbox, commands, topics: HashMap::new(), outgoing: Vec::new(), next_id: 1 }
    }

    /// Connects, and connects anew, until nothing is subscribed any more.
    pub(super) async fn run(mut self) {
        let mut failures = 0;
        while !self.has_ended() {
            match self.connector.connect().await {
                Ok(socket) => failures = if self.serve(socket).await { 0 } else { failures + 1 },
                Err(error) => {
                    self.fail_waiting(&error);
                    failures += 1;
                }
            }
            self.forget_connection();
            if !self.topics.is_empty() {
                self.rest(backoff(&self.settings.backoff, failures.max(1))).await;
            }
        }
    }

    /// Takes what commands there are, and says whether nothing is left to do.
    fn has_ended(&mut self) -> bool {
        // Senders hold this lock, so that no command can be lost between the last look and the end.
        let mailbox = Arc::clone(&self.mailbox);
        let mut worker = mailbox.0.lock();
        while let Ok(command) = self.commands.try_recv() {
            self.handle_command(command);
        }
        let is_unused = self.topics.is_empty();
        if is_unused {
            *worker = None;
        }
        is_unused
    }

    /// Waits before connecting anew. Commands are taken meanwhile; new subscribers wait for the connection.
    async fn rest(&mut self, wait: Duration) {
        let until = Instant::now() + wait;
        while !self.topics.is_empty() {
            tokio::select! {
                Some(command) = self.commands.recv() => self.handle_command(command),
                () = sleep_until(until) => return,
            }
        }
    }

    /// Serves a connection until it is lost or not needed; says whether anything arrived on it.
    async fn serve(&mut self, mut socket: Socket) -> bool {
        let mut ticks = interval(self.settings.ping_every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.reset();
        let (mut heard, mut was_heard) = (Instant::now(), false);
        let mut unused_since = Instant::now();
        self.request_all();
        loop {
            if !self.flush(&mut socket).await {
                return was_heard;
            }
            tokio::select! {
                Some(command) = self.commands.recv() => {
                    self.handle_command(command);
                    self.request_all();
                    unused_since = Instant::now();
                }
                incoming = socket.next() => {
                    (heard, was_heard) = (Instant::now(), true);
                    match incoming {
                        Some(Ok(tungstenite::Message::Text(text))) => self.handle_message(&text),
                        Some(Ok(tungstenite::Message::Close(_)) | Err(_)) | None => return true,
                        // The library answers pings, and the chain has no binary messages.
                        Some(Ok(_)) => {}
                    }
                    unused_since = Instant::now();
                }
                _ = ticks.tick() => {
                    if heard.elapsed() > self.settings.ping_every + self.settings.pong_within || self.has_late_answer() {
                        return was_heard;
                    }
                    let ping = tungstenite::Message::Ping(tungstenite::Bytes::new());
                    if !self.write(&mut socket, ping).await {
                        return was_heard;
                    }
                }
                () = sleep_until(unused_since + self.settings.linger), if self.topics.is_empty() => {
                    // Whether the node hears the farewell does not matter.
                    let _ = timeout(self.settings.timeout, socket.close(None)).await;
                    return true;
                }
            }
        }
    }

    /// Writes what is to be sent; says whether that was possible.
    async fn flush(&mut self, socket: &mut Socket) -> bool {
        for bytes in std::mem::take(&mut self.outgoing) {
            let text = String::from_utf8(bytes).unwrap_or_default();
            if !self.write(socket, tungstenite::Message::text(text)).await {
                return false;
            }
        }
        true
    }

    /// A node that does not read must not stop the worker.
    async fn write(&self, socket: &mut Socket, message: tungstenite::Message) -> bool {
        matches!(timeout(self.settings.timeout, socket.send(message)).await, Ok(Ok(())))
    }

    /// Whether the node left a subscription unanswered. Such a node is treated as one that is gone.
    fn has_late_answer(&self) -> bool {
        let limit = self.settings.timeout;
        self.topics
            .values()
            .any(|state| matches!(state.upstream, Upstream::Requested { at, .. } if at.elapsed() > limit))
    }

    /// Changes what is to be subscribed to; the connection, if there is one, is told afterwards.
    fn handle_command(&mut self, command: Command) {
        match command {
            Command::Subscribe { topic, reply } => {
                let kept = self.settings.kept_notifications.max(1);
                let state = self.topics.entry(topic.key()).or_insert_with(|| TopicState {
                    topic,
                    events: broadcast::Sender::new(kept),
                    upstream: Upstream::None,
                    waiting: Vec::new(),
                });
                match state.upstream {
                    Upstream::Active { .. } => drop(reply.send(Ok(state.events.subscribe()))),
                    Upstream::None | Upstream::Requested { .. } => state.waiting.push(reply),
                }
            }
            Command::Released { key } => self.end_unused(&key),
        }
    }

    /// Ends a topic without subscribers.
    fn end_unused(&mut self, key: &str) {
        let Some(state) = self.topics.get(key).filter(|state| state.is_unused()) else { return };
        match state.upstream {
            // Its number is not known yet; the answer comes back here.
            Upstream::Requested { .. } => return,
            Upstream::Active { subscription } => {
                let method = state.topic.kind.unsubscribe_method();
                self.outgoing.push(request(self.next_id, method, &[subscription.into()]));
                self.next_id += 1;
            }
            Upstream::None => {}
        }
        self.topics.remove(key);
    }

    /// Subscribes to all topics that the node does not know yet.
    fn request_all(&mut self) {
        for state in self.topics.values_mut() {
            if matches!(state.upstream, Upstream::None) {
                let method = state.topic.kind.subscribe_method();
                self.outgoing.push(request(self.next_id, method, &state.topic.params));
                state.upstream = Upstream::Requested { id: self.next_id, at: Instant::now() };
                self.next_id += 1;
            }
        }
    }

    fn handle_message(&mut self, text: &str) {
        match parse(text) {
            Some(Message::Subscribed { id, subscription }) => {
                let Some(key) = self.requested(id) else { return };
                if let Some(state) = self.topics.get_mut(&key) {
                    state.upstream = Upstream::Active { subscription };
                    // Those who are there already were without notifications for a while.
                    let _ = state.events.send(Event::Missed);
                    for reply in state.waiting.drain(..) {
                        drop(reply.send(Ok(state.events.subscribe())));
                    }
                }
                self.end_unused(&key);
            }
            Some(Message::Rejected { id, code, message, data }) => {
                let Some(state) = self.requested(id).and_then(|key| self.topics.remove(&key)) else { return };
                let url = &self.connector.url;
                let data = data.map(|data| url.redact_json(data));
                let error = RpcError::Node { code, message: url.redact(message), data };
                let _ = state.events.send(Event::Failed(error.clone()));
                state.waiting.into_iter().for_each(|reply| drop(reply.send(Err(error.clone()))));
            }
            Some(Message::Notification { subscription, result }) => self.notify(subscription, result),
            None => {}
        }
    }

    /// The topic whose request has this id.
    fn requested(&self, id: u64) -> Option<String> {
        let is_it = |state: &TopicState| matches!(state.upstream, Upstream::Requested { id: sent, .. } if sent == id);
        self.topics.iter().find(|(_, state)| is_it(state)).map(|(key, _)| key.clone())
    }

    /// Passes a notification on. There may be no receiver left for it, which is no error.
    fn notify(&mut self, subscription: u64, result: Arc<serde_json::value::RawValue>) {
        let is_it = |state: &TopicState| matches!(state.upstream, Upstream::Active { subscription: number } if number == subscription);
        // A notification may arrive after the end of its subscription.
        let Some((key, state)) = self.topics.iter().find(|(_, state)| is_it(state)) else { return };
        let is_last = state.topic.kind == TopicKind::Signature && is_last_of_signature(&result);
        let _ = state.events.send(Event::Changed(result));
        if is_last {
            // The node has ended it; so does the channel, when its sender is gone.
            let key = key.clone();
            self.topics.remove(&key);
        }
    }

    /// The numbers of subscriptions end with their connection.
    fn forget_connection(&mut self) {
        self.outgoing.clear();
        for state in self.topics.values_mut() {
            state.upstream = Upstream::None;
        }
        self.topics.retain(|_, state| !state.is_unused());
    }

    /// Tells those who wait for their subscription that there is no connection.
    fn fail_waiting(&mut self, error: &RpcError) {
        for state in self.topics.values_mut() {
            state.waiting.drain(..).for_each(|reply| drop(reply.send(Err(error.clone()))));
        }
    }
}
