//! Trees of any size made of the source files of packages, the same for the same packages.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, ensure};
use mainstay_search::chunk::{Tags, chunks};
use rayon::prelude::*;

use crate::bench_support::pseudo_random::PseudoRandom;
use crate::search::queries;
use crate::search::rewriting::Vocabulary;
use crate::search::source_files::{self, SourceFile};

/// The chunks of a file that is used: about ten on average.
const CHUNKS: std::ops::RangeInclusive<usize> = 4..=22;
const FILES_OF_A_DIRECTORY: usize = 100;

/// What trees are made of.
pub(crate) struct Templates {
    sources: Vec<SourceFile>,
    vocabulary: Vocabulary,
}

pub(crate) struct GeneratedFile {
    /// Relative to the root of the tree.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Templates {
    pub(crate) fn load(packages: &Path) -> Result<Self> {
        let sources = source_files::of_packages(packages)?;
        let is_used = |source: &SourceFile| {
            let name = format!("file.{}", source.extension);
            let cut = chunks(&name, source.text.as_bytes(), &|| true);
            // Files that a program has written are not indexed.
            cut.is_ok_and(|cut| CHUNKS.contains(&cut.chunks.len()) && !cut.tags.contains(Tags::GENERATED))
        };
        let sources: Vec<SourceFile> = sources.into_par_iter().filter(is_used).collect();
        ensure!(!sources.is_empty(), "no source file in {} has enough definitions", packages.display());
        let vocabulary = Vocabulary::of(&sources);
        Ok(Self { sources, vocabulary })
    }

    pub(crate) fn count(&self) -> usize {
        self.sources.len()
    }

    /// The file of a number. It differs from all others.
    pub(crate) fn file(&self, number: usize) -> GeneratedFile {
        let mut numbers = PseudoRandom::from(number as u64 + 1);
        let source = &self.sources[number % self.sources.len()];
        let directory = number / FILES_OF_A_DIRECTORY;
        let (one, other) = (self.vocabulary.draw(&mut numbers), self.vocabulary.draw(&mut numbers));
        GeneratedFile {
            path: format!("part_{directory:05}/src/{one}_{other}_{number}.{}", source.extension),
            text: self.vocabulary.rewrite(&source.text, numbers.draw()),
        }
    }

    /// Writes the first files. Returns their bytes.
    pub(crate) fn write(&self, root: &Path, files: usize) -> Result<u64> {
        for directory in 0..files.div_ceil(FILES_OF_A_DIRECTORY) {
            fs::create_dir_all(root.join(format!("part_{directory:05}/src")))?;
        }
        let bytes = AtomicU64::new(0);
        (0..files).into_par_iter().try_for_each(|number| {
            let file = self.file(number);
            bytes.fetch_add(file.text.len() as u64, Ordering::Relaxed);
            fs::write(root.join(&file.path), file.text).with_context(|| format!("cannot write {}", file.path))
        })?;
        Ok(bytes.into_inner())
    }

    /// Queries about the packages, which differ from what is in a tree as a user's words do from the code.
    pub(crate) fn queries(&self, count: usize) -> Vec<String> {
        queries::from_sources(self.sources.iter().map(|source| source.text.as_str()), count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_the_same_in_every_run_and_its_files_differ() {
        let scratch = tempfile::tempdir().unwrap();
        let package = scratch.path().join("package/src");
        fs::create_dir_all(&package).unwrap();
        let function = |number| {
            format!(
                "/// Reads the configuration of a connection.\npub fn read_configuration_{number}() -> Option<String> {{\n    let buffered_connection = connection_of({number})?;\n    let configuration = buffered_connection.configuration();\n    for setting in configuration.settings() {{\n        setting.apply_to(&buffered_connection);\n        observe(setting, configuration.name());\n    }}\n    Some(configuration.into_string())\n}}\n\n"
            )
        };
        let text: String = (0..8).map(function).collect();
        fs::write(scratch.path().join("package/Cargo.toml"), "").unwrap();
        fs::write(package.join("lib.rs"), text).unwrap();
        let templates = Templates::load(scratch.path()).unwrap();
        let root = scratch.path().join("tree");
        let bytes = templates.write(&root, 120).unwrap();
        assert!(bytes > 100_000);
        let texts: std::collections::BTreeSet<String> = (0..120).map(|number| templates.file(number).text).collect();
        assert!(texts.len() > 100, "{} texts", texts.len());
        let file = templates.file(117);
        assert_eq!(fs::read_to_string(root.join(file.path)).unwrap(), file.text);
    }
}
