//! The id of a request, as it was written: it is echoed and never calculated with.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

/// The longest id. Everything that is said about a call carries a copy.
pub const MAX_ID: usize = 1024;

/// JSON text: a string, a number, or `null` where an id could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Id(Arc<str>);

/// Which numbers may be ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// Those that fit into 64 bits.
    Whole,
    /// Any that JSON can write.
    Any,
}

impl Id {
    pub fn null() -> Self {
        Self("null".into())
    }

    /// Whether this is the same id, however both were written: a string may have escapes, a number an exponent.
    pub fn is(&self, other: &Value) -> bool {
        serde_json::from_str::<Value>(&self.0).is_ok_and(|id| id == *other)
    }

    /// The id, or what is wrong with it.
    pub(crate) fn read(raw: &RawValue, numbers: Numbers) -> Result<Self, &'static str> {
        let wrong = match numbers {
            Numbers::Whole => "\"id\" must be a string or an integer",
            Numbers::Any => "\"id\" must be a string or a number",
        };
        let text = raw.get();
        let length = match text.as_bytes().first() {
            Some(b'"') => serde_json::from_str::<String>(text).map_err(|_| wrong)?.len(),
            Some(b'-' | b'0'..=b'9') if numbers == Numbers::Any || text.parse::<i64>().is_ok() => text.len(),
            _ => return Err(wrong),
        };
        if length > MAX_ID { Err("\"id\" is longer than 1024 bytes") } else { Ok(Self(text.into())) }
    }
}

#[cfg(test)]
impl From<&Value> for Id {
    fn from(value: &Value) -> Self {
        Self(value.to_string().into())
    }
}

/// As JSON, ready to stand in a message.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, numbers: Numbers) -> Option<String> {
        Id::read(serde_json::from_str(text).unwrap(), numbers).ok().map(|id| id.to_string())
    }

    #[test]
    fn an_id_is_kept_as_it_was_written() {
        for text in ["1", "-7", "\"a\"", "\"\\u00fc\"", "9223372036854775807"] {
            assert_eq!(read(text, Numbers::Whole).as_deref(), Some(text));
            assert_eq!(read(text, Numbers::Any).as_deref(), Some(text));
        }
        for text in ["1.5", "1e3", "9223372036854775808", "1.0", "-0.0"] {
            assert_eq!(read(text, Numbers::Whole), None, "{text}");
            assert_eq!(read(text, Numbers::Any).as_deref(), Some(text));
        }
        for text in ["null", "true", "[]", "{}", "\"\\ud800\""] {
            assert_eq!(read(text, Numbers::Any), None, "{text}");
        }
    }

    #[test]
    fn an_id_is_recognized_however_it_was_written() {
        let id = |text: &str| Id::read(serde_json::from_str(text).unwrap(), Numbers::Any).unwrap();
        assert!(id("1").is(&1.into()) && id(r#""\u00fc""#).is(&"ü".into()) && id("1.50").is(&1.5.into()));
        assert!(!id("1").is(&"1".into()) && !id("1").is(&2.into()) && !Id::null().is(&0.into()));
    }

    #[test]
    fn an_id_that_is_too_long_is_none() {
        let text = |length: usize| format!("\"{}\"", "x".repeat(length));
        assert!(read(&text(MAX_ID), Numbers::Whole).is_some());
        assert_eq!(read(&text(MAX_ID + 1), Numbers::Whole), None);
        assert_eq!(read(&"1".repeat(MAX_ID + 1), Numbers::Any), None);
    }
}
