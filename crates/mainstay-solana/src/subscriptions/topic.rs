//! What can be subscribed to.

use serde_json::Value;

/// The kinds of subscriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TopicKind {
    /// Changes of an account: `[pubkey, {commitment, encoding}]`.
    Account,
    /// Logs of transactions: `["all" | "allWithVotes" | {mentions: [pubkey]}, {commitment}]`.
    Logs,
    /// The fate of a transaction, told once: `[signature, {commitment, enableReceivedNotification}]`.
    Signature,
    /// New slots: `[]`.
    Slot,
}

impl TopicKind {
    pub(super) fn subscribe_method(self) -> &'static str {
        match self {
            Self::Account => "accountSubscribe",
            Self::Logs => "logsSubscribe",
            Self::Signature => "signatureSubscribe",
            Self::Slot => "slotSubscribe",
        }
    }

    pub(super) fn unsubscribe_method(self) -> &'static str {
        match self {
            Self::Account => "accountUnsubscribe",
            Self::Logs => "logsUnsubscribe",
            Self::Signature => "signatureUnsubscribe",
            Self::Slot => "slotUnsubscribe",
        }
    }
}

/// A subscription of the node. Those with the same kind and parameters are shared.
#[derive(Debug, Clone, PartialEq)]
pub struct Topic {
    pub kind: TopicKind,
    /// As the node expects them.
    pub params: Vec<Value>,
}

impl Topic {
    /// The key by which equal topics are found. Should the same options in another order give another key, the node has one
    /// subscription more, and nothing else changes.
    pub(super) fn key(&self) -> String {
        let params = serde_json::to_string(&self.params).unwrap_or_default();
        format!("{}{params}", self.kind.subscribe_method())
    }
}
