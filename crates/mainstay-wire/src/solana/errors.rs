//! The contract's six error codes. The message begins with the usual title of the code; the data always has the version of
//! the protocol, and beside it what the reason has for programs.

use mainstay_core::{Error, Kind, quoted};
use serde_json::{Value, json};

use super::PROTOCOL;
use crate::connection_state::ConnectionState;
use crate::error::{ErrorResponse, HttpError};
use crate::jsonrpc::{INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Refusal};
use crate::reason::reason;

/// A request before `initialize`.
const NOT_INITIALIZED: i32 = -32002;

fn response(code: i32, message: String, data: Option<Value>) -> ErrorResponse {
    let mut data = data.unwrap_or_else(|| json!({}));
    data["protocolVersion"] = PROTOCOL.into();
    ErrorResponse::new(code, message, Some(data))
}

/// The private detail stays behind; the reason becomes members of the data.
pub(super) fn of_error(error: &Error) -> ErrorResponse {
    let data = error.reason.as_deref().and_then(reason);
    match error.kind {
        // The client can change its request. What it may not see is not told apart from what does not exist.
        Kind::Invalid | Kind::Unknown | Kind::NotFound | Kind::Denied => {
            response(INVALID_PARAMS, format!("Invalid params: {}", error.public), data)
        }
        Kind::Internal => response(INTERNAL_ERROR, "Internal error".to_owned(), data),
        Kind::Unauthorized
        | Kind::ConsentRequired
        | Kind::RateLimited
        | Kind::Conflict
        | Kind::TooLarge
        | Kind::Unavailable
        | Kind::Cancelled
        | Kind::TimedOut
        | Kind::Unsupported
        | Kind::InputRequired => response(INTERNAL_ERROR, format!("Internal error: {}", error.public), data),
    }
}

/// Bytes that are no message. The framing begins its sentences with the title of the code.
pub(super) fn of_frame(refusal: &Refusal) -> ErrorResponse {
    response(refusal.code, refusal.message.clone().into_owned(), None)
}

/// The params of a known method cannot be read.
pub(super) fn of_params(detail: &str) -> ErrorResponse {
    response(INVALID_PARAMS, format!("Invalid params: {detail}"), None)
}

/// There is no tool or method of this name.
pub(super) fn of_unknown_name(kind: &str, name: &str) -> ErrorResponse {
    let shown = quoted(name);
    match kind {
        "method" => response(METHOD_NOT_FOUND, format!("Method not found: {shown}"), None),
        _ => of_params(&format!("there is no {kind} {shown}; {kind}s/list names those there are")),
    }
}

/// A request that its connection does not accept in this state.
pub(super) fn of_state(state: ConnectionState) -> ErrorResponse {
    match state {
        ConnectionState::Uninitialized | ConnectionState::Initializing { .. } => {
            response(NOT_INITIALIZED, "Server not initialized: send initialize first".to_owned(), None)
        }
        ConnectionState::Ready | ConnectionState::Shutting { .. } | ConnectionState::Closed => {
            response(INVALID_REQUEST, format!("Invalid Request: the connection is {state}"), None)
        }
    }
}

/// A request that HTTP rejects.
pub(super) fn of_status(status: u16, reason: &str) -> ErrorResponse {
    let reason = if reason.is_empty() { "a valid token is required" } else { reason.trim_end_matches('.') };
    let mut error = response(INVALID_REQUEST, format!("Invalid Request: {reason}"), None);
    error.http = HttpError { status, ..HttpError::default() };
    error
}
