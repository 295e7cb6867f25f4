//! Why one request to one node failed, and what follows from it.

use std::time::Duration;

use serde_json::Value;

use super::address::NodeUrl;
use super::error::{RpcError, is_retryable_code};

/// An error that a node answered with.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NodeError {
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Option<Value>,
}

/// A failed request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fault {
    /// 429 in the status or in the body.
    RateLimited {
        retry_after: Option<Duration>,
    },
    /// 502, 503 or 504: what stands before the node is there, the node is not.
    Unavailable {
        status: u16,
        retry_after: Option<Duration>,
    },
    /// Another status without a JSON-RPC response.
    Status {
        status: u16,
    },
    /// There was no connection, so nothing was sent.
    NotConnected {
        reason: String,
    },
    /// The connection broke while the request was under way.
    ConnectionLost {
        reason: String,
    },
    TimedOut,
    /// The time of the call ended before the request was sent.
    NotSentInTime,
    Malformed {
        reason: &'static str,
    },
    TooLarge {
        limit: usize,
    },
    Node(NodeError),
    WrongGenesis {
        expected: String,
        found: String,
    },
    /// The answer is older than what has been seen.
    Behind {
        slot: u64,
        minimum: u64,
    },
    /// The node failed too often of late, so nothing was sent.
    CircuitOpen,
}

/// What a failed request has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    /// Nothing: it was never sent, or rejected before it was processed.
    None,
    /// The node answered with an error.
    Answered,
    /// It may have reached the node.
    Possible,
}

impl Fault {
    /// Sorts an error of a node: some providers report their rate limit in a body with status 200.
    pub(super) fn of_node(error: NodeError) -> Self {
        // These codes come with messages that quote the caller's transaction or parameters.
        let quotes_caller = matches!(error.code, -32002 | -32003 | -32602);
        let message = error.message.to_ascii_lowercase();
        let limits = ["too many requests", "rate limit", "request limit reached"];
        let says_limited = !quotes_caller && limits.iter().any(|limit| message.contains(limit));
        if matches!(error.code, 429 | -32429) || says_limited {
            return Self::RateLimited { retry_after: None };
        }
        Self::Node(error)
    }

    /// The type of the error for metrics.
    pub(super) fn error_type(&self) -> &'static str {
        match self {
            Self::RateLimited { .. } => "rate_limited",
            Self::TimedOut | Self::NotSentInTime => "timeout",
            Self::Node(_) | Self::Behind { .. } | Self::WrongGenesis { .. } => "node",
            Self::Unavailable { .. }
            | Self::Status { .. }
            | Self::NotConnected { .. }
            | Self::ConnectionLost { .. } => "transport",
            Self::Malformed { .. } => "malformed",
            Self::TooLarge { .. } => "too_large",
            Self::CircuitOpen => "circuit_open",
        }
    }

    /// Whether a read is worth another request, to this node or the next.
    pub(super) fn is_retryable(&self) -> bool {
        match self {
            Self::Node(error) => is_retryable_code(error.code),
            // The next node would send as much, and would not accept such a request either.
            Self::TooLarge { .. } | Self::Status { status: 400 | 405 | 413 | 415 } | Self::NotSentInTime => false,
            Self::RateLimited { .. }
            | Self::Unavailable { .. }
            | Self::Status { .. }
            | Self::NotConnected { .. }
            | Self::ConnectionLost { .. }
            | Self::TimedOut
            | Self::Malformed { .. }
            | Self::WrongGenesis { .. }
            | Self::Behind { .. }
            | Self::CircuitOpen => true,
        }
    }

    /// Whether it says that the node is down. A rate limit does not: the node says itself when to come back.
    pub(super) fn counts_for_breaker(&self) -> bool {
        match self {
            Self::Unavailable { .. }
            | Self::Status { .. }
            | Self::NotConnected { .. }
            | Self::ConnectionLost { .. }
            | Self::TimedOut
            | Self::Malformed { .. } => true,
            Self::RateLimited { .. }
            | Self::NotSentInTime
            | Self::TooLarge { .. }
            | Self::Node(_)
            | Self::WrongGenesis { .. }
            | Self::Behind { .. }
            | Self::CircuitOpen => false,
        }
    }

    /// Whether the next request may reach another machine than the last, whose chain has to be checked anew.
    pub(super) fn breaks_connection(&self) -> bool {
        matches!(self, Self::NotConnected { .. } | Self::ConnectionLost { .. } | Self::TimedOut)
    }

    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } | Self::Unavailable { retry_after, .. } => *retry_after,
            Self::Status { .. }
            | Self::NotConnected { .. }
            | Self::ConnectionLost { .. }
            | Self::TimedOut
            | Self::NotSentInTime
            | Self::Malformed { .. }
            | Self::TooLarge { .. }
            | Self::Node(_)
            | Self::WrongGenesis { .. }
            | Self::Behind { .. }
            | Self::CircuitOpen => None,
        }
    }

    /// What is known about the effect of the request. In doubt it may have had one.
    pub(super) fn delivery(&self) -> Delivery {
        match self {
            // A server that does not accept the request itself has not processed it.
            Self::Status { status: 400 | 401 | 403 | 404 | 405 | 413 | 415 }
            | Self::NotConnected { .. }
            | Self::RateLimited { .. }
            | Self::NotSentInTime
            | Self::CircuitOpen
            | Self::WrongGenesis { .. } => Delivery::None,
            Self::Node(_) => Delivery::Answered,
            Self::Status { .. }
            | Self::Unavailable { .. }
            | Self::ConnectionLost { .. }
            | Self::TimedOut
            | Self::Malformed { .. }
            | Self::TooLarge { .. }
            | Self::Behind { .. } => Delivery::Possible,
        }
    }

    /// The error for the caller, without API keys.
    pub(super) fn into_error(self, network: &str, node: &NodeUrl, method: &str) -> RpcError {
        let (network, host) = (network.to_owned(), node.host.clone());
        match self {
            Self::RateLimited { retry_after } => RpcError::RateLimited { network, retry_after },
            Self::Unavailable { status, .. } | Self::Status { status } => {
                RpcError::Unreachable { network, host, reason: format!("HTTP status {status}") }
            }
            Self::NotConnected { reason } | Self::ConnectionLost { reason } => {
                RpcError::Unreachable { network, host, reason: node.redact(reason) }
            }
            Self::CircuitOpen => RpcError::Unreachable { network, host, reason: "its last requests failed".to_owned() },
            Self::TimedOut | Self::NotSentInTime => RpcError::TimedOut { network, method: method.to_owned() },
            Self::Malformed { reason } => RpcError::Malformed { network, host, reason: reason.to_owned() },
            Self::TooLarge { limit } => RpcError::TooLarge { limit },
            Self::Node(NodeError { code, message, data }) => {
                let data = data.map(|data| node.redact_json(data));
                RpcError::Node { code, message: node.redact(message), data }
            }
            Self::WrongGenesis { expected, found } => RpcError::WrongGenesis { network, host, expected, found },
            Self::Behind { slot, minimum } => RpcError::NodeBehind { network, host, slot, minimum },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(code: i64, message: &str) -> Fault {
        Fault::of_node(NodeError { code, message: message.into(), data: None })
    }

    #[test]
    fn a_rate_limit_in_the_body_is_recognised_by_code_or_message() {
        for (code, message) in
            [(429, "x"), (-32429, "x"), (-32005, "Too many requests"), (-32007, "50/second request limit reached")]
        {
            assert_eq!(node(code, message), Fault::RateLimited { retry_after: None }, "{code} {message}");
        }
        // The logs of a program may contain anything.
        assert!(matches!(node(-32002, "Program log: rate limit"), Fault::Node(_)));
        assert!(matches!(node(-32007, "Slot 1 was skipped"), Fault::Node(_)));
    }

    #[test]
    fn only_what_surely_had_no_effect_counts_as_not_delivered() {
        let lost = Fault::ConnectionLost { reason: String::new() };
        for fault in [Fault::TimedOut, lost, Fault::Malformed { reason: "" }, Fault::Status { status: 500 }] {
            assert_eq!(fault.delivery(), Delivery::Possible, "{fault:?}");
        }
        assert_eq!(Fault::Unavailable { status: 503, retry_after: None }.delivery(), Delivery::Possible);
        for fault in [Fault::CircuitOpen, Fault::Status { status: 403 }, node(429, "")] {
            assert_eq!(fault.delivery(), Delivery::None, "{fault:?}");
        }
        assert_eq!(node(-32002, "").delivery(), Delivery::Answered);
    }

    #[test]
    fn an_error_for_the_caller_contains_no_key() {
        let url = NodeUrl::http("https://a.example/canary-123?k=canary-456").unwrap();
        let data = Some(Value::from("canary-456"));
        let fault = Fault::Node(NodeError { code: -32000, message: "key canary-123".into(), data });
        let lost = Fault::ConnectionLost { reason: "canary-123".into() };
        for fault in [fault, lost, Fault::TimedOut, Fault::CircuitOpen, Fault::Status { status: 401 }] {
            let error = fault.into_error("main", &url, "getSlot");
            assert!(!format!("{error} {error:?}").contains("canary"), "{error:?}");
        }
    }
}
