//! Errors of nodes and networks, as a value that a model can act on.

use mainstay_solana::methods::node_error;
use mainstay_solana::rpc::RpcError;
use serde_json::{Map, Value, json};

/// The value of a reply that failed: what the node said, whether trying again may help, and what to do.
pub(super) fn of_rpc(error: &RpcError) -> Map<String, Value> {
    let (code, name, hint) = match error {
        RpcError::Node { code, .. } => {
            let kind = node_error::describe(*code);
            (Some(*code), kind.name, kind.hint)
        }
        RpcError::RateLimited { .. } => (None, "RateLimited", "Wait before the next call, or use another network."),
        RpcError::Unreachable { .. } => {
            (None, "Unreachable", "Try again later; solanaNetworks shows which nodes answer.")
        }
        RpcError::TimedOut { .. } => (None, "TimedOut", "Try again, or ask for less at once."),
        RpcError::TooLarge { .. } => (None, "TooLarge", "Ask for less: a filter, a limit or a dataSlice."),
        RpcError::Malformed { .. } => (None, "Malformed", "Try again; the node or something before it is broken."),
        RpcError::WrongGenesis { .. } => (None, "WrongGenesis", "Tell the operator: the node is of another network."),
        RpcError::NodeBehind { .. } => (None, "NodeBehind", "Try again in a second; the node has not caught up."),
        RpcError::UnknownNetwork { .. } => (None, "UnknownNetwork", "solanaNetworks lists the networks."),
    };
    let (message, data) = if let RpcError::Node { message, data, .. } = error {
        (message.clone(), data.clone())
    } else {
        (error.to_string(), None)
    };
    let mut inner = json!({"name": name, "message": message, "retryable": error.is_retryable(), "hint": hint});
    if let Some(code) = code {
        inner["code"] = code.into();
    }
    if let Some(data) = data {
        inner["data"] = data;
    }
    Map::from_iter([("error".to_owned(), inner)])
}
