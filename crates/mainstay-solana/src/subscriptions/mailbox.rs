//! How subscribers reach the worker of their network.

use parking_lot::Mutex;
use tokio::sync::{broadcast, mpsc, oneshot};

use super::event::Event;
use super::topic::Topic;
use crate::rpc::RpcError;

/// What subscribers ask of the worker.
pub(super) enum Command {
    Subscribe {
        topic: Topic,
        reply: Reply,
    },
    /// A subscriber of this topic is gone, or gave up waiting.
    Released {
        key: String,
    },
}

/// Where the events of an accepted subscription go.
pub(super) type Reply = oneshot::Sender<Result<broadcast::Receiver<Event>, RpcError>>;

/// The way to the worker. There is none while nothing is subscribed. Commands are sent and workers end under the lock, so
/// that no command goes to a worker that ends. Its queue has no bound, since a subscription ends where nothing can wait; it
/// holds two commands per subscriber at most.
#[derive(Default)]
pub(super) struct Mailbox(pub(super) Mutex<Option<mpsc::UnboundedSender<Command>>>);
