//! Whether a walk would come to one entry, for whoever learns of an entry without walking.

use std::ffi::OsStr;

use mainstay_sandbox::Dir;

use super::build_output::BuildDirectory;
use super::ignore_rules::IgnoreRules;
use super::visitor::PathBuffer;

/// Whether a walk of sources that has come to a directory visits the file with this name in it.
pub(crate) fn visits_file(directory: &Dir, name: &OsStr) -> bool {
    let rules = IgnoreRules::of_ancestors(directory).with_own(directory);
    rules.is_empty() || !rules.ignore(PathBuffer::new(directory).join(name), false)
}

/// Whether it enters the directory with this name.
pub(crate) fn enters_directory(parent: &Dir, name: &OsStr) -> bool {
    // Whether a directory is build output depends on the files beside it.
    let Ok(entries) = parent.entries() else { return false };
    let rules = IgnoreRules::of_ancestors(parent).extended_by(parent, &entries);
    let Some(entry) = entries.iter().find(|entry| entry.name == name) else { return false };
    !entry.protected
        && name != ".git"
        && !BuildDirectory::of(&entries).has_made(entry)
        && (rules.is_empty() || !rules.ignore(PathBuffer::new(parent).join(name), true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::SampleWorkspace;

    #[test]
    fn what_a_walk_leaves_out_is_not_selected() {
        let sample = SampleWorkspace::with(&[
            (".gitignore", "*.log\nout/\n"),
            ("Cargo.toml", ""),
            ("target/x", ""),
            ("out/x", ""),
            ("src/.gitignore", "made.rs\n"),
            ("src/deep/x", ""),
            (".git/HEAD", ""),
        ]);
        let open = |path: &str| sample.workspace().find(path).unwrap().open_dir().unwrap();
        let (top, src) = (open("."), open("src"));
        assert!(visits_file(&top, "a.rs".as_ref()) && !visits_file(&top, "a.log".as_ref()));
        assert!(!visits_file(&src, "made.rs".as_ref()) && !visits_file(&src, "a.log".as_ref()));
        assert!(visits_file(&src, "main.rs".as_ref()));
        for (name, enters) in [("src", true), ("target", false), ("out", false), (".git", false), ("absent", false)] {
            assert_eq!(enters_directory(&top, name.as_ref()), enters, "{name}");
        }
        assert!(enters_directory(&src, "deep".as_ref()));
    }
}
