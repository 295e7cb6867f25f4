//! Why a call to a network failed. No error contains a URL: a node is named by its network and host.

use std::time::Duration;

use serde_json::Value;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RpcError {
    /// The node answered with an error, which is its answer to the call.
    #[error("The node answered with error {code}: {message}")]
    Node { code: i64, message: String, data: Option<Value> },
    #[error("The rate limit of network {network} is reached{}.", retry_hint(*.retry_after))]
    RateLimited { network: String, retry_after: Option<Duration> },
    /// No connection, a broken one, or a response of something that stands before the node.
    #[error("Node {host} of network {network} is not available: {reason}. Try again later or configure another URL.")]
    Unreachable { network: String, host: String, reason: String },
    /// The deadline of the call passed, or the timeout of its last request.
    #[error("Network {network} did not answer {method} in time. Try again or allow more time.")]
    TimedOut { network: String, method: String },
    /// The response was given up at the limit and not kept.
    #[error(
        "The answer is longer than {limit} bytes. Ask for less, for example with a filter, a limit or a dataSlice."
    )]
    TooLarge { limit: usize },
    #[error("Node {host} of network {network} answered with something that is no valid response: {reason}.")]
    Malformed { network: String, host: String, reason: String },
    #[error(
        "Node {host} of network {network} belongs to another chain: its genesis hash is {found}, not {expected}. \
         Correct the URL or the genesis hash in the configuration."
    )]
    WrongGenesis { network: String, host: String, expected: String, found: String },
    /// Sessions never go back in slot: this answer is older than one that the caller has had.
    #[error(
        "Node {host} of network {network} answered for slot {slot}, but slot {minimum} has been seen already. \
         Try again later."
    )]
    NodeBehind { network: String, host: String, slot: u64, minimum: u64 },
    #[error("There is no network {}; configured are {}.", mainstay_core::quoted(.network), .known.join(", "))]
    UnknownNetwork { network: String, known: Vec<String> },
}

fn retry_hint(after: Option<Duration>) -> String {
    // Rounded up: a client that comes back a moment too early is rejected again.
    after.map_or_else(
        || "; try again later".to_owned(),
        |wait| format!("; try again in {} s", wait.as_millis().div_ceil(1000)),
    )
}

impl RpcError {
    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Node { code, .. } => is_retryable_code(*code),
            Self::RateLimited { .. }
            | Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::Malformed { .. }
            | Self::NodeBehind { .. } => true,
            Self::TooLarge { .. } | Self::WrongGenesis { .. } | Self::UnknownNetwork { .. } => false,
        }
    }
}

/// Errors of a node that pass: block not yet available, node behind or starting, block status not yet available, and the
/// minimum context slot not reached.
pub(super) fn is_retryable_code(code: i64) -> bool {
    matches!(code, -32004 | -32005 | -32014 | -32016)
}

/// Why a request that must not be repeated has no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SendError {
    /// The request surely had no effect: it was never sent, or rejected before it was processed. It may be sent again.
    #[error("The request was not delivered. {0}")]
    NotDelivered(RpcError),
    /// The node processed the request and rejected it.
    #[error("{0}")]
    Rejected(RpcError),
    /// The request may have reached the node. Whoever sends it again must expect that it takes effect twice.
    #[error("The request may have been delivered. {0}")]
    MaybeDelivered(RpcError),
}

impl SendError {
    /// Why it failed, whatever became of the request.
    pub fn error(&self) -> &RpcError {
        match self {
            Self::NotDelivered(error) | Self::Rejected(error) | Self::MaybeDelivered(error) => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_pass_are_told_apart_from_those_that_stay() {
        let node = |code| RpcError::Node { code, message: "x".into(), data: None };
        for code in [-32004, -32005, -32014, -32016] {
            assert!(node(code).is_retryable(), "{code}");
        }
        for code in [-32002, -32003, -32007, -32009, -32601, -32602] {
            assert!(!node(code).is_retryable(), "{code}");
        }
        assert!(RpcError::TimedOut { network: "n".into(), method: "m".into() }.is_retryable());
        assert!(!RpcError::TooLarge { limit: 1 }.is_retryable());
    }

    #[test]
    fn the_wait_is_rounded_up_to_whole_seconds() {
        let limited = |retry_after| RpcError::RateLimited { network: "devnet".into(), retry_after }.to_string();
        assert_eq!(
            limited(Some(Duration::from_millis(1001))),
            "The rate limit of network devnet is reached; try again in 2 s."
        );
        assert_eq!(limited(None), "The rate limit of network devnet is reached; try again later.");
    }
}
