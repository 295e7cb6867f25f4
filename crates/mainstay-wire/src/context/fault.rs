//! The error member of a response: one of the protocol's own, or one of the contract's six words.

use std::borrow::Cow;
use std::fmt;

use mainstay_core::CacheFailure;
use serde_json::Value;

use super::code;
use crate::jsonrpc::{INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, Refusal};

const LONGEST_SHOWN: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    number: i32,
    message: Cow<'static, str>,
    code: Option<CacheFailure>,
}

impl Fault {
    fn of_protocol(number: i32, message: impl Into<Cow<'static, str>>) -> Self {
        Self { number, message: message.into(), code: None }
    }

    pub(super) fn unreadable() -> Self {
        Self::of_protocol(PARSE_ERROR, "Parse error")
    }

    pub(super) fn frame(refusal: &Refusal) -> Self {
        if refusal.code == PARSE_ERROR {
            Self::unreadable()
        } else {
            Self::of_protocol(INVALID_REQUEST, "Invalid Request")
        }
    }

    /// Something was asked before the greeting.
    pub fn not_initialized() -> Self {
        Self::of_protocol(INVALID_REQUEST, "Server not initialized")
    }

    pub(super) fn no_method(name: &str) -> Self {
        Self::of_protocol(METHOD_NOT_FOUND, format!("Method not found: {}", shown(name)))
    }

    pub(super) fn no_params() -> Self {
        Self::of_protocol(INVALID_PARAMS, "Missing params for tools/call")
    }

    pub(super) fn other_params() -> Self {
        Self::of_protocol(INVALID_PARAMS, "Invalid tools/call params")
    }

    pub fn no_tool(name: &str) -> Self {
        Self::of_protocol(INVALID_PARAMS, format!("Unknown tool: {}", shown(name)))
    }
}

/// As JSON, its members in the contract's order.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, r#"{{"code":{},"message":{}"#, self.number, Value::from(&*self.message))?;
        match self.code {
            Some(code) => write!(f, r#","data":{}}}"#, code::to_json(code)),
            None => f.write_str("}"),
        }
    }
}

impl From<CacheFailure> for Fault {
    fn from(code: CacheFailure) -> Self {
        Self { number: code::number(code), message: code::message(code).into(), code: Some(code) }
    }
}

/// As much of a name that somebody made up as is worth repeating.
pub fn shown(name: &str) -> String {
    name.chars().take(LONGEST_SHOWN).collect()
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
            assert_eq!(Fault::from(code).to_string(), frozen);
        }
    }

    #[test]
    fn errors_of_the_protocol_have_a_number_and_a_message_and_no_data() {
        for (fault, frozen) in [
            (Fault::unreadable(), r#"{"code":-32700,"message":"Parse error"}"#),
            (Fault::not_initialized(), r#"{"code":-32600,"message":"Server not initialized"}"#),
            (Fault::no_method("a/\"b"), r#"{"code":-32601,"message":"Method not found: a/\"b"}"#),
            (Fault::no_params(), r#"{"code":-32602,"message":"Missing params for tools/call"}"#),
            (Fault::other_params(), r#"{"code":-32602,"message":"Invalid tools/call params"}"#),
            (Fault::no_tool("x"), r#"{"code":-32602,"message":"Unknown tool: x"}"#),
        ] {
            assert_eq!(fault.to_string(), frozen);
        }
    }

    #[test]
    fn of_a_name_that_somebody_made_up_no_more_than_its_beginning_is_shown() {
        let long = "é".repeat(LONGEST_SHOWN + 1);
        let message = format!("Unknown tool: {}", "é".repeat(LONGEST_SHOWN));
        assert_eq!(Fault::no_tool(&long).message, message);
        assert_eq!(Fault::no_method(&long).message.chars().count(), "Method not found: ".len() + LONGEST_SHOWN);
    }
}
