//! Selecting paths by globs, with the syntax of `.gitignore`; a glob that begins with `!` excludes.

use std::ffi::OsStr;
use std::path::Path;

use ignore::overrides::{Override, OverrideBuilder};
use mainstay_core::{Error, Result};
use mainstay_sandbox::EntryKind;

/// The kind of entries that a walk visits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum EntryFilter {
    #[default]
    File,
    Directory,
    Symlink,
    Any,
}

impl EntryFilter {
    pub(crate) fn accepts(self, kind: EntryKind) -> bool {
        match self {
            Self::File => kind == EntryKind::File,
            Self::Directory => kind == EntryKind::Directory,
            Self::Symlink => kind == EntryKind::Symlink,
            Self::Any => true,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Globs {
    set: Override,
    /// The directories that the globs begin with, without wildcards: nothing outside of them can match. Empty if one of
    /// the globs can match anywhere.
    literal_prefixes: Vec<Vec<String>>,
}

impl Globs {
    /// Compiles the globs. `field` is the argument they were given as, which also limits their number.
    pub(crate) fn new(globs: &[String], field: &str) -> Result<Self> {
        let mut builder = OverrideBuilder::new("");
        for glob in globs {
            let plain = glob.strip_prefix("./").unwrap_or(glob);
            if plain.trim().is_empty() {
                return Err(Error::field(field, "A glob is empty; use `**` to match every path."));
            }
            builder
                .add(plain)
                .map_err(|error| Error::field(field, format!("{glob:?} is not a valid glob: {error}.")))?;
        }
        let set = builder.build().map_err(|error| Error::field(field, format!("The globs are too large: {error}.")))?;
        Ok(Self { set, literal_prefixes: literal_prefixes(globs) })
    }

    /// Whether a path, relative to the start of the walk, is selected.
    pub(crate) fn matches(&self, path: &Path, is_directory: bool) -> bool {
        // With only `!` globs everything is selected that they do not exclude.
        let verdict = self.set.matched(path, is_directory);
        if self.set.num_whitelists() > 0 { verdict.is_whitelist() } else { !verdict.is_ignore() }
    }

    /// Whether something in this directory can be selected. Directories that cannot contain a match are not entered.
    pub(crate) fn may_contain_match(&self, path: &Path) -> bool {
        if self.set.matched(path, true).is_ignore() {
            return false;
        }
        let fits = |names: &Vec<String>| path.iter().zip(names).all(|(name, wanted)| name == OsStr::new(wanted));
        self.literal_prefixes.is_empty() || self.literal_prefixes.iter().any(fits)
    }
}

/// The literal directories at the beginning of each glob. A glob without a slash, or with one only at its end, can match
/// at any depth.
fn literal_prefixes(globs: &[String]) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for glob in globs.iter().filter(|glob| !glob.starts_with('!')) {
        let anchored = glob.trim_start_matches("./");
        let mut names: Vec<&str> = anchored.trim_start_matches('/').split('/').collect();
        if names.pop().is_none_or(str::is_empty) || !anchored.contains('/') {
            return Vec::new();
        }
        let plain = names.into_iter().take_while(|name| !name.contains(['*', '?', '[', ']', '{', '}', '\\', '!', ' ']));
        all.push(plain.map(str::to_owned).collect());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field_of(error: &Error) -> &str {
        error.field_name().unwrap()
    }

    fn globs(all: &[&str]) -> Globs {
        Globs::new(&all.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>(), "glob").unwrap()
    }

    #[test]
    fn a_glob_without_a_slash_matches_at_any_depth_and_one_with_a_slash_from_the_start() {
        let cases = [
            ("*.rs", "a/b/c.rs", true),
            ("/*.rs", "a/c.rs", false),
            ("/*.rs", "c.rs", true),
            ("src/*.rs", "src/c.rs", true),
            ("src/*.rs", "src/a/c.rs", false),
            ("src/**/*.rs", "src/a/b/c.rs", true),
            ("./src/**", "src/a", true),
            ("**/*.{rs,toml}", "Cargo.toml", true),
            ("[ab].txt", "c.txt", false),
        ];
        for (glob, path, matches) in cases {
            assert_eq!(globs(&[glob]).matches(path.as_ref(), false), matches, "{glob} {path}");
        }
    }

    #[test]
    fn a_glob_with_an_exclamation_mark_excludes() {
        let both = globs(&["*.rs", "!gen*.rs"]);
        assert!(both.matches("a.rs".as_ref(), false) && !both.matches("x/gen_a.rs".as_ref(), false));
        let alone = globs(&["!vendor"]);
        assert!(alone.matches("a".as_ref(), false) && !alone.may_contain_match("x/vendor".as_ref()));
    }

    #[test]
    fn directories_that_cannot_contain_a_match_are_not_entered() {
        let both = globs(&["src/a/*.rs", "tests/**"]);
        for (path, may) in [("src", true), ("src/a", true), ("src/b", false), ("tests/x/y", true), ("docs", false)] {
            assert_eq!(both.may_contain_match(path.as_ref()), may, "{path}");
        }
        assert!(globs(&["src/*.rs", "*.md"]).may_contain_match("docs".as_ref()));
        assert!(globs(&["{src,docs}/*.md"]).may_contain_match("docs".as_ref()));
    }

    #[test]
    fn an_invalid_glob_is_rejected_with_the_reason() {
        for glob in ["[a", "{a", ""] {
            let error = Globs::new(&[glob.to_owned()], "pattern").unwrap_err();
            assert_eq!(field_of(&error), "pattern", "{glob}");
        }
    }
}
