//! Queries with what answers them, read from files that are given to the run.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::bench_support::servers::{command, tool};

/// Where the queries about repositories are below the directory of `--queries`.
const REPOSITORIES: &str = "search-dev";
const FUNCTIONS: &str = "docstring-bench";

/// Queries about the files of one repository.
#[derive(Deserialize)]
pub(crate) struct RepositoryQueries {
    /// Also the name of its checkout; taken from the name of the file.
    #[serde(skip)]
    pub(crate) name: String,
    /// The directory of the checkout that is indexed; paths in answers begin above it.
    pub(crate) root: String,
    pub(crate) queries: Vec<FileQuery>,
}

#[derive(Deserialize)]
pub(crate) struct FileQuery {
    pub(crate) query: String,
    relevant: Vec<File>,
    #[serde(default)]
    secondary: Vec<File>,
    pub(crate) category: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum File {
    Path(String),
    Span { path: String },
}

impl FileQuery {
    /// Both the relevant files and the secondary ones.
    pub(crate) fn answers(&self) -> Vec<&str> {
        let path = |file| match file {
            &File::Path(ref path) | &File::Span { ref path } => path.trim_start_matches("./"),
        };
        self.relevant.iter().chain(&self.secondary).map(path).collect()
    }
}

/// Functions, and sentences each of which describes one of them.
#[derive(Deserialize)]
pub(crate) struct FunctionQueries {
    #[serde(skip)]
    pub(crate) name: String,
    pub(crate) docs: Vec<Function>,
    pub(crate) queries: Vec<FunctionQuery>,
}

#[derive(Deserialize)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) code: String,
}

#[derive(Deserialize)]
pub(crate) struct FunctionQuery {
    pub(crate) query: String,
    /// The place of its function in the list.
    #[serde(rename = "qid")]
    pub(crate) function: usize,
    pub(crate) lang: String,
}

/// The queries about repositories, in the order of their names.
pub(crate) async fn of_repositories(directory: &Path) -> Result<Vec<RepositoryQueries>> {
    let mut all = Vec::new();
    for (name, file) in files(&directory.join(REPOSITORIES), "")? {
        all.push(RepositoryQueries { name, ..read(&file).await? });
    }
    Ok(all)
}

/// The queries about functions, in the order of their names.
pub(crate) async fn of_functions(directory: &Path) -> Result<Vec<FunctionQueries>> {
    let mut all = Vec::new();
    for (name, file) in files(directory, FUNCTIONS)? {
        all.push(FunctionQueries { name, ..read(&file).await? });
    }
    Ok(all)
}

/// The JSON files of a directory, packed or not, whose names begin with `prefix`; none if there is no such directory.
fn files(directory: &Path, prefix: &str) -> Result<Vec<(String, PathBuf)>> {
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let stem = name.strip_suffix(".gz").unwrap_or(&name).strip_suffix(".json");
        if let Some(stem) = stem.filter(|stem| stem.starts_with(prefix)) {
            found.push((stem.to_owned(), path.clone()));
        }
    }
    found.sort();
    Ok(found)
}

async fn read<T: DeserializeOwned>(file: &Path) -> Result<T> {
    let content = if file.extension().is_some_and(|extension| extension == "gz") {
        let unpacked = command(&tool("gzip")?).arg("--decompress").arg("--stdout").arg(file).output().await?;
        anyhow::ensure!(unpacked.status.success(), "gzip cannot unpack {}", file.display());
        unpacked.stdout
    } else {
        std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?
    };
    serde_json::from_slice(&content).with_context(|| format!("{} has another shape than expected", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_relevant_and_secondary_files_with_or_without_lines() {
        let text =
            r#"{"query":"q","relevant":["./a.rs"],"secondary":[{"path":"b.rs","start_line":1}],"category":"api"}"#;
        let query: FileQuery = serde_json::from_str(text).unwrap();
        assert_eq!(query.answers(), ["a.rs", "b.rs"]);
    }

    #[test]
    fn files_are_found_by_the_beginning_of_their_name() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["docstring-bench-2.json.gz", "docstring-bench.json", "other.json", "docstring-bench.txt"] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        let names = |prefix| files(directory.path(), prefix).unwrap().into_iter().map(|(name, _)| name);
        assert_eq!(names(FUNCTIONS).collect::<Vec<_>>(), ["docstring-bench", "docstring-bench-2"]);
        assert!(files(&directory.path().join("missing"), "").unwrap().is_empty());
    }
}
