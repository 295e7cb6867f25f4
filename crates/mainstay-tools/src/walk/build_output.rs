//! Directories that package managers and build tools fill: nobody's source code, and usually far more of it.

use mainstay_sandbox::{Entry, EntryKind};

/// Names that only such directories have, wherever they are.
const ALWAYS: &[&str] =
    &["node_modules", "bower_components", "__pycache__", ".venv", ".tox", ".nox", ".gradle", ".terraform", ".yarn"];

/// Names that are also used for sources, and the files beside them that say they are not.
const BESIDE: &[(&str, &[&str])] = &[
    ("target", &["Cargo.toml", "pom.xml", "build.sbt"]),
    ("build", &["build.gradle", "build.gradle.kts", "setup.py", "pyproject.toml"]),
    ("dist", &["package.json", "setup.py", "pyproject.toml"]),
    ("vendor", &["go.mod", "composer.json", "Gemfile"]),
    ("venv", &["pyproject.toml", "requirements.txt", "setup.py"]),
    ("env", &["requirements.txt", "setup.py"]),
    ("obj", &["packages.config"]),
];

/// What the files of a directory say about the directories beside them.
pub(super) struct BuildDirectory {
    /// Names that are build output here.
    here: Vec<&'static str>,
}

impl BuildDirectory {
    pub(super) fn of(entries: &[Entry]) -> Self {
        let has = |wanted: &&str| entries.iter().any(|entry| entry.kind == EntryKind::File && entry.name == *wanted);
        // Looking for the marks is only worth it where there is something for them to mark.
        let is_there = |name: &str| entries.iter().any(|e| e.kind == EntryKind::Directory && e.name == name);
        let beside = BESIDE.iter().filter(|(name, marks)| is_there(name) && marks.iter().any(has));
        Self { here: beside.map(|(name, _)| *name).collect() }
    }

    /// Whether an entry of this directory was made by a program.
    pub(super) fn has_made(&self, entry: &Entry) -> bool {
        entry.kind == EntryKind::Directory && ALWAYS.iter().chain(&self.here).any(|name| entry.name == *name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, kind: EntryKind) -> Entry {
        Entry { name: name.into(), kind, protected: false }
    }

    fn made(directory: &str, files: &[&str]) -> bool {
        let mut entries: Vec<_> = files.iter().map(|name| entry(name, EntryKind::File)).collect();
        entries.push(entry(directory, EntryKind::Directory));
        BuildDirectory::of(&entries).has_made(entries.last().unwrap())
    }

    #[test]
    fn the_output_of_package_managers_is_known_by_its_name() {
        assert!(made("node_modules", &[]) && made("__pycache__", &[]));
        assert!(!made("modules", &[]) && !BuildDirectory::of(&[]).has_made(&entry("node_modules", EntryKind::File)));
    }

    #[test]
    fn an_ordinary_name_is_build_output_only_beside_a_project_file() {
        assert!(made("target", &["Cargo.toml"]) && made("target", &["pom.xml", "a"]));
        assert!(!made("target", &["main.c"]) && !made("target", &["package.json"]));
        assert!(made("vendor", &["go.mod"]) && !made("vendor", &[]));
    }
}
