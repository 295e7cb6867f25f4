//! What a project ignores: the rules in its `.gitignore` and `.ignore` files, read through handles of the sandbox.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use mainstay_sandbox::{Dir, Entry, EntryKind};

use super::visitor::PathBuffer;

const GITIGNORE: &str = ".gitignore";
const IGNORE: &str = ".ignore";

/// A larger file is not read as a file of rules.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// The rules that apply in a directory. Its own rules win over those of the directories above it, and any `.ignore` wins
/// over any `.gitignore`, as in ripgrep.
#[derive(Debug, Default)]
pub(crate) struct IgnoreRules {
    /// Shared by all directories below: most have no rules of their own.
    above: Option<Arc<IgnoreRules>>,
    plain: Option<Gitignore>,
    git: Option<Gitignore>,
}

impl IgnoreRules {
    /// The rules of all directories between the root and this one, without its own.
    pub(crate) fn of_ancestors(directory: &Dir) -> Arc<Self> {
        let mut rules = Arc::new(Self::default());
        let Some((_, names)) = directory.names().split_last() else { return rules };
        let Some(mut here) = root_of(directory) else { return rules };
        for name in names.iter().map(Some).chain([None]) {
            rules = rules.with(&here, |_| true);
            let Some(name) = name else { break };
            // Removed or replaced a moment ago: its rules do not apply any more.
            let Ok(next) = here.child(name) else { break };
            here = next;
        }
        rules
    }

    /// These rules with those of a directory further down, whose entries are known.
    pub(crate) fn extended_by(self: &Arc<Self>, directory: &Dir, entries: &[Entry]) -> Arc<Self> {
        let has = |wanted: &str| entries.iter().any(|entry| entry.kind == EntryKind::File && entry.name == wanted);
        self.with(directory, has)
    }

    /// The same without knowing its entries.
    pub(crate) fn with_own(self: &Arc<Self>, directory: &Dir) -> Arc<Self> {
        self.with(directory, |_| true)
    }

    /// Adds the rules of a directory; `has` says whether it has a file, to save opening one that is not there.
    fn with(self: &Arc<Self>, directory: &Dir, has: impl Fn(&str) -> bool) -> Arc<Self> {
        let read = |name: &str| if has(name) { parse_rules(directory, name) } else { None };
        let (plain, git) = (read(IGNORE), read(GITIGNORE));
        if plain.is_none() && git.is_none() {
            return self.clone();
        }
        Arc::new(Self { above: Some(self.clone()), plain, git })
    }

    /// Whether a path, relative to the root, is ignored.
    pub(crate) fn ignore(&self, path: &Path, is_directory: bool) -> bool {
        let verdict = |pick: fn(&Self) -> Option<&Gitignore>| {
            let chain = std::iter::successors(Some(self), |rules| rules.above.as_deref());
            chain.filter_map(pick).find_map(|rules| match rules.matched(path, is_directory) {
                Match::None => None,
                Match::Ignore(_) => Some(true),
                Match::Whitelist(_) => Some(false),
            })
        };
        verdict(|rules| rules.plain.as_ref()).or_else(|| verdict(|rules| rules.git.as_ref())).unwrap_or(false)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.above.is_none() && self.plain.is_none() && self.git.is_none()
    }
}

/// The root that a directory lies in, opened as a directory.
fn root_of(directory: &Dir) -> Option<Dir> {
    let workspace = directory.workspace();
    let primary = workspace.roots().first().is_some_and(|first| Arc::ptr_eq(first, directory.root()));
    let path = if primary { Some(".") } else { directory.root().path().to_str() };
    workspace.find(path?).ok()?.open_dir().ok()
}

/// An invalid line is skipped; the others still apply.
fn parse_rules(directory: &Dir, name: &str) -> Option<Gitignore> {
    let bytes = directory.file(OsStr::new(name)).ok()?.read_whole(MAX_FILE_BYTES).ok()??;
    let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes));
    let mut builder = GitignoreBuilder::new(PathBuffer::new(directory).directory());
    for line in text.lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::SampleWorkspace;

    fn rules(sample: &SampleWorkspace, path: &str) -> Arc<IgnoreRules> {
        let directory = sample.workspace().find(path).unwrap().open_dir().unwrap();
        IgnoreRules::of_ancestors(&directory).extended_by(&directory, &directory.entries().unwrap())
    }

    #[test]
    fn the_nearest_rule_and_then_the_last_one_decides() {
        let sample =
            SampleWorkspace::with(&[(".gitignore", "*.log\n!keep.log\n"), ("sub/.gitignore", "!*.log\nlast.log\n")]);
        let top = rules(&sample, ".");
        assert!(top.ignore("a.log".as_ref(), false) && !top.ignore("keep.log".as_ref(), false));
        let sub = rules(&sample, "sub");
        assert!(!sub.ignore("sub/a.log".as_ref(), false) && sub.ignore("sub/last.log".as_ref(), false));
    }

    #[test]
    fn an_anchored_rule_applies_only_in_its_directory() {
        let sample = SampleWorkspace::with(&[("sub/.gitignore", "/build\nout/x\n"), ("sub/deep/f", "")]);
        let rules = rules(&sample, "sub/deep");
        for (path, ignored) in
            [("sub/build", true), ("sub/deep/build", false), ("sub/out/x", true), ("sub/deep/out/x", false)]
        {
            assert_eq!(rules.ignore(path.as_ref(), true), ignored, "{path}");
        }
    }

    #[test]
    fn a_rule_for_directories_does_not_apply_to_files() {
        let rules = rules(&SampleWorkspace::with(&[(".gitignore", "target/\r\n\\#odd\n[\n")]), ".");
        assert!(rules.ignore("a/target".as_ref(), true) && !rules.ignore("a/target".as_ref(), false));
        assert!(rules.ignore("#odd".as_ref(), false));
    }

    #[test]
    fn an_ignore_file_overrules_a_gitignore_file() {
        let rules =
            rules(&SampleWorkspace::with(&[("a/.gitignore", "x\n"), (".ignore", "!x\n"), ("a/b/f", "")]), "a/b");
        assert!(!rules.ignore("a/b/x".as_ref(), false));
    }

    #[test]
    fn rules_apply_in_an_additional_root_too() {
        let (first, second) = (
            SampleWorkspace::with(&[(".gitignore", "x\n")]),
            SampleWorkspace::with(&[(".gitignore", "y\n"), ("a/f", "")]),
        );
        let root = mainstay_sandbox::RootSettings { path: second.path().to_owned(), read_only: false };
        let settings = mainstay_sandbox::FilesSettings { roots: vec![root], ..Default::default() };
        let workspace = mainstay_sandbox::Workspace::open(first.path(), &settings).unwrap();
        let below = workspace.find(second.path().join("a").to_str().unwrap()).unwrap().open_dir().unwrap();
        let rules = IgnoreRules::of_ancestors(&below);
        assert!(rules.ignore("a/y".as_ref(), false) && !rules.ignore("a/x".as_ref(), false));
    }
}
