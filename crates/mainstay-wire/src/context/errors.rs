//! The error member of a response: one of the protocol's own, or one of the contract's six codes with its message and
//! number; and which of the codes an error has.

use mainstay_core::{CacheFailure, Error, Kind, Problem, Reason};
use serde_json::{Value, json};

use crate::dialect::method_not_found;
use crate::error::ErrorResponse;
use crate::jsonrpc::{INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, Refusal};

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
    let (number, message) = numbered(failure);
    ErrorResponse::new(number, message, Some(to_json(failure)))
}

/// As much of a name as is repeated in an error or in the audit.
pub(super) fn excerpt(name: &str) -> String {
    name.chars().take(NAME_EXCERPT).collect()
}

/// Which code an invalid argument has. Of several invalid arguments the first in this order is reported.
const ARGUMENTS: [(&str, CacheFailure); 3] = [
    ("query", CacheFailure::InvalidQuery),
    ("budget", CacheFailure::InvalidBudget),
    ("cache", CacheFailure::CacheMissing),
];

/// The contract's table: the JSON-RPC error number of a code, and its frozen message.
pub(super) const fn numbered(code: CacheFailure) -> (i32, &'static str) {
    match code {
        CacheFailure::CacheMissing => (INVALID_PARAMS, "Cache does not exist"),
        CacheFailure::CacheInvalid => (INVALID_PARAMS, "Cache exists but is invalid"),
        CacheFailure::InvalidQuery => (INVALID_PARAMS, "Query is invalid"),
        CacheFailure::InvalidBudget => (INVALID_PARAMS, "Budget is invalid"),
        CacheFailure::Io => (INTERNAL_ERROR, "I/O error occurred"),
        CacheFailure::Internal => (INTERNAL_ERROR, "Internal error"),
    }
}

/// The contract's frozen error object.
pub(super) fn to_json(code: CacheFailure) -> Value {
    json!({"error": {"code": code.as_str(), "message": numbered(code).1}})
}

/// The code of the first invalid argument in the contract's order.
pub(super) fn of_arguments(is_invalid: impl Fn(&str) -> bool) -> CacheFailure {
    let first = ARGUMENTS.into_iter().find(|(name, _)| is_invalid(name));
    first.map_or(CacheFailure::InvalidQuery, |(_, code)| code)
}

/// The code of an error: the one its tool chose, or else the one of its kind.
pub(super) fn of_error(error: &Error) -> CacheFailure {
    match (error.reason.as_deref(), error.kind) {
        (Some(Reason::Cache(code)), _) => *code,
        (Some(Reason::Problems(problems)), Kind::Invalid) => {
            of_arguments(|name| problems.iter().any(|problem| argument(problem) == Some(name)))
        }
        // Arguments that satisfy the schema and still cannot be read hold a number past 64 bits, and the budget is the
        // only number there is.
        (_, Kind::Invalid) => CacheFailure::InvalidBudget,
        (_, Kind::NotFound | Kind::Denied) => CacheFailure::CacheMissing,
        _ => CacheFailure::Internal,
    }
}

/// The argument a problem is about: the one its path begins with, or the missing one.
fn argument(problem: &Problem) -> Option<&str> {
    problem.path.split('/').nth(1).or(problem.property.as_deref())
}

#[cfg(test)]
mod tests {
    use mainstay_core::schema::Validator;

    use super::*;

    #[test]
    fn the_six_words_are_errors_with_their_frozen_object_as_data() {
        for code in CacheFailure::ALL {
            let (word, (number, message)) = (code.as_str(), numbered(code));
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

    #[test]
    fn each_word_has_its_message_and_its_number() {
        let told = CacheFailure::ALL.map(|code| (code.as_str(), numbered(code).1, numbered(code).0));
        let contract = [
            ("cache_missing", "Cache does not exist", -32602),
            ("cache_invalid", "Cache exists but is invalid", -32602),
            ("invalid_query", "Query is invalid", -32602),
            ("invalid_budget", "Budget is invalid", -32602),
            ("io_error", "I/O error occurred", -32603),
            ("internal_error", "Internal error", -32603),
        ];
        assert_eq!(told, contract);
        let frozen = r#"{"error":{"code":"io_error","message":"I/O error occurred"}}"#;
        assert_eq!(to_json(CacheFailure::Io).to_string(), frozen);
    }

    #[test]
    fn every_kind_has_its_word() {
        let expected = |kind| match kind {
            Kind::Invalid => CacheFailure::InvalidBudget,
            Kind::NotFound | Kind::Denied => CacheFailure::CacheMissing,
            Kind::Unknown
            | Kind::Unauthorized
            | Kind::ConsentRequired
            | Kind::RateLimited
            | Kind::Conflict
            | Kind::TooLarge
            | Kind::Unavailable
            | Kind::Cancelled
            | Kind::TimedOut
            | Kind::Unsupported
            | Kind::InputRequired
            | Kind::Internal => CacheFailure::Internal,
        };
        for kind in Kind::ALL {
            assert_eq!(of_error(&Error::new(kind, "why")), expected(kind), "{kind:?}");
            for code in CacheFailure::ALL {
                let said = Error::new(kind, "why").with_reason(Reason::Cache(code));
                assert_eq!(of_error(&said), code, "{kind:?}: what a tool says itself is believed");
            }
            for other in [Reason::path("disk_full"), Reason::Field { field: "query".into(), reason: None }] {
                let said = Error::new(kind, "why").with_reason(other.clone());
                assert_eq!(of_error(&said), expected(kind), "{kind:?}: {other:?} is no code of the contract");
            }
        }
    }

    fn broken(args: &Value) -> CacheFailure {
        let schema = json!({"type": "object", "required": ["cache", "query", "budget"], "additionalProperties": false,
            "properties": {"cache": {"type": "string"}, "query": {"type": "string"},
                "budget": {"type": "integer", "minimum": 0}}});
        let validator = Validator::new(schema.as_object().unwrap()).unwrap();
        of_error(&validator.check(args).unwrap_err())
    }

    #[test]
    fn of_several_wrong_arguments_the_query_is_told_before_the_budget_and_that_before_the_cache() {
        for (args, code) in [
            (json!({}), CacheFailure::InvalidQuery),
            (json!({"cache": 1, "query": 1, "budget": -1}), CacheFailure::InvalidQuery),
            (json!({"cache": "c", "budget": 1}), CacheFailure::InvalidQuery),
            (json!({"cache": "c", "query": null, "budget": "x"}), CacheFailure::InvalidQuery),
            (json!({"cache": 1, "query": "", "budget": -1}), CacheFailure::InvalidBudget),
            (json!({"query": "", "budget": 1.5}), CacheFailure::InvalidBudget),
            (json!({"cache": "c", "query": ""}), CacheFailure::InvalidBudget),
            (json!({"cache": "c", "query": "", "budget": "7"}), CacheFailure::InvalidBudget),
            (json!({"query": "", "budget": 1}), CacheFailure::CacheMissing),
            (json!({"cache": ["c"], "query": "", "budget": 1}), CacheFailure::CacheMissing),
            (json!({"cache": "c", "query": "", "budget": 1, "more": 1}), CacheFailure::InvalidQuery),
            (json!("query"), CacheFailure::InvalidQuery),
        ] {
            assert_eq!(broken(&args), code, "{args}");
        }
    }
}
