//! Which paths are meant: globs as in `.gitignore`, with `!` for those that are not.

use std::ffi::OsStr;
use std::path::Path;

use ignore::overrides::{Override, OverrideBuilder};
use mainstay_core::{Error, Result};

/// As many as anybody writes.
const MOST: usize = 100;

#[derive(Debug)]
pub(crate) struct Globs {
    set: Override,
    /// The plain names each glob begins with: nothing can match anywhere else. Empty if that is not known of all.
    beginnings: Vec<Vec<String>>,
}

impl Globs {
    /// `field` is the argument they came in.
    pub(crate) fn new(globs: &[String], field: &str) -> Result<Self> {
        if globs.len() > MOST {
            return Err(Error::field(field, format!("{} globs are too many; {MOST} are allowed.", globs.len())));
        }
        let mut builder = OverrideBuilder::new("");
        for glob in globs {
            let plain = glob.strip_prefix("./").unwrap_or(glob);
            if plain.trim().is_empty() {
                return Err(Error::field(field, "A glob is empty; `**` matches every path."));
            }
            builder.add(plain).map_err(|error| Error::field(field, format!("{glob:?} is not a glob: {error}.")))?;
        }
        let set = builder.build().map_err(|error| Error::field(field, format!("The globs are too large: {error}.")))?;
        Ok(Self { set, beginnings: beginnings(globs) })
    }

    /// Whether a path, told from where the walk starts, is meant.
    pub(crate) fn mean(&self, path: &Path, is_directory: bool) -> bool {
        let verdict = self.set.matched(path, is_directory);
        if self.set.num_whitelists() > 0 { verdict.is_whitelist() } else { !verdict.is_ignore() }
    }

    /// Whether something in this directory can be meant.
    pub(crate) fn lead_into(&self, path: &Path) -> bool {
        if self.set.matched(path, true).is_ignore() {
            return false;
        }
        let fits = |names: &Vec<String>| path.iter().zip(names).all(|(name, wanted)| name == OsStr::new(wanted));
        self.beginnings.is_empty() || self.beginnings.iter().any(fits)
    }
}

/// A glob without a slash can match at any depth; so can one whose first name is not plain.
fn beginnings(globs: &[String]) -> Vec<Vec<String>> {
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
    use crate::files::sample::field;

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
        for (glob, path, meant) in cases {
            assert_eq!(globs(&[glob]).mean(path.as_ref(), false), meant, "{glob} {path}");
        }
    }

    #[test]
    fn a_glob_with_a_mark_takes_away() {
        let both = globs(&["*.rs", "!gen*.rs"]);
        assert!(both.mean("a.rs".as_ref(), false) && !both.mean("x/gen_a.rs".as_ref(), false));
        let alone = globs(&["!vendor"]);
        assert!(alone.mean("a".as_ref(), false) && !alone.lead_into("x/vendor".as_ref()));
    }

    #[test]
    fn directories_that_cannot_hold_a_match_are_left_out() {
        let both = globs(&["src/a/*.rs", "tests/**"]);
        for (path, leads) in [("src", true), ("src/a", true), ("src/b", false), ("tests/x/y", true), ("docs", false)] {
            assert_eq!(both.lead_into(path.as_ref()), leads, "{path}");
        }
        assert!(globs(&["src/*.rs", "*.md"]).lead_into("docs".as_ref()));
        assert!(globs(&["{src,docs}/*.md"]).lead_into("docs".as_ref()));
    }

    #[test]
    fn a_glob_that_is_none_is_refused_with_the_reason() {
        for glob in ["[a", "{a", ""] {
            let error = Globs::new(&[glob.to_owned()], "pattern").unwrap_err();
            assert_eq!(field(&error), "pattern", "{glob}");
        }
    }
}
