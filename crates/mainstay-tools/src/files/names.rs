//! How paths are written in diffs, and read from them.

use std::fmt::Write as _;

/// A path as git writes it: in quotes if something in it would be misread.
pub(super) fn quoted(prefix: &str, path: &str) -> String {
    if !path.chars().any(|c| c.is_ascii_control() || c == '"' || c == '\\') {
        return format!("{prefix}{path}");
    }
    let mut out = format!("\"{prefix}");
    for c in path.chars() {
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

/// A tab says where a name with spaces ends.
pub(super) fn ended(path: String) -> String {
    if path.contains(' ') && !path.starts_with('"') { path + "\t" } else { path }
}

/// A name: in quotes, or up to a tab.
pub(super) fn name_in(text: &str) -> Option<String> {
    if text.starts_with('"') {
        return unquoted(text).map(|(name, _)| name);
    }
    let name = text.split('\t').next().unwrap_or(text).trim_end();
    Some(name.to_owned()).filter(|name| !name.is_empty())
}

/// The two names of a `diff --git` line. Without quotes they can only be told apart if they are the same.
pub(super) fn both_names(text: &str) -> Option<(String, String)> {
    if text.starts_with('"') {
        let (old, rest) = unquoted(text)?;
        return Some((old, name_in(rest.trim_start())?));
    }
    if text.ends_with('"') {
        let (old, new) = text.split_once(" \"")?;
        return Some((old.to_owned(), unquoted(&format!("\"{new}"))?.0));
    }
    let middle = text.len() / 2;
    let split = text.get(..middle).zip(text.get(middle + 1..)).filter(|_| text.as_bytes().get(middle) == Some(&b' '));
    let same = split.filter(|(old, new)| without(old, 1) == without(new, 1));
    same.or_else(|| text.split_once(' ')).map(|(old, new)| (old.to_owned(), new.to_owned()))
}

fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut bytes = Vec::new();
    let mut rest = text.strip_prefix('"')?.char_indices();
    while let Some((at, c)) = rest.next() {
        match c {
            '"' => return Some((String::from_utf8(bytes).ok()?, &text[at + 2..])),
            '\\' => match rest.next()?.1 {
                'n' => bytes.push(b'\n'),
                't' => bytes.push(b'\t'),
                'r' => bytes.push(b'\r'),
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

/// A path without its first names.
pub(super) fn without(name: &str, names: usize) -> String {
    let mut rest = name;
    for _ in 0..names {
        rest = rest.split_once('/').map_or(rest, |(_, rest)| rest);
    }
    rest.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for path in ["x", "with space", "ü", "a\"b", "back\\slash", "tab\tand\nline\r\u{1}", "//absolute"] {
            let written = ended(quoted("a/", path));
            assert_eq!(name_in(&written), Some(format!("a/{path}")), "{written}");
            let both = format!("{} {}", quoted("a/", path), quoted("b/", path));
            assert_eq!(both_names(&both), Some((format!("a/{path}"), format!("b/{path}"))), "{both}");
        }
        let both = format!("{} {}", quoted("a/", "x y"), quoted("b/", "a\"b"));
        assert_eq!(both_names(&both), Some(("a/x y".to_owned(), "b/a\"b".to_owned())));
    }

    #[test]
    fn a_time_after_a_tab_is_not_part_of_a_name() {
        assert_eq!(name_in("src/x\t2020-01-01 00:00:00"), Some("src/x".to_owned()));
        assert_eq!(name_in(""), None);
    }
}
