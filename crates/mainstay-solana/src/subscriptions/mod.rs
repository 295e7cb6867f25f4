//! Notifications of a node over its WebSocket: changes of accounts, logs, the fate of a transaction, and new slots.
//!
//! Each network has one connection, opened by the first subscriber and closed some time after the last. Equal subscribers
//! share one subscription of the node. After a lost connection the worker connects and subscribes anew, and subscribers
//! are told that they may have missed something. A subscriber that does not keep up loses the oldest notifications, never
//! memory.

mod connection;
mod event;
mod mailbox;
mod message;
mod settings;
mod subscriber;
#[cfg(test)]
mod tests;
mod topic;
mod worker;

pub use event::Event;
pub use settings::SubscriptionSettings;
pub use subscriber::{Subscription, Subscriptions};
pub use topic::{Topic, TopicKind};
