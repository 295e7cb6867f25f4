//! Arguments as people see them: without secrets, and without characters that hide or reorder the text around them.

use std::borrow::Cow;
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

/// The longest text, in characters, that a message or an audit row repeats of what a caller sent.
const QUOTED: usize = 128;
const RECORDED: usize = 256;

const HIDDEN: &str = "[hidden]";

/// Parameters of URIs that are secrets besides those of [`SECRET`], by their whole name.
const SECRET_PARAMETERS: [&str; 7] = ["key", "sig", "signature", "xamzsignature", "auth", "pwd", "pass"];

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

/// A caller's text in a message: quoted, with what is invisible escaped, and cut.
pub fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        None => format!("{text:?}"),
        Some((at, _)) => format!("{:?}… ({} bytes)", &text[..at], text.len()),
    }
}

/// As much of a caller's text as goes into the audit and the log.
pub fn recorded(text: &str) -> &str {
    text.char_indices().nth(RECORDED).map_or(text, |(at, _)| &text[..at])
}

/// A URI without what it tells of credentials: the user before the host, and parameters whose name says that they are
/// secret.
pub fn redacted_uri(uri: &str) -> Cow<'_, str> {
    let scheme = uri.find("://").filter(|at| !uri[..*at].contains(['/', '?', '#']));
    let start = scheme.map_or(0, |scheme| scheme + 3);
    let end = uri[start..].find(['/', '?', '#']).map_or(uri.len(), |length| start + length);
    let user = uri[start..end].rfind('@').filter(|_| start > 0);
    let parameters = uri.find(['?', '#']).map_or(uri.len(), |at| at + 1);
    if user.is_none() && !uri[parameters..].contains('=') {
        return Cow::Borrowed(uri);
    }
    let mut shown = match user {
        Some(at) => format!("{}{HIDDEN}{}", &uri[..start], &uri[start + at..parameters]),
        None => uri[..parameters].to_owned(),
    };
    for parameter in uri[parameters..].split_inclusive(['&', ';', '#', '?']) {
        match parameter.split_once('=') {
            Some((name, value)) if is_secret(name) || SECRET_PARAMETERS.contains(&bare(name).as_str()) => {
                let separator = value.find(['&', ';', '#', '?']).map_or("", |at| &value[at..]);
                let _ = write!(shown, "{name}={HIDDEN}{separator}");
            }
            // A parameter may be a URI itself.
            Some((name, value)) => {
                let _ = write!(shown, "{name}={}", redacted_uri(value));
            }
            None => shown.push_str(parameter),
        }
    }
    Cow::Owned(shown)
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

/// The same for a text that is JSON, whose value does not change: such characters are only inside of strings.
pub fn escape_invisible_json(json: &str) -> String {
    // Nearly all JSON is, and a report may have megabytes of it.
    if json.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return json.to_owned();
    }
    json.chars().fold(String::with_capacity(json.len()), |mut escaped, c| {
        if is_misleading(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
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

/// Whether a name says that its value is a secret.
pub(crate) fn is_secret(name: &str) -> bool {
    let bare = bare(name);
    SECRET.iter().any(|part| bare.contains(part))
}

/// A name without punctuation and in lower case.
fn bare(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
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
    fn a_callers_text_is_quoted_escaped_and_cut() {
        assert_eq!(quoted("a\n\u{202e}b"), r#""a\n\u{202e}b""#);
        assert_eq!(quoted(&"x".repeat(1000)), format!("\"{}\"… (1000 bytes)", "x".repeat(QUOTED)));
        assert_eq!(recorded(&"é".repeat(1000)).chars().count(), RECORDED);
    }

    #[test]
    fn credentials_in_a_uri_are_hidden_and_the_rest_stays() {
        for (uri, shown) in [
            ("https://ann:canary@host:1/a?b=c", "https://[hidden]@host:1/a?b=c"),
            ("https://canary@host", "https://[hidden]@host"),
            ("https://a@canary@host/x@y", "https://[hidden]@host/x@y"),
            ("https://host/a?x=1&Access_Token=canary&y=2#z", "https://host/a?x=1&Access_Token=[hidden]&y=2#z"),
            ("https://host/a#token=canary", "https://host/a#token=[hidden]"),
            ("db:x?key=canary;sig=canary?pass=canary", "db:x?key=[hidden];sig=[hidden]?pass=[hidden]"),
            ("x?to=http://ann:canary@host&y=2", "x?to=http://[hidden]@host&y=2"),
            ("file:///home/a@b/c", "file:///home/a@b/c"),
            ("mailto:ann@host", "mailto:ann@host"),
            ("db://schema/complete", "db://schema/complete"),
            ("", ""),
        ] {
            assert_eq!(redacted_uri(uri), shown, "{uri}");
        }
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
    fn json_keeps_its_value_without_invisible_and_bidirectional_characters() {
        let value = json!({"a\u{9b}2J": "\u{85}\u{202e}b\u{2066}c\u{e0041}\u{7f}\u{200f}\n\tü"});
        let shown = escape_invisible_json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(shown.chars().all(|c| c == '\n' || c == 'ü' || (' '..='~').contains(&c)), "{shown:?}");
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
    }

    #[test]
    fn invisible_and_bidirectional_characters_are_escaped() {
        let shown = redacted_full(&json!({"path": "a\u{202e}b\u{200b}c\u{e0041}\u{7f}"})).unwrap();
        assert!(shown.contains(r"a\u{202e}b\u{200b}c\u{e0041}\u{007f}"), "{shown}");
    }
}
