//! The contract's nine error codes: from kinds and reasons to numbers. The message is the one in the contract's table; what
//! happened is the `detail` of the data, beside what the reason has for programs.

use mainstay_core::{Error, Kind, Reason, Reply, quoted, recorded};
use serde_json::json;

use super::list::SCHEME;
use crate::connection_state::ConnectionState;
use crate::content::texts;
use crate::error::ErrorResponse;
use crate::jsonrpc::{INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, Refusal};
use crate::reason::reason;

/// A code and its message.
type Numbered = (i32, &'static str);

const PARSE: Numbered = (PARSE_ERROR, "Parse error");
const REQUEST: Numbered = (INVALID_REQUEST, "Invalid request");
const METHOD: Numbered = (METHOD_NOT_FOUND, "Method not found");
const PARAMS: Numbered = (INVALID_PARAMS, "Invalid params");
const INTERNAL: Numbered = (INTERNAL_ERROR, "Internal error");
const TEMPLATE_NOT_FOUND: Numbered = (-32000, "Template not found");
const INVALID_URI: Numbered = (-32001, "Invalid template URI");
const PARAMETERS: Numbered = (-32002, "Parameter validation failed");
const RATE_LIMITED: Numbered = (-32003, "Rate limit exceeded");

/// What is wrong with a template has a code of its own; everything else is told apart by its kind.
fn numbered(error: &Error, operation: &str) -> Numbered {
    // Every resource of this dialect is a template.
    let is_template = operation == "resources/read";
    match (error.reason.as_deref(), error.kind) {
        (Some(Reason::TemplateNotFound { .. }), _) => TEMPLATE_NOT_FOUND,
        (Some(Reason::InvalidTemplateUri { .. }), _) => INVALID_URI,
        (Some(Reason::TemplateParameters(_)), _) => PARAMETERS,
        (_, Kind::RateLimited) => RATE_LIMITED,
        (_, Kind::Unknown | Kind::NotFound) if is_template => TEMPLATE_NOT_FOUND,
        (_, Kind::Invalid | Kind::Denied) if is_template => INVALID_URI,
        // The client can change its request.
        (_, Kind::Invalid | Kind::Unknown | Kind::NotFound | Kind::Denied) => PARAMS,
        // The contract has no codes for these.
        (
            _,
            Kind::Unauthorized
            | Kind::ConsentRequired
            | Kind::Conflict
            | Kind::TooLarge
            | Kind::Unavailable
            | Kind::Cancelled
            | Kind::TimedOut
            | Kind::Unsupported
            | Kind::InputRequired
            | Kind::Internal,
        ) => INTERNAL,
    }
}

fn response((code, message): Numbered, detail: &str) -> ErrorResponse {
    ErrorResponse::new(code, message, Some(json!({ "detail": detail })))
}

/// The private detail stays behind; the reason becomes members of the data.
pub(super) fn of_error(error: &Error, operation: &str) -> ErrorResponse {
    let (code, message) = numbered(error, operation);
    let mut data = error.reason.as_deref().and_then(reason).unwrap_or_else(|| json!({}));
    data["detail"] = error.public.as_ref().into();
    ErrorResponse::new(code, message, Some(data))
}

/// Bytes that are no message.
pub(super) fn of_frame(refusal: &Refusal) -> ErrorResponse {
    let numbered = if refusal.code == PARSE_ERROR { PARSE } else { REQUEST };
    // The framing begins its sentences with the usual title of the code.
    let detail = refusal.message.split_once(": ").map_or(&*refusal.message, |(_, detail)| detail);
    response(numbered, detail)
}

/// The params of a known method cannot be read.
pub(super) fn of_params(detail: &str) -> ErrorResponse {
    response(PARAMS, detail)
}

/// A resource that is no template.
pub(super) fn of_foreign_uri(uri: &str) -> ErrorResponse {
    let shown = quoted(uri);
    let reason = format!("it does not begin with {SCHEME}");
    let error = Error::invalid(format!("{shown} is not the URI of a template; resources/list names those there are."))
        .with_reason(Reason::InvalidTemplateUri { uri: recorded(uri).to_owned(), reason });
    of_error(&error, "resources/read")
}

/// There is no tool, method or prompt of this name.
pub(super) fn of_unknown_name(kind: &str, name: &str) -> ErrorResponse {
    let shown = quoted(name);
    match kind {
        "method" => response(METHOD, &format!("There is no method {shown}. Every tool is one; tools/list names them.")),
        _ => response(PARAMS, &format!("There is no {kind} {shown}; {kind}s/list names those there are.")),
    }
}

/// A request that its connection does not accept in this state.
pub(super) fn of_state(state: ConnectionState, method: &str) -> ErrorResponse {
    let detail = match state {
        ConnectionState::Uninitialized => format!("{method} came before initialize; send that first."),
        ConnectionState::Initializing { .. } | ConnectionState::Ready => {
            format!("{method} was sent before; the connection is {state}.")
        }
        ConnectionState::Shutting { .. } | ConnectionState::Closed => {
            format!("{method} is not accepted: the connection is {state}.")
        }
    };
    response(REQUEST, &detail)
}

/// The tool ran and reports itself that it failed.
pub(super) fn of_failed_reply(reply: &Reply) -> ErrorResponse {
    response(INTERNAL, &texts(&reply.content))
}

#[cfg(test)]
mod tests {
    use mainstay_core::Problem;

    use super::*;

    fn told(error: &ErrorResponse) -> (i32, &str) {
        (error.code, &error.message)
    }

    #[test]
    fn every_kind_has_its_code_and_the_contracts_message() {
        let expected = |kind| match kind {
            Kind::Invalid | Kind::Unknown | Kind::NotFound | Kind::Denied => (-32602, "Invalid params"),
            Kind::RateLimited => (-32003, "Rate limit exceeded"),
            Kind::Unauthorized
            | Kind::ConsentRequired
            | Kind::Conflict
            | Kind::TooLarge
            | Kind::Unavailable
            | Kind::Cancelled
            | Kind::TimedOut
            | Kind::Unsupported
            | Kind::InputRequired
            | Kind::Internal => (-32603, "Internal error"),
        };
        for kind in Kind::ALL {
            let fault = of_error(&Error::new(kind, "why").with_detail("secret"), "list_templates");
            assert_eq!(told(&fault), expected(kind), "{kind:?}");
            assert_eq!(fault.data, Some(json!({"detail": "why"})), "{kind:?}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_template_has_its_own_code_whatever_its_kind() {
        let uri = || "template://a/b/c".to_owned();
        let problems = ["/project_name", "/features"].map(|path| Problem {
            path: path.into(),
            rule: "type".into(),
            property: None,
            reason: "must be a string".into(),
        });
        for (reason, expected) in [
            (Reason::TemplateNotFound { uri: uri() }, (-32000, "Template not found")),
            (Reason::InvalidTemplateUri { uri: uri(), reason: "x".into() }, (-32001, "Invalid template URI")),
            (Reason::TemplateParameters(problems.to_vec()), (-32002, "Parameter validation failed")),
        ] {
            for kind in Kind::ALL {
                let error = Error::new(kind, "why").with_reason(reason.clone());
                assert_eq!(told(&of_error(&error, "generate_template")), expected, "{kind:?}");
            }
        }
        let error = Error::invalid("why").with_reason(Reason::TemplateParameters(problems.to_vec()));
        let data = of_error(&error, "generate_template").data.unwrap();
        assert_eq!(data["problems"].as_array().unwrap().len(), 2, "all are listed: {data}");
    }

    #[test]
    fn a_resource_that_is_not_there_is_a_template_that_is_not_there() {
        for (kind, code) in [
            (Kind::NotFound, -32000),
            (Kind::Unknown, -32000),
            (Kind::Invalid, -32001),
            (Kind::Denied, -32001),
            (Kind::Unavailable, -32603),
        ] {
            assert_eq!(of_error(&Error::new(kind, "why"), "resources/read").code, code, "{kind:?}");
        }
    }

    #[test]
    fn a_refusal_for_the_rate_says_when_to_retry() {
        let error =
            Error::new(Kind::RateLimited, "Later.").with_reason(Reason::RateLimited { limit: 1000, retry_after: 1 });
        let data = json!({"detail": "Later.", "retry_after": 1, "limit": 1000, "remaining": 0});
        assert_eq!(of_error(&error, "ping").data, Some(data));
    }

    #[test]
    fn a_name_that_does_not_exist_is_a_method_not_found_or_a_wrong_argument() {
        assert_eq!(told(&of_unknown_name("method", "x")), (-32601, "Method not found"));
        assert_eq!(told(&of_unknown_name("tool", "x")), (-32602, "Invalid params"));
        assert_eq!(told(&of_unknown_name("prompt", "x")), (-32602, "Invalid params"));
        let long = of_unknown_name("method", &"x".repeat(1_000_000)).to_json();
        assert!(long.len() < 10_000, "{}", long.len());
        assert!(of_foreign_uri(&"x".repeat(1_000_000)).to_json().len() < 20_000);
    }
}
