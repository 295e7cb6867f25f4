//! Paths in diffs: git quotes those with special characters, as C string literals.

use std::fmt::Write as _;

/// A path as git writes it: in quotes if it contains a control character, a quote or a backslash.
pub(crate) fn quote_path(prefix: &str, path: &str) -> String {
    if !path.chars().any(|c| c.is_ascii_control() || c == '"' || c == '\\') {
        return format!("{prefix}{path}");
    }
    let mut out = format!("\"{prefix}");
    for c in path.chars() {
        // The escapes of git's core.quotePath=false: bytes above ASCII stay as they are.
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_ascii_control() => {
                let _ = write!(out, "\\{:03o}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Ends a path that contains spaces with a tab, as git and `diff -u` do, so that a timestamp could follow.
pub(crate) fn terminate_path(path: String) -> String {
    if path.contains(' ') && !path.starts_with('"') { path + "\t" } else { path }
}

/// The path at the beginning of the text: in quotes, or up to a tab.
pub(crate) fn parse_path(text: &str) -> Option<String> {
    if text.starts_with('"') {
        return unquote(text).map(|(name, _)| name);
    }
    let name = text.split('\t').next().unwrap_or(text).trim_end();
    Some(name.to_owned()).filter(|name| !name.is_empty())
}

/// The two paths of a `diff --git` line. Without quotes nothing separates them but a space, which they may contain:
/// they are split in the middle if both halves are the same path, otherwise at the first space.
pub(crate) fn parse_git_paths(text: &str) -> Option<(String, String)> {
    if text.starts_with('"') {
        let (old, rest) = unquote(text)?;
        return Some((old, parse_path(rest.trim_start())?));
    }
    if text.ends_with('"') {
        let (old, new) = text.split_once(" \"")?;
        return Some((old.to_owned(), unquote(&format!("\"{new}"))?.0));
    }
    let middle = text.len() / 2;
    let split = text.get(..middle).zip(text.get(middle + 1..)).filter(|_| text.as_bytes().get(middle) == Some(&b' '));
    let same = split.filter(|(old, new)| strip_components(old, 1) == strip_components(new, 1));
    same.or_else(|| text.split_once(' ')).map(|(old, new)| (old.to_owned(), new.to_owned()))
}

/// The string literal at the beginning of the text, and what follows it.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut bytes = Vec::new();
    let mut rest = text.strip_prefix('"')?.char_indices();
    while let Some((at, c)) = rest.next() {
        match c {
            '"' => return Some((String::from_utf8(bytes).ok()?, &text[at + 2..])),
            '\\' => match rest.next()?.1 {
                'n' => bytes.push(b'\n'),
                't' => bytes.push(b'\t'),
                'r' => bytes.push(b'\r'),
                // Git writes other bytes as three octal digits.
                digit @ '0'..='3' => {
                    let octal: String = [digit, rest.next()?.1, rest.next()?.1].iter().collect();
                    bytes.push(u8::from_str_radix(&octal, 8).ok()?);
                }
                other => bytes.extend(other.to_string().bytes()),
            },
            other => bytes.extend(other.to_string().bytes()),
        }
    }
    None
}

/// A path without its first components.
pub(crate) fn strip_components(path: &str, count: usize) -> String {
    let mut rest = path;
    for _ in 0..count {
        rest = rest.split_once('/').map_or(rest, |(_, rest)| rest);
    }
    rest.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_paths_are_parsed_back() {
        for path in ["x", "with space", "ü", "a\"b", "back\\slash", "tab\tand\nline\r\u{1}", "//absolute"] {
            let written = terminate_path(quote_path("a/", path));
            assert_eq!(parse_path(&written), Some(format!("a/{path}")), "{written}");
            let both = format!("{} {}", quote_path("a/", path), quote_path("b/", path));
            assert_eq!(parse_git_paths(&both), Some((format!("a/{path}"), format!("b/{path}"))), "{both}");
        }
        let both = format!("{} {}", quote_path("a/", "x y"), quote_path("b/", "a\"b"));
        assert_eq!(parse_git_paths(&both), Some(("a/x y".to_owned(), "b/a\"b".to_owned())));
    }

    #[test]
    fn a_timestamp_after_a_tab_is_not_part_of_the_path() {
        assert_eq!(parse_path("src/x\t2020-01-01 00:00:00"), Some("src/x".to_owned()));
        assert_eq!(parse_path(""), None);
    }
}
