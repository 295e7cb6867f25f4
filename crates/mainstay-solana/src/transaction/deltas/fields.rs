//! Fields of a node's JSON, with errors that name them.

use mainstay_core::quoted;
use serde_json::Value;
use solana_address::Address;

/// Why the changes cannot be read from a node's answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeltaError {
    #[error("The node's answer has no {0}, from which balances are read. Ask another node.")]
    Missing(String),
    #[error("The node's answer has {value} for {field}, which is not {expected}.")]
    Invalid { field: String, value: String, expected: &'static str },
    #[error("There are {found} entries in {field}, but {expected} accounts.")]
    Count { field: String, found: usize, expected: usize },
    /// Refused before the entries are compared with each other, which takes the square of their number.
    #[error("There are {found} entries in {field}; a transaction has at most {limit}.")]
    TooMany { field: String, found: usize, limit: usize },
}

/// The error for a value of the wrong kind. Values of a node are quoted in part, as they may be large.
pub(super) fn invalid(field: &str, value: &Value, expected: &'static str) -> DeltaError {
    let value = match value {
        Value::String(text) => quoted(text),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other.to_string(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    };
    DeltaError::Invalid { field: field.to_owned(), value, expected }
}

/// A field that must be there. `null` counts as absent, as in the answers of nodes.
pub(super) fn required<'a>(object: &'a Value, field: &str) -> Result<&'a Value, DeltaError> {
    optional(object, field).ok_or_else(|| DeltaError::Missing(field.to_owned()))
}

pub(super) fn optional<'a>(object: &'a Value, field: &str) -> Option<&'a Value> {
    object.get(field).filter(|value| !value.is_null())
}

/// The elements of an array; none where the field is absent.
pub(super) fn elements<'a>(object: &'a Value, field: &str) -> Result<&'a [Value], DeltaError> {
    match optional(object, field) {
        None => Ok(&[]),
        Some(value) => Ok(value.as_array().ok_or_else(|| invalid(field, value, "an array"))?),
    }
}

/// An address as nodes write it.
pub(super) fn address(value: &Value, field: &str) -> Result<Address, DeltaError> {
    let parsed = value.as_str().and_then(|text| text.parse().ok());
    parsed.ok_or_else(|| invalid(field, value, "an address in base58"))
}

/// A whole number, exact up to 2^64: the parser keeps it as an integer.
pub(super) fn number(value: &Value, field: &str) -> Result<u64, DeltaError> {
    value.as_u64().ok_or_else(|| invalid(field, value, "a whole number of 64 bits"))
}

/// The amount and the decimal places of a `UiTokenAmount`. Its `uiAmount` is a floating point number and is not read.
pub(super) fn token_amount(value: &Value, field: &str) -> Result<(u64, u8), DeltaError> {
    let amount = required(value, "amount")?;
    let parsed = amount.as_str().and_then(|text| text.parse().ok());
    let parsed = parsed.ok_or_else(|| invalid(field, amount, "a whole number of 64 bits as text"))?;
    let decimals = required(value, "decimals")?;
    let places = decimals.as_u64().and_then(|places| u8::try_from(places).ok());
    Ok((parsed, places.ok_or_else(|| invalid(field, decimals, "a number of decimal places"))?))
}
