//! What people see of a call: its name and its arguments, without what hides, misleads or is secret.

use std::fmt::Write as _;

use mainstay_core::{Error, Kind, Result, ToolInfo};
use serde_json::Value;

/// The longest text of an argument that is told to listeners.
const BRIEF: usize = 200;

/// The longest text, in bytes, that a person who decides is made to read. Nothing is cut off it: what is not shown could
/// be what matters.
const FULL: usize = 64 * 1024;

const HIDDEN: &str = "[hidden]";

/// Parts of a name that say that the value is nobody's business.
const SECRET: [&str; 10] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "credential",
    "authorization",
    "cookie",
    "privatekey",
];

/// The name people know a tool by: the one it has in contract 001, or the listed one.
pub(crate) fn tool_name(tool: &ToolInfo) -> &str {
    tool.spelling("agents").unwrap_or(&tool.listed)
}

/// Arguments for those who listen: secrets left out, long texts cut.
pub(crate) fn brief(args: &Value) -> Value {
    redacted(args, &|text| cut(text, BRIEF))
}

/// Arguments for the person who decides: secrets left out, nothing else hidden.
pub(crate) fn full(args: &Value) -> Result<String> {
    let redacted = redacted(args, &str::to_owned);
    let shown = plain(&serde_json::to_string_pretty(&redacted).map_err(Error::internal)?);
    if shown.len() <= FULL {
        return Ok(shown);
    }
    Err(Error::new(
        Kind::TooLarge,
        format!(
            "A person has to approve this call and would have to read {} bytes of arguments; more than {FULL} are not shown to anybody. Make several smaller calls instead.",
            shown.len()
        ),
    ))
}

/// What turns the direction of writing around or has no width is spelled out: it could show another call than it is.
pub(crate) fn plain(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut plain, c| {
        if misleads(c) {
            let _ = write!(plain, "\\u{{{:04x}}}", u32::from(c));
        } else {
            plain.push(c);
        }
        plain
    })
}

fn misleads(c: char) -> bool {
    let invisible = matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    (c.is_control() && c != '\n' && c != '\t') || invisible
}

fn cut(text: &str, most: usize) -> String {
    let Some((at, _)) = text.char_indices().nth(most) else { return text.to_owned() };
    format!("{}… ({} more characters are not shown)", &text[..at], text[at..].chars().count())
}

fn redacted(value: &Value, text: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| {
                let value = if is_secret(key) { Value::String(HIDDEN.into()) } else { redacted(value, text) };
                (key.clone(), value)
            };
            Value::Object(fields.iter().map(field).collect())
        }
        Value::Array(items) => items.iter().map(|item| redacted(item, text)).collect(),
        Value::String(found) => Value::String(text(found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn is_secret(key: &str) -> bool {
    let bare: String = key.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    SECRET.iter().any(|part| bare.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_left_out_wherever_they_lie() {
        let args =
            json!({"apiKey": "k", "env": [{"DB_PASSWORD": {"x": 1}}], "path": "a", "n": 1, "access_token": null});
        let shown =
            json!({"apiKey": HIDDEN, "env": [{"DB_PASSWORD": HIDDEN}], "path": "a", "n": 1, "access_token": HIDDEN});
        assert_eq!(brief(&args), shown);
        assert_eq!(serde_json::from_str::<Value>(&full(&args).unwrap()).unwrap(), shown);
    }

    #[test]
    fn what_is_cut_is_said_to_be() {
        let long = "é".repeat(BRIEF + 3);
        assert_eq!(brief(&json!([long]))[0], format!("{}… (3 more characters are not shown)", "é".repeat(BRIEF)));
    }

    #[test]
    fn a_person_is_shown_all_or_is_not_asked() {
        let noise = "./".repeat(2000) + "secret/../keep";
        assert_eq!(full(&json!(noise)).unwrap(), format!("\"{noise}\""));
        assert!(full(&json!("x".repeat(FULL - 2))).is_ok());
        // As it is shown, not as it was sent: what misleads is spelled out and takes more room.
        for long in ["x".repeat(FULL - 1), "\u{200b}".repeat(FULL / 8)] {
            let refused = full(&json!(long)).unwrap_err();
            assert!(refused.kind == Kind::TooLarge && refused.public.contains("smaller calls"), "{refused}");
        }
    }

    #[test]
    fn nothing_is_shown_that_turns_or_hides_the_rest() {
        let shown = full(&json!({"path": "a\u{202e}b\u{200b}c\u{e0041}\u{7f}"})).unwrap();
        assert!(shown.contains(r"a\u{202e}b\u{200b}c\u{e0041}\u{007f}"), "{shown}");
    }
}
