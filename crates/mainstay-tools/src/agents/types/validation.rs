//! Limits on what is stored. They are not part of the input schemas, which the contract fixes.

use mainstay_core::{Error, Result};
use serde_json::{Map, Value};

const MAX_NAME_CHARS: usize = 200;
const MAX_TEXT_CHARS: usize = 10_000;
const MAX_JSON_BYTES: usize = 64 * 1024;

/// A name of an agent, a component or a category: not empty, short, and printable on one line.
pub(crate) fn name(field: &str, name: String) -> Result<String> {
    check_length(field, &name, MAX_NAME_CHARS)?;
    if name.chars().any(char::is_control) {
        return Err(Error::field(field, format!("{field} is {name:?}; a name must not have control characters.")));
    }
    Ok(name)
}

/// Free text. PostgreSQL cannot store a NUL character, so it is rejected on SQLite, too.
pub(crate) fn text(field: &str, text: String) -> Result<String> {
    check_length(field, &text, MAX_TEXT_CHARS)?;
    if text.contains('\0') {
        return Err(Error::field(field, format!("{field} contains a NUL character, which cannot be stored.")));
    }
    Ok(text)
}

/// Counts characters, not bytes: the limits are the same in every script.
fn check_length(field: &str, value: &str, max_chars: usize) -> Result<()> {
    if value.trim().is_empty() {
        return Err(Error::field(field, format!("{field} is empty; give a value.")));
    }
    let length = value.chars().count();
    if length > max_chars {
        return Err(Error::field(field, format!("{field} has {length} characters; the maximum is {max_chars}.")));
    }
    Ok(())
}

/// An optional text; an empty one counts as left out.
pub(crate) fn optional_text(field: &str, given: Option<String>) -> Result<Option<String>> {
    given.filter(|given| !given.is_empty()).map(|given| text(field, given)).transpose()
}

/// An optional object, as the JSON that is stored.
pub(crate) fn object_json(field: &str, given: Option<Map<String, Value>>) -> Result<Option<String>> {
    let Some(given) = given else { return Ok(None) };
    let json = Value::Object(given).to_string();
    if json.len() > MAX_JSON_BYTES {
        let length = json.len();
        let message =
            format!("{field} has {length} bytes as JSON; the maximum is {MAX_JSON_BYTES}. Put large data into files.");
        return Err(Error::field(field, message));
    }
    Ok(Some(json))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn value_at_its_limit_is_accepted_and_one_past_it_is_rejected_by_field() {
        assert!(name("agent", "é".repeat(MAX_NAME_CHARS)).is_ok() && text("task", "é".repeat(MAX_TEXT_CHARS)).is_ok());
        for refused in [
            name("f", "x".repeat(MAX_NAME_CHARS + 1)),
            name("f", " ".into()),
            name("f", "a\nb".into()),
            text("f", "x".repeat(MAX_TEXT_CHARS + 1)),
            text("f", String::new()),
            text("f", "a\0b".into()),
        ] {
            assert_eq!(refused.unwrap_err().field_name().unwrap(), "f");
        }
        let object_of = |length: usize| json!({ "k": "x".repeat(length) }).as_object().cloned();
        assert_eq!(object_json("f", object_of(MAX_JSON_BYTES - 8)).unwrap().unwrap().len(), MAX_JSON_BYTES);
        assert!(object_json("f", object_of(MAX_JSON_BYTES - 7)).is_err());
        assert_eq!(optional_text("f", Some(String::new())).unwrap(), None);
    }
}
