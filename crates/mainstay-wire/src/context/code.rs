//! The six words for what can go wrong, each with its one message and its number.

use mainstay_core::{Error, Kind};
use serde_json::{Value, json};

use crate::jsonrpc::{INTERNAL_ERROR, INVALID_PARAMS};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    CacheMissing,
    CacheInvalid,
    InvalidQuery,
    InvalidBudget,
    IoError,
    InternalError,
}

/// What is told if it is wrong, and before which others.
const ARGUMENTS: [(&str, Code); 3] =
    [("query", Code::InvalidQuery), ("budget", Code::InvalidBudget), ("cache", Code::CacheMissing)];

impl Code {
    pub const ALL: [Self; 6] = [
        Self::CacheMissing,
        Self::CacheInvalid,
        Self::InvalidQuery,
        Self::InvalidBudget,
        Self::IoError,
        Self::InternalError,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CacheMissing => "cache_missing",
            Self::CacheInvalid => "cache_invalid",
            Self::InvalidQuery => "invalid_query",
            Self::InvalidBudget => "invalid_budget",
            Self::IoError => "io_error",
            Self::InternalError => "internal_error",
        }
    }

    pub const fn message(self) -> &'static str {
        match self {
            Self::CacheMissing => "Cache does not exist",
            Self::CacheInvalid => "Cache exists but is invalid",
            Self::InvalidQuery => "Query is invalid",
            Self::InvalidBudget => "Budget is invalid",
            Self::IoError => "I/O error occurred",
            Self::InternalError => "Internal error",
        }
    }

    pub(super) const fn number(self) -> i32 {
        match self {
            Self::CacheMissing | Self::CacheInvalid | Self::InvalidQuery | Self::InvalidBudget => INVALID_PARAMS,
            Self::IoError | Self::InternalError => INTERNAL_ERROR,
        }
    }

    /// The contract's frozen object.
    pub(super) fn to_json(self) -> Value {
        json!({"error": {"code": self.as_str(), "message": self.message()}})
    }

    /// The first in the contract's order of those arguments that are wrong.
    pub(super) fn of_arguments(is_wrong: impl Fn(&str) -> bool) -> Self {
        ARGUMENTS.into_iter().find(|(name, _)| is_wrong(name)).map_or(Self::InvalidQuery, |(_, code)| code)
    }
}

/// The one table. A tool that knows which of the six it means says so; the rest follows from the kind.
impl From<&Error> for Code {
    fn from(error: &Error) -> Self {
        if let Some(said) = said(error) {
            return said;
        }
        match error.kind {
            Kind::Invalid => invalid(error),
            Kind::NotFound | Kind::Denied => Self::CacheMissing,
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
            | Kind::Internal => Self::InternalError,
        }
    }
}

fn said(error: &Error) -> Option<Code> {
    let word = error.data.as_deref()?.get("code")?.as_str()?;
    Code::ALL.into_iter().find(|code| code.as_str() == word)
}

fn invalid(error: &Error) -> Code {
    let problems = error.data.as_deref().and_then(|data| data.get("problems")).and_then(Value::as_array);
    match problems {
        Some(problems) => Code::of_arguments(|name| problems.iter().any(|problem| argument(problem) == Some(name))),
        // What has the shape of its schema and does not fit all the same is a number past 64 bits, and the budget is the
        // only number there is.
        None => Code::InvalidBudget,
    }
}

/// Which argument a problem is about: the one its path begins with, or the one that is missing.
fn argument(problem: &Value) -> Option<&str> {
    let path = problem.get("path").and_then(Value::as_str).unwrap_or_default();
    let first = path.split('/').nth(1);
    first.or_else(|| problem.get("property").and_then(Value::as_str))
}

#[cfg(test)]
mod tests {
    use mainstay_core::schema::Validator;

    use super::*;

    #[test]
    fn each_word_has_its_message_and_its_number() {
        let told = Code::ALL.map(|code| (code.as_str(), code.message(), code.number()));
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
        assert_eq!(Code::IoError.to_json().to_string(), frozen);
    }

    #[test]
    fn every_kind_has_its_word() {
        let expected = |kind| match kind {
            Kind::Invalid => Code::InvalidBudget,
            Kind::NotFound | Kind::Denied => Code::CacheMissing,
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
            | Kind::Internal => Code::InternalError,
        };
        for kind in Kind::ALL {
            assert_eq!(Code::from(&Error::new(kind, "why")), expected(kind), "{kind:?}");
            for code in Code::ALL {
                let said = Error::new(kind, "why").with_data(json!({"code": code.as_str()}));
                assert_eq!(Code::from(&said), code, "{kind:?}: what a tool says itself is believed");
            }
            for other in [json!({"code": "disk_full"}), json!({"code": 1}), json!([]), json!({"field": "query"})] {
                let said = Error::new(kind, "why").with_data(other.clone());
                assert_eq!(Code::from(&said), expected(kind), "{kind:?}: {other} is no word of the contract");
            }
        }
    }

    fn broken(args: &Value) -> Code {
        let schema = json!({"type": "object", "required": ["cache", "query", "budget"], "additionalProperties": false,
            "properties": {"cache": {"type": "string"}, "query": {"type": "string"},
                "budget": {"type": "integer", "minimum": 0}}});
        let validator = Validator::new(schema.as_object().unwrap()).unwrap();
        Code::from(&validator.check(args).unwrap_err())
    }

    #[test]
    fn of_several_wrong_arguments_the_query_is_told_before_the_budget_and_that_before_the_cache() {
        for (args, code) in [
            (json!({}), Code::InvalidQuery),
            (json!({"cache": 1, "query": 1, "budget": -1}), Code::InvalidQuery),
            (json!({"cache": "c", "budget": 1}), Code::InvalidQuery),
            (json!({"cache": "c", "query": null, "budget": "x"}), Code::InvalidQuery),
            (json!({"cache": 1, "query": "", "budget": -1}), Code::InvalidBudget),
            (json!({"query": "", "budget": 1.5}), Code::InvalidBudget),
            (json!({"cache": "c", "query": ""}), Code::InvalidBudget),
            (json!({"cache": "c", "query": "", "budget": "7"}), Code::InvalidBudget),
            (json!({"query": "", "budget": 1}), Code::CacheMissing),
            (json!({"cache": ["c"], "query": "", "budget": 1}), Code::CacheMissing),
            (json!({"cache": "c", "query": "", "budget": 1, "more": 1}), Code::InvalidQuery),
            (json!("query"), Code::InvalidQuery),
        ] {
            assert_eq!(broken(&args), code, "{args}");
        }
    }
}
