//! Arguments as people see them: without secrets, and without characters that hide or reorder the text around them.

use std::fmt::Write as _;

use serde_json::Value;

use crate::{Error, Kind, Result};

/// The longest string, in characters, that an event carries of one argument.
const BRIEF: usize = 200;

/// The longest text, in bytes, shown to the person who approves a call. Longer arguments are an error and are never
/// truncated: the part that is cut off could be the part that does harm.
const FULL: usize = 64 * 1024;

/// How much of an outline is shown, in lines and in characters of a line.
const OUTLINE_LINES: usize = 100;
const OUTLINE_CHARS: usize = 300;

/// Members of every dry run's result.
const UNTOLD: [&str; 2] = ["dry_run", "success"];

const HIDDEN: &str = "[hidden]";

/// A value is a secret if its key, without punctuation and in lower case, contains one of these.
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

/// Arguments for event listeners: secrets are replaced, long strings are cut.
pub fn redacted_brief(args: &Value) -> Value {
    redacted(args, &|text| cut(text, BRIEF))
}

/// Arguments for the person who approves the call: secrets are replaced, nothing else is left out. Fails if that is more
/// than a person can be expected to read.
pub fn redacted_full(args: &Value) -> Result<String> {
    let redacted = redacted(args, &str::to_owned);
    let shown = escape_invisible(&serde_json::to_string_pretty(&redacted).map_err(Error::internal)?);
    if shown.len() <= FULL {
        return Ok(shown);
    }
    let line = format!(
        "This call needs approval, and its arguments are {} bytes long; at most {FULL} bytes are shown for approval. Make several smaller calls instead.",
        shown.len()
    );
    Err(Error::new(Kind::TooLarge, line))
}

/// A value as indented lines for people: secrets are replaced, and what is longer than a person reads is cut, with the
/// number of lines that are missing. Members that every dry run has say nothing and are left out.
pub fn redacted_outline(value: &Value) -> String {
    let mut lines = Vec::new();
    outline(&redacted(value, &str::to_owned), 0, &mut lines);
    let more = lines.len().saturating_sub(OUTLINE_LINES);
    lines.truncate(OUTLINE_LINES);
    if more > 0 {
        lines.push(format!("… ({more} more lines are not shown)"));
    }
    escape_invisible(&lines.join("\n"))
}

/// The members of an object that fit on a line share one; everything else is indented below its name.
fn outline(value: &Value, depth: usize, lines: &mut Vec<String>) {
    let mut line = |text: &str| lines.push(format!("{}{}", "  ".repeat(depth), cut(text, OUTLINE_CHARS)));
    match value {
        Value::Object(members) => {
            let told = members.iter().filter(|(key, value)| !value.is_null() && !UNTOLD.contains(&key.as_str()));
            let (long, short): (Vec<_>, Vec<_>) = told.partition(|(_, value)| one_line(value).is_none());
            match short.as_slice() {
                [] => {}
                // A sentence needs no name.
                [(_, Value::String(text))] if long.is_empty() => line(text),
                short => {
                    let pairs = short.iter().filter_map(|(key, value)| Some(format!("{key}: {}", one_line(value)?)));
                    line(&pairs.collect::<Vec<_>>().join(", "));
                }
            }
            for (key, value) in long {
                lines.push(format!("{}{key}:", "  ".repeat(depth)));
                outline(value, depth + 1, lines);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| outline(item, depth, lines)),
        Value::String(text) => text.lines().for_each(line),
        Value::Null | Value::Bool(_) | Value::Number(_) => line(&value.to_string()),
    }
}

/// The value, if it is a word or a sentence and not a structure.
fn one_line(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => (!text.contains('\n')).then(|| text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Writes control characters, zero-width characters and those that change the direction of text as `\u{…}`: shown as
/// they are, they could make a call look like another one.
pub fn escape_invisible(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut escaped, c| {
        if is_misleading(c) {
            let _ = write!(escaped, "\\u{{{:04x}}}", u32::from(c));
        } else {
            escaped.push(c);
        }
        escaped
    })
}

fn is_misleading(c: char) -> bool {
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
    fn secrets_are_redacted_at_any_depth() {
        let args =
            json!({"apiKey": "k", "env": [{"DB_PASSWORD": {"x": 1}}], "path": "a", "n": 1, "access_token": null});
        let shown =
            json!({"apiKey": HIDDEN, "env": [{"DB_PASSWORD": HIDDEN}], "path": "a", "n": 1, "access_token": HIDDEN});
        assert_eq!(redacted_brief(&args), shown);
        assert_eq!(serde_json::from_str::<Value>(&redacted_full(&args).unwrap()).unwrap(), shown);
    }

    #[test]
    fn a_truncated_string_says_so() {
        let long = "é".repeat(BRIEF + 3);
        assert_eq!(
            redacted_brief(&json!([long]))[0],
            format!("{}… (3 more characters are not shown)", "é".repeat(BRIEF))
        );
    }

    #[test]
    fn arguments_for_approval_are_complete_or_an_error() {
        let noise = "./".repeat(2000) + "secret/../keep";
        assert_eq!(redacted_full(&json!(noise)).unwrap(), format!("\"{noise}\""));
        assert!(redacted_full(&json!("x".repeat(FULL - 2))).is_ok());
        // The limit is on what is shown: escaped characters take more room than those that were sent.
        for long in ["x".repeat(FULL - 1), "\u{200b}".repeat(FULL / 8)] {
            let refused = redacted_full(&json!(long)).unwrap_err();
            assert!(refused.kind == Kind::TooLarge && refused.public.contains("smaller calls"), "{refused}");
        }
    }

    #[test]
    fn an_outline_shows_counts_on_a_line_and_a_diff_below_its_name_and_is_cut_in_the_open() {
        let changes = json!([{"path": "d", "what": "removed", "holds": {"files": 2, "paths": ["d/x", "d/y"]}}]);
        let report = json!({"changes": changes, "diff": "--- a/d/x\n-old", "dry_run": true, "api_key": "k", "n": null});
        let shown = "api_key: [hidden]\nchanges:\n  path: d, what: removed\n  holds:\n    files: 2\n    paths:\n      d/x\n      d/y\ndiff:\n  --- a/d/x\n  -old";
        assert_eq!(redacted_outline(&report), shown);
        let sentence = json!({"success": true, "dry_run": true, "message": "Would delete 2 rows\u{202e}"});
        assert_eq!(redacted_outline(&sentence), "Would delete 2 rows\\u{202e}");
        let long = redacted_outline(&json!({ "diff": "x\n".repeat(300) }));
        assert!(long.ends_with("\n… (201 more lines are not shown)"), "{long}");
    }

    #[test]
    fn invisible_and_bidirectional_characters_are_escaped() {
        let shown = redacted_full(&json!({"path": "a\u{202e}b\u{200b}c\u{e0041}\u{7f}"})).unwrap();
        assert!(shown.contains(r"a\u{202e}b\u{200b}c\u{e0041}\u{007f}"), "{shown}");
    }
}
