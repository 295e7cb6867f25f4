//! Protected names: keys, secrets, version control data, and settings that make programs run code.
//!
//! A name is protected wherever it appears in a path, for files and directories alike. The guard works on names only;
//! `workspace::resolve` asks it for every name it opens, and the sandbox hides the same names from commands.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

/// The names that are protected by default. A `*` matches any bytes.
pub const PROTECTED: &[&str] = &[
    ".git",
    ".hg",
    ".svn",
    ".env",
    ".env.*",
    ".envrc",
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    "credentials",
    ".htpasswd",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "*.pem",
    "*.key",
    "*.cert",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
];

/// Templates without secrets, although their names match a pattern.
const HARMLESS: &[&str] = &[".env.example", ".env.sample", ".env.template", ".env.dist", ".env.test"];

/// Which names are protected. A name is compared in a normal form that covers every spelling under which some file
/// system would find the same file.
#[derive(Debug, Clone)]
pub struct Guard {
    patterns: Vec<Vec<u8>>,
    /// Those the operator has added: the exceptions for templates do not apply to them.
    added: Vec<Vec<u8>>,
}

impl Guard {
    /// The default names and `more`, without those in `fewer`.
    pub fn new(more: &[String], fewer: &[String]) -> Self {
        let fewer: Vec<Vec<u8>> = fewer.iter().map(|name| normalize(name.as_bytes())).collect();
        let Self { patterns: added, .. } = Self::only(more);
        let defaults = PROTECTED.iter().map(|name| normalize(name.as_bytes()));
        let patterns = defaults.chain(added.clone()).filter(|pattern| !fewer.contains(pattern)).collect();
        Self { patterns, added }
    }

    /// These names and no others.
    pub(crate) fn only(names: &[String]) -> Self {
        let patterns: Vec<Vec<u8>> = names.iter().map(|name| normalize(name.as_bytes())).collect();
        Self { added: patterns.clone(), patterns }
    }

    /// Whether no name at all is protected.
    #[cfg(all(target_os = "linux", not(mainstay_unsupported)))]
    pub(crate) fn is_empty(&self) -> bool {
        self.patterns.is_empty() && self.added.is_empty()
    }

    /// The names, and the patterns of names, that are protected.
    pub fn names(&self) -> Vec<String> {
        self.patterns.iter().map(|pattern| String::from_utf8_lossy(pattern).into_owned()).collect()
    }

    /// Whether a single name of a directory entry is protected.
    pub fn protects(&self, name: &OsStr) -> bool {
        let name = normalize(name.as_bytes());
        if self.added.iter().any(|pattern| fits(pattern, &name)) {
            return true;
        }
        if HARMLESS.iter().any(|harmless| harmless.as_bytes() == name) {
            return false;
        }
        self.patterns.iter().any(|pattern| fits(pattern, &name))
            // The 8.3 short names that Windows file systems give to long names.
            || (name.starts_with(b"git~") && self.patterns.iter().any(|pattern| pattern == b".git"))
    }
}

/// The normal form of a name: lower case, without what file systems ignore. HFS+ ignores some code points of no width,
/// NTFS trailing dots and spaces and what follows a colon.
pub(crate) fn normalize(name: &[u8]) -> Vec<u8> {
    let mut out = if name.is_ascii() {
        name.to_ascii_lowercase()
    } else {
        let text = String::from_utf8_lossy(name);
        let normalized = text.chars().filter(|c| !ignored(*c)).map(fold).flat_map(char::to_lowercase);
        normalized.collect::<String>().into_bytes()
    };
    if let Some(colon) = out.iter().position(|byte| *byte == b':').filter(|at| *at > 0) {
        out.truncate(colon);
    }
    while out.len() > 1 && matches!(out.last(), Some(b'.' | b' ')) {
        out.pop();
    }
    out
}

/// Code points without width or with a direction only, which HFS+ ignores in names.
fn ignored(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}' | '\u{fe00}'..='\u{fe0f}')
}

/// Letters that fold to ASCII ones besides their upper case: the long s, the Kelvin sign, the full-width forms.
fn fold(c: char) -> char {
    match c {
        'ſ' => 's',
        '\u{212a}' => 'k',
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        other => other,
    }
}

/// Matches a pattern. Nearly all patterns are a plain name or a suffix, and nearly all names match none: those cases are
/// decided without recursion, because this runs for every name of every listing.
pub(crate) fn fits(pattern: &[u8], name: &[u8]) -> bool {
    match pattern {
        [b'*', rest @ ..] if !rest.contains(&b'*') => name.ends_with(rest),
        [first, ..] if *first != b'*' && name.first() != Some(first) => false,
        _ => matches(pattern, name),
    }
}

/// `*` stands for any run of bytes; everything else for itself.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) => (0..=name.len()).any(|skipped| matches(rest, &name[skipped..])),
        Some((first, rest)) => name.split_first().is_some_and(|(head, tail)| head == first && matches(rest, tail)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_protected_in_every_form_some_file_system_knows() {
        let guard = Guard::new(&[], &[]);
        for name in [
            ".git",
            ".GIT",
            ".Git",
            ".git.",
            ".git ",
            ".git. .",
            ".g\u{200c}it",
            "git~1",
            "GIT~2",
            ".git::$INDEX_ALLOCATION",
            "．git",
            ".ENV",
            ".env.local",
            ".Env.Production",
            "server.KEY",
            "a.pem",
            "server.cert",
            "Credentials",
            ".ssh",
            ".\u{17f}sh",
            "id_rsa",
        ] {
            assert!(guard.protects(OsStr::new(name)), "{name:?}");
        }
    }

    #[test]
    fn ordinary_names_are_not() {
        let guard = Guard::new(&[], &[]);
        for name in [
            ".gitignore",
            ".github",
            "git",
            ".environment",
            "env",
            "monkey",
            "key.rs",
            ".env.example",
            "pem",
            "credentials.rs",
            "...",
        ] {
            assert!(!guard.protects(OsStr::new(name)), "{name:?}");
        }
    }

    #[test]
    fn the_operator_adds_and_takes_away() {
        let guard = Guard::new(&["*.Secret".into(), ".env.test".into()], &[".GIT".into()]);
        assert!(guard.protects(OsStr::new("a.secret")) && guard.protects(OsStr::new(".env.test")));
        assert!(!guard.protects(OsStr::new(".git")) && !guard.protects(OsStr::new("git~1")));
    }
}
