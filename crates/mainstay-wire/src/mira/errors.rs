//! The contract's error codes: from kinds and reasons to numbers.

use mainstay_core::{Error, Kind, Problem, Reason, Reply};
use serde_json::{Value, json};

use crate::content::texts;
use crate::error::ErrorResponse;
use crate::jsonrpc::{INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, Refusal};
use crate::reason::reason;

const INVALID: (i32, &str) = (INVALID_PARAMS, "Invalid params");
const INTERNAL: (i32, &str) = (INTERNAL_ERROR, "Internal error");
/// `VectorDBUnavailable` of the contract. No kind has it: that a tool is unavailable is 1006.
const VECTOR_STORE: (i32, &str) = (1010, "Vector DB unavailable");

/// The contract's table. Arguments of the wrong shape are [`INVALID`], which only the problems themselves can tell.
const fn numbered(kind: Kind) -> (i32, &'static str) {
    match kind {
        Kind::NotFound => (1001, "Not found"),
        Kind::Denied | Kind::Unauthorized | Kind::ConsentRequired => (1002, "Permission denied"),
        Kind::Invalid => (1003, "Validation failed"),
        Kind::RateLimited => (1004, "Rate limited"),
        Kind::Conflict => (1005, "Conflict"),
        Kind::Unavailable | Kind::Unsupported => (1006, "Tool unavailable"),
        Kind::TooLarge => (1007, "Content too large"),
        Kind::Unknown => (METHOD_NOT_FOUND, "Method not found"),
        Kind::Internal | Kind::TimedOut | Kind::Cancelled | Kind::InputRequired => INTERNAL,
    }
}

/// The code of an error: that of its reason where the contract has one, else that of its kind.
fn code_of(error: &Error) -> (i32, &'static str) {
    match error.reason.as_deref() {
        Some(Reason::VectorStoreUnavailable) => VECTOR_STORE,
        _ => numbered(error.kind),
    }
}

/// Violations that mean that the params are not of the method's shape at all.
const SHAPE: [&str; 4] = ["additionalProperties", "unevaluatedProperties", "required", "type"];

/// Every error of this contract has data.
fn response((code, message): (i32, &'static str), data: Value) -> ErrorResponse {
    ErrorResponse::new(code, message, Some(data))
}

/// Params that are not of the method's shape.
pub(super) fn invalid_params(field: &str, reason: &str) -> ErrorResponse {
    response(INVALID, json!({"field": field, "reason": reason}))
}

/// Bytes that are no message.
pub(super) fn of_frame(refusal: &Refusal) -> ErrorResponse {
    let message = match refusal.code {
        PARSE_ERROR => "Parse error",
        INVALID_REQUEST => "Invalid Request",
        _ => INVALID.1,
    };
    let detail = refusal.message.strip_prefix(message).unwrap_or(&refusal.message);
    response((refusal.code, message), json!({ "detail": detail.trim_start_matches(": ") }))
}

/// The tool ran and reports itself that it failed.
pub(super) fn of_failed_reply(reply: &Reply) -> ErrorResponse {
    response(INTERNAL, json!({ "detail": texts(&reply.content) }))
}

/// The private detail stays behind; the reason becomes members of the data.
pub(super) fn of_error(error: &Error) -> ErrorResponse {
    if error.kind == Kind::Invalid {
        return of_invalid(error);
    }
    let mut data = error.reason.as_deref().and_then(reason).unwrap_or_else(|| json!({}));
    data["detail"] = error.public.as_ref().into();
    response(code_of(error), data)
}

fn of_invalid(error: &Error) -> ErrorResponse {
    if let Some(Reason::Problems(problems)) = error.reason.as_deref() {
        let shape = problems.iter().find(|problem| SHAPE.contains(&problem.rule.as_str()));
        let numbers = if shape.is_some() { INVALID } else { numbered(Kind::Invalid) };
        if let Some(problem) = shape.or(problems.first()) {
            return response(numbers, json!({"field": field(problem), "reason": problem.reason}));
        }
    }
    let data = json!({"field": error.field_name().unwrap_or("params"), "reason": error.public});
    response(numbered(Kind::Invalid), data)
}

/// Where the problem is, as `filter.names.0`, including the name of a missing or unexpected property.
fn field(problem: &Problem) -> String {
    let mut steps: Vec<String> =
        problem.path.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect();
    steps.extend(problem.property.clone());
    if steps.is_empty() { "params".to_owned() } else { steps.join(".") }
}

#[cfg(test)]
mod tests {
    use mainstay_core::schema::Validator;

    use super::*;

    #[test]
    fn every_kind_has_its_number_and_its_canonical_message() {
        let expected = |kind| match kind {
            Kind::NotFound => (1001, "Not found"),
            Kind::Denied | Kind::Unauthorized | Kind::ConsentRequired => (1002, "Permission denied"),
            Kind::Invalid => (1003, "Validation failed"),
            Kind::RateLimited => (1004, "Rate limited"),
            Kind::Conflict => (1005, "Conflict"),
            Kind::Unavailable | Kind::Unsupported => (1006, "Tool unavailable"),
            Kind::TooLarge => (1007, "Content too large"),
            Kind::Unknown => (-32601, "Method not found"),
            Kind::Internal | Kind::TimedOut | Kind::Cancelled | Kind::InputRequired => (-32603, "Internal error"),
        };
        for kind in Kind::ALL {
            let fault = of_error(&Error::new(kind, "why").with_detail("secret"));
            assert_eq!((fault.code, &*fault.message), expected(kind), "{kind:?}");
            assert!(!fault.data.as_ref().unwrap().to_string().contains("secret"), "{kind:?}");
            assert!(fault.data.as_ref().unwrap().to_string().contains("why"), "{kind:?}");
        }
    }

    #[test]
    fn a_vector_store_that_is_away_has_a_code_of_its_own() {
        let fault = of_error(&Error::vector_store_unavailable("The index is being built.").with_detail("secret"));
        assert_eq!((fault.code, &*fault.message), (1010, "Vector DB unavailable"));
        assert_eq!(fault.data.unwrap(), json!({"detail": "The index is being built."}));
        assert_eq!(of_error(&Error::unavailable("x")).code, 1006, "anything else that is away");
    }

    fn broken(args: &Value) -> ErrorResponse {
        let schema = json!({"type": "object", "required": ["path"], "additionalProperties": false, "properties": {
            "path": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1},
            "filter": {"type": "object", "required": ["by"], "properties": {
                "by": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string", "maxLength": 3}}}},
        }});
        let validator = Validator::new(schema.as_object().unwrap()).unwrap();
        of_error(&validator.check(args).unwrap_err())
    }

    #[test]
    fn params_of_the_wrong_shape_are_invalid_params_and_wrong_values_are_a_failed_validation() {
        for (args, code, field) in [
            (json!({}), -32602, "path"),
            (json!({"path": 1}), -32602, "path"),
            (json!({"path": "a", "surplus": 1}), -32602, "surplus"),
            (json!({"path": "a", "it's \"odd\"": 1}), -32602, "it's \"odd\""),
            (json!({"path": "a", "filter": {}}), -32602, "filter.by"),
            (json!({"path": "a", "filter": {"by": "x", "tags": ["a", 1]}}), -32602, "filter.tags.1"),
            (json!({"path": "a", "limit": 0}), 1003, "limit"),
            (json!({"path": "a", "filter": {"by": "x", "tags": ["long"]}}), 1003, "filter.tags.0"),
            (json!({"path": "a", "limit": 0, "surplus": 1}), -32602, "surplus"),
        ] {
            let fault = broken(&args);
            assert_eq!((fault.code, fault.data.as_ref().unwrap()["field"].as_str().unwrap()), (code, field), "{args}");
            assert_eq!(fault.data.as_ref().unwrap().as_object().unwrap().len(), 2, "{args}");
            assert!(!fault.data.as_ref().unwrap()["reason"].as_str().unwrap().is_empty(), "{args}");
        }
    }

    #[test]
    fn a_rule_of_the_tool_names_its_field_as_the_contract_shows() {
        let fault = of_error(&Error::field("path", "Path outside workspace"));
        assert_eq!((fault.code, &*fault.message), (1003, "Validation failed"));
        assert_eq!(fault.data.unwrap(), json!({"field": "path", "reason": "Path outside workspace"}));
    }

    #[test]
    fn what_an_error_carries_for_programs_goes_along() {
        let error =
            Error::new(Kind::RateLimited, "Later.").with_reason(Reason::RateLimited { limit: 5, retry_after: 3 });
        assert_eq!(
            of_error(&error).data.unwrap(),
            json!({"detail": "Later.", "retry_after": 3, "limit": 5, "remaining": 0})
        );
    }
}
