//! What may be stored, and how it is told that something may not. Not in the schemas: those are the contract's.

use mainstay_core::{Error, Result};
use serde_json::{Map, Value};

const NAME: usize = 200;
const TEXT: usize = 10_000;
const OBJECT: usize = 64 * 1024;

/// A name of an agent, a component or a category: something to be told apart by.
pub(crate) fn name(field: &str, name: String) -> Result<String> {
    let length = name.chars().count();
    if name.trim().is_empty() {
        return Err(Error::field(field, format!("{field} is empty; give a name.")));
    }
    if length > NAME {
        return Err(Error::field(field, format!("{field} has {length} characters; a name may have {NAME}.")));
    }
    if name.chars().any(char::is_control) {
        return Err(Error::field(field, format!("{field} is {name:?}; a name has no control characters.")));
    }
    Ok(name)
}

pub(crate) fn text(field: &str, text: String) -> Result<String> {
    let length = text.chars().count();
    if text.trim().is_empty() {
        return Err(Error::field(field, format!("{field} is empty; say something.")));
    }
    if length > TEXT {
        return Err(Error::field(field, format!("{field} has {length} characters; it may have {TEXT}.")));
    }
    if text.contains('\0') {
        return Err(Error::field(field, format!("{field} contains a NUL character, which cannot be stored.")));
    }
    Ok(text)
}

/// A text that may be left out; an empty one says as little.
pub(crate) fn maybe_text(field: &str, given: Option<String>) -> Result<Option<String>> {
    given.filter(|given| !given.is_empty()).map(|given| text(field, given)).transpose()
}

pub(crate) fn object(field: &str, given: Option<Map<String, Value>>) -> Result<Option<String>> {
    let Some(given) = given else { return Ok(None) };
    let json = Value::Object(given).to_string();
    if json.len() > OBJECT {
        let told =
            format!("{field} has {} bytes as JSON; it may have {OBJECT}. Put large things into files.", json.len());
        return Err(Error::field(field, told));
    }
    Ok(Some(json))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_at_its_limit_is_taken_and_one_past_it_is_told_by_its_field() {
        assert!(name("agent", "é".repeat(NAME)).is_ok() && text("task", "é".repeat(TEXT)).is_ok());
        for refused in [
            name("f", "x".repeat(NAME + 1)),
            name("f", " ".into()),
            name("f", "a\nb".into()),
            text("f", "x".repeat(TEXT + 1)),
            text("f", String::new()),
            text("f", "a\0b".into()),
        ] {
            assert_eq!(refused.unwrap_err().field_name().unwrap(), "f");
        }
        let object_of = |length: usize| json!({ "k": "x".repeat(length) }).as_object().cloned();
        assert_eq!(object("f", object_of(OBJECT - 8)).unwrap().unwrap().len(), OBJECT);
        assert!(object("f", object_of(OBJECT - 7)).is_err());
        assert_eq!(maybe_text("f", Some(String::new())).unwrap(), None);
    }
}
