//! Compares a response with what a fixture expects. contracts/README.md defines the placeholders such as `<integer>`.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

/// Values that earlier steps of a fixture have captured for later ones, by name.
pub(crate) struct Captures<'a> {
    schemas: &'a Path,
    values: BTreeMap<String, Value>,
}

impl<'a> Captures<'a> {
    pub(crate) fn new(schemas: &'a Path) -> Self {
        Self { schemas, values: BTreeMap::new() }
    }

    /// A request with its placeholders replaced by the captured values.
    pub(crate) fn fill(&self, request: Value) -> Value {
        match request {
            Value::String(text) => match shape(&text) {
                Some(name) => self.captured(name).clone(),
                None => text.into(),
            },
            Value::Array(items) => items.into_iter().map(|item| self.fill(item)).collect(),
            Value::Object(members) => {
                members.into_iter().map(|(name, member)| (name, self.fill(member))).collect::<Map<_, _>>().into()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => request,
        }
    }

    fn captured(&self, name: &str) -> &Value {
        self.values
            .get(name)
            .unwrap_or_else(|| panic!("<{name}> is no placeholder, and nothing was captured under this name"))
    }

    /// Where and how the response differs, if it does.
    pub(crate) fn compare(&mut self, expected: &Value, actual: &Value, at: &str) -> Result<(), String> {
        match (expected, actual) {
            (Value::String(text), _) if shape(text).is_some() => self.fits(shape(text).unwrap(), actual, at),
            (Value::Object(expected), Value::Object(actual)) => self.compare_members(expected, actual, at),
            (Value::Array(expected), Value::Array(actual)) if expected.len() == actual.len() => {
                let mut pairs = expected.iter().zip(actual).enumerate();
                pairs.try_for_each(|(nth, (expected, actual))| self.compare(expected, actual, &format!("{at}/{nth}")))
            }
            _ if expected == actual => Ok(()),
            _ => Err(format!("{at}: expected {expected}, got {actual}")),
        }
    }

    fn compare_members(
        &mut self,
        expected: &Map<String, Value>,
        actual: &Map<String, Value>,
        at: &str,
    ) -> Result<(), String> {
        let open = expected.contains_key("...");
        if let Some(surplus) = actual.keys().find(|name| !open && !expected.contains_key(*name)) {
            return Err(format!("{at}/{surplus}: is there and should not be"));
        }
        for (name, expected) in expected.iter().filter(|(name, _)| *name != "...") {
            let at = format!("{at}/{name}");
            match actual.get(name) {
                Some(actual) => self.compare(expected, actual, &at)?,
                None if expected == "<nothing>" => {}
                None => return Err(format!("{at}: is missing")),
            }
        }
        Ok(())
    }

    fn fits(&mut self, shape: &str, actual: &Value, at: &str) -> Result<(), String> {
        if let Some((shape, name)) = shape.split_once(" as ") {
            self.values.insert(name.to_owned(), actual.clone());
            return self.fits(shape, actual, at);
        }
        let good = match shape.split_once(' ').unwrap_or((shape, "")) {
            ("any", _) => true,
            ("string", _) => actual.is_string(),
            ("integer", _) => actual.is_i64() || actual.is_u64(),
            ("number", _) => actual.is_number(),
            ("boolean", _) => actual.is_boolean(),
            ("object", _) => actual.is_object(),
            ("array", "") => actual.is_array(),
            ("array", with) if with.starts_with("with ") => {
                let held = |word: &str| actual.as_array().is_some_and(|items| items.iter().any(|item| item == word));
                with.split(' ').skip(1).all(held)
            }
            ("array", of) => actual.as_array().map(Vec::len) == Some(number(of)),
            ("nothing", _) => actual.is_null(),
            ("etag", _) => actual.as_str().is_some_and(|etag| !etag.is_empty()),
            ("iso8601", _) => actual.as_str().is_some_and(is_time),
            ("contains", word) => actual.as_str().is_some_and(|text| text.contains(word)),
            ("schema", name) => {
                let text = std::fs::read_to_string(self.schemas.join(format!("{name}.json"))).unwrap();
                *actual == serde_json::from_str::<Value>(&text).unwrap()
            }
            (name, _) => self.captured(name) == actual,
        };
        if good { Ok(()) } else { Err(format!("{at}: expected <{shape}>, got {actual}")) }
    }
}

fn shape(text: &str) -> Option<&str> {
    text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'))
}

/// The number in `of 50`.
fn number(of: &str) -> usize {
    of.strip_prefix("of ").and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("<array {of}> is no shape"))
}

/// `2026-01-31T12:00:00`, a fraction if there is one, and the zone.
fn is_time(text: &str) -> bool {
    let like = |picture: &str, text: &str| {
        picture.len() == text.len()
            && picture.bytes().zip(text.bytes()).all(|(p, t)| if p == b'd' { t.is_ascii_digit() } else { p == t })
    };
    let Some((time, rest)) = text.split_at_checked("2026-01-31T12:00:00".len()) else { return false };
    let zone = rest.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    like("dddd-dd-ddTdd:dd:dd", time) && (zone == "Z" || like("+dd:dd", zone) || like("-dd:dd", zone))
}
