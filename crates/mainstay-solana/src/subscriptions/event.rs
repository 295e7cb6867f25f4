//! What a subscriber receives.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::rpc::RpcError;

/// Something happened to what is subscribed to.
#[derive(Debug, Clone)]
pub enum Event {
    /// The `result` of a notification, as the node sent it.
    Changed(Arc<RawValue>),
    /// Notifications may be missing: the connection was lost and is back, or the subscriber did not keep up. What is
    /// subscribed to should be read anew.
    Missed,
    /// The node rejected the subscription when the connection was back. It is the last event.
    Failed(RpcError),
}
