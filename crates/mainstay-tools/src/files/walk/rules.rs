//! What a project does not want to be seen: the rules in its `.gitignore` and `.ignore` files.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use mainstay_sandbox::{Dir, Entry, EntryKind};

use super::trail::Trail;

const GIT: &str = ".gitignore";
const PLAIN: &str = ".ignore";

/// A file of rules that is larger than this is not one.
const LARGEST: u64 = 1024 * 1024;

/// The rules that hold in a directory: its own before those of the directories above it, and any `.ignore` before any
/// `.gitignore`.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    above: Option<Arc<Rules>>,
    plain: Option<Gitignore>,
    git: Option<Gitignore>,
}

impl Rules {
    /// The rules of all directories between the root and this one, without its own.
    pub(crate) fn above(directory: &Dir) -> Arc<Self> {
        let mut rules = Arc::new(Self::default());
        let Some((_, names)) = directory.names().split_last() else { return rules };
        let Some(mut here) = root_of(directory) else { return rules };
        for name in names.iter().map(Some).chain([None]) {
            rules = rules.with(&here, |_| true);
            let Some(name) = name else { break };
            // Gone or exchanged a moment ago: what is below it no longer follows its rules.
            let Ok(next) = here.child(name) else { break };
            here = next;
        }
        rules
    }

    /// These rules and those of a directory further down, whose entries are known.
    pub(crate) fn within(self: &Arc<Self>, directory: &Dir, entries: &[Entry]) -> Arc<Self> {
        let has = |wanted: &str| entries.iter().any(|entry| entry.kind == EntryKind::File && entry.name == wanted);
        self.with(directory, has)
    }

    fn with(self: &Arc<Self>, directory: &Dir, has: impl Fn(&str) -> bool) -> Arc<Self> {
        let read = |name: &str| if has(name) { rules_in(directory, name) } else { None };
        let (plain, git) = (read(PLAIN), read(GIT));
        if plain.is_none() && git.is_none() {
            return self.clone();
        }
        Arc::new(Self { above: Some(self.clone()), plain, git })
    }

    /// Whether a path, told from the root, is not to be seen.
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

fn root_of(directory: &Dir) -> Option<Dir> {
    let workspace = directory.workspace();
    let primary = workspace.roots().first().is_some_and(|first| Arc::ptr_eq(first, directory.root()));
    let path = if primary { Some(".") } else { directory.root().path().to_str() };
    workspace.find(path?).ok()?.open_dir().ok()
}

/// What is wrong with a line makes that line void, not the file.
fn rules_in(directory: &Dir, name: &str) -> Option<Gitignore> {
    let bytes = directory.file(OsStr::new(name)).ok()?.read_whole(LARGEST).ok()??;
    let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes));
    let mut builder = GitignoreBuilder::new(Trail::new(directory).directory());
    for line in text.lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::sample::Sample;

    fn rules(sample: &Sample, path: &str) -> Arc<Rules> {
        let directory = sample.desk().workspace.find(path).unwrap().open_dir().unwrap();
        Rules::above(&directory).within(&directory, &directory.entries().unwrap())
    }

    #[test]
    fn the_nearest_rule_and_then_the_last_one_decides() {
        let sample = Sample::with(&[(".gitignore", "*.log\n!keep.log\n"), ("sub/.gitignore", "!*.log\nlast.log\n")]);
        let top = rules(&sample, ".");
        assert!(top.ignore("a.log".as_ref(), false) && !top.ignore("keep.log".as_ref(), false));
        let sub = rules(&sample, "sub");
        assert!(!sub.ignore("sub/a.log".as_ref(), false) && sub.ignore("sub/last.log".as_ref(), false));
    }

    #[test]
    fn an_anchored_rule_holds_in_its_own_directory_alone() {
        let sample = Sample::with(&[("sub/.gitignore", "/build\nout/x\n"), ("sub/deep/f", "")]);
        let rules = rules(&sample, "sub/deep");
        for (path, ignored) in
            [("sub/build", true), ("sub/deep/build", false), ("sub/out/x", true), ("sub/deep/out/x", false)]
        {
            assert_eq!(rules.ignore(path.as_ref(), true), ignored, "{path}");
        }
    }

    #[test]
    fn a_rule_for_directories_spares_files() {
        let rules = rules(&Sample::with(&[(".gitignore", "target/\r\n\\#odd\n[\n")]), ".");
        assert!(rules.ignore("a/target".as_ref(), true) && !rules.ignore("a/target".as_ref(), false));
        assert!(rules.ignore("#odd".as_ref(), false));
    }

    #[test]
    fn an_ignore_file_overrules_a_gitignore_file() {
        let rules = rules(&Sample::with(&[("a/.gitignore", "x\n"), (".ignore", "!x\n"), ("a/b/f", "")]), "a/b");
        assert!(!rules.ignore("a/b/x".as_ref(), false));
    }

    #[test]
    fn rules_hold_in_a_root_beside_the_workspace_too() {
        let (first, second) =
            (Sample::with(&[(".gitignore", "x\n")]), Sample::with(&[(".gitignore", "y\n"), ("a/f", "")]));
        let root = mainstay_sandbox::RootSettings { path: second.path().to_owned(), read_only: false };
        let settings = mainstay_sandbox::FilesSettings { roots: vec![root], ..Default::default() };
        let workspace = mainstay_sandbox::Workspace::open(first.path(), &settings).unwrap();
        let below = workspace.find(second.path().join("a").to_str().unwrap()).unwrap().open_dir().unwrap();
        let rules = Rules::above(&below);
        assert!(rules.ignore("a/y".as_ref(), false) && !rules.ignore("a/x".as_ref(), false));
    }
}
