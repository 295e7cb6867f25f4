//! The source code that is measured. `cargo xtask bench` puts it under `target/bench-data/analysis`, from the package
//! registries.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// A directory with source files of one language and nothing else.
pub(crate) struct Tree {
    pub(crate) language: Language,
    pub(crate) root: PathBuf,
    pub(crate) files: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Python,
    Rust,
}

impl Language {
    /// The name of its directory, and the one that lizard and Mainstay know it by.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Rust => "rust",
        }
    }
}

impl Tree {
    pub(crate) fn all(directory: &Path) -> Result<Vec<Self>> {
        [Language::Python, Language::Rust].into_iter().map(|language| Self::open(directory, language)).collect()
    }

    fn open(directory: &Path, language: Language) -> Result<Self> {
        let root = directory.join(language.name());
        let root = root
            .canonicalize()
            .with_context(|| format!("there is no {}: `cargo xtask bench analysis` makes it", root.display()))?;
        let files = read_all(&root)?;
        ensure!(files > 0, "{} is empty", root.display());
        Ok(Self { language, root, files })
    }
}

/// Reads every file once, so that nobody who comes first has to wait for the disk, and counts them.
fn read_all(root: &Path) -> Result<usize> {
    let mut files = 0;
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                directories.push(entry.path());
            } else {
                fs::read(entry.path())?;
                files += 1;
            }
        }
    }
    Ok(files)
}
