//! The error member of a response: one of the protocol's own, or one of the contract's six codes.

use mainstay_core::CacheFailure;

use super::code;
use crate::dialect::method_not_found;
use crate::error::ErrorResponse;
use crate::jsonrpc::{INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, Refusal};

/// How much of a name that does not exist is repeated, in characters.
const NAME_EXCERPT: usize = 256;

/// The contract's messages have no details.
pub(super) fn parse_error() -> ErrorResponse {
    ErrorResponse::new(PARSE_ERROR, "Parse error", None)
}

pub(super) fn of_frame(refusal: &Refusal) -> ErrorResponse {
    if refusal.code == PARSE_ERROR {
        parse_error()
    } else {
        ErrorResponse::new(INVALID_REQUEST, "Invalid Request", None)
    }
}

pub(super) fn not_initialized() -> ErrorResponse {
    ErrorResponse::new(INVALID_REQUEST, "Server not initialized", None)
}

pub(super) fn unknown_method(name: &str) -> ErrorResponse {
    method_not_found(&excerpt(name))
}

/// `tools/call` without params, as opposed to params without a name.
pub(super) fn missing_params() -> ErrorResponse {
    ErrorResponse::new(INVALID_PARAMS, "Missing params for tools/call", None)
}

pub(super) fn invalid_params() -> ErrorResponse {
    ErrorResponse::new(INVALID_PARAMS, "Invalid tools/call params", None)
}

pub(super) fn unknown_tool(name: &str) -> ErrorResponse {
    ErrorResponse::new(INVALID_PARAMS, format!("Unknown tool: {}", excerpt(name)), None)
}

/// One of the six codes, with the contract's frozen object as data.
pub(super) fn of_code(failure: CacheFailure) -> ErrorResponse {
    ErrorResponse::new(code::number(failure), code::message(failure), Some(code::to_json(failure)))
}

/// As much of a name as is repeated in an error or in the audit.
pub(super) fn excerpt(name: &str) -> String {
    name.chars().take(NAME_EXCERPT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_six_words_are_errors_with_their_frozen_object_as_data() {
        for code in CacheFailure::ALL {
            let (word, message, number) = (code.as_str(), code::message(code), code::number(code));
            let frozen = format!(
                r#"{{"code":{number},"message":"{message}","data":{{"error":{{"code":"{word}","message":"{message}"}}}}}}"#
            );
            assert_eq!(of_code(code).to_json(), frozen);
        }
    }

    #[test]
    fn errors_of_the_protocol_have_a_number_and_a_message_and_no_data() {
        for (fault, frozen) in [
            (parse_error(), r#"{"code":-32700,"message":"Parse error"}"#),
            (not_initialized(), r#"{"code":-32600,"message":"Server not initialized"}"#),
            (unknown_method("a/\"b"), r#"{"code":-32601,"message":"Method not found: a/\"b"}"#),
            (missing_params(), r#"{"code":-32602,"message":"Missing params for tools/call"}"#),
            (invalid_params(), r#"{"code":-32602,"message":"Invalid tools/call params"}"#),
            (unknown_tool("x"), r#"{"code":-32602,"message":"Unknown tool: x"}"#),
        ] {
            assert_eq!(fault.to_json(), frozen);
        }
    }

    #[test]
    fn of_a_name_that_somebody_made_up_no_more_than_its_beginning_is_shown() {
        let long = "é".repeat(NAME_EXCERPT + 1);
        let message = format!("Unknown tool: {}", "é".repeat(NAME_EXCERPT));
        assert_eq!(unknown_tool(&long).message, message);
        assert_eq!(unknown_method(&long).message.chars().count(), "Method not found: ".len() + NAME_EXCERPT);
    }
}
