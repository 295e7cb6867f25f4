//! What `mainstay search` and `mainstay index` use: the index of a directory that a person has named, without a server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mainstay_core::{Error, Result};
use mainstay_sandbox::{FilesSettings, Workspace};
use mainstay_search::document::language_number;
use mainstay_search::ranking::{self, Filter, Request};
use serde::Serialize;

use super::embedders::Embedders;
use super::file_contents::FileContents;
use super::matches::Match;
use super::query::search_failure;
use super::settings::SearchSettings;
use super::status::Status;
use super::workspace::RootIndex;
use crate::git::repository_top;
use crate::progress::Progress;

/// A directory that is searched, with its index.
pub struct NamedWorkspace {
    workspace: Workspace,
    index: Arc<RootIndex>,
    settings: SearchSettings,
    /// The directory that was named, from the root of the index; empty if that is the root.
    inside: String,
}

/// What is searched for.
pub struct Query<'a> {
    pub words: &'a str,
    /// Maximum number of matches.
    pub top: usize,
    /// Files and directories, from the directory that was named.
    pub paths: &'a [String],
    pub languages: &'a [String],
    /// Maximum lines of a snippet.
    pub lines: usize,
}

/// A match, for a terminal or a program.
#[derive(Debug, Serialize)]
pub struct SearchMatch {
    pub score: f64,
    /// From the directory that was named.
    pub path: String,
    pub line_start: u32,
    pub line_end: u32,
    /// The name of what was found; empty if it has none.
    pub name: String,
    pub lang: Option<String>,
    pub tags: Vec<String>,
    pub snippet: Option<String>,
}

impl NamedWorkspace {
    /// Opens the index of the repository around a directory, or of the directory itself if it is in none: a server that
    /// serves the repository has the same index. `data` is the data directory.
    pub fn open(path: &Path, files: &FilesSettings, settings: &SearchSettings, data: &Path) -> Result<Self> {
        let named = Workspace::open_read_only(path)?;
        let directory = named.roots()[0].path().to_owned();
        // A home directory may be a repository of settings; nobody means all of it.
        let (top, inside) = match repository_top(&directory) {
            (top, _) if std::env::home_dir().is_some_and(|home| home == top) => (directory, String::new()),
            found => found,
        };
        // `files.roots` and `read_only` are about the workspace of a server. Nothing is written here.
        let files = FilesSettings { read_only: true, roots: Vec::new(), ..files.clone() };
        let workspace = Workspace::open(&top, &files)?.with_closed_dir(data)?;
        // A command ends before a change could be seen.
        let settings = SearchSettings { watch: false, ..settings.clone() };
        let embedders = Embedders::new(&settings)?;
        let index =
            RootIndex::new(&workspace, ".".to_owned(), &top, &data.join("search"), embedders.workspace, &settings);
        Ok(Self { workspace, index: Arc::new(index), settings, inside })
    }

    /// Brings the index up to date; with `rebuild`, makes it anew. Blocks; progress is counted in files.
    pub fn refresh(&self, rebuild: bool, progress: &Progress) -> Result<Status> {
        self.index.refresh(rebuild, progress)?;
        self.index.merge()?;
        self.status()
    }

    /// The index as it is.
    pub fn status(&self) -> Result<Status> {
        Status::of_root(&self.index)
    }

    /// Searches, after the index was brought up to date.
    pub fn search(&self, query: &Query<'_>, progress: &Progress) -> Result<Vec<SearchMatch>> {
        self.check(query)?;
        let snapshot = self.index.up_to_date(progress)?;
        let mut paths: Vec<String> = query.paths.iter().map(|path| self.path_in_root(path)).collect();
        if paths.is_empty() && !self.inside.is_empty() {
            paths.push(self.inside.clone());
        }
        let filter = Filter { paths, languages: query.languages.to_vec(), ..Filter::default() };
        let request = Request { query: query.words, filter, top_k: query.top, rerank: true, ..Request::default() };
        let answer = ranking::search(&snapshot, &**self.index.embedder.get()?, &request).map_err(search_failure)?;
        let mut contents = FileContents::new(&self.workspace, self.settings.file_bytes);
        let found = |hit: mainstay_search::ranking::Hit| {
            let snippet = contents.snippet(&hit.path, &hit, query.lines);
            let path = hit.path.strip_prefix(&self.inside).map(|path| path.trim_start_matches('/'));
            let path = path.unwrap_or(&hit.path).to_owned();
            let Match { score, metadata, .. } = Match::of(hit, path, None);
            SearchMatch {
                score,
                line_start: metadata.line_start.unwrap_or_default(),
                line_end: metadata.line_end.unwrap_or_default(),
                path: metadata.path,
                name: metadata.name,
                lang: metadata.lang,
                tags: metadata.tags,
                snippet,
            }
        };
        Ok(answer.hits.into_iter().map(found).collect())
    }

    /// A misspelt language or path would find nothing, and that would be taken for an answer.
    fn check(&self, query: &Query<'_>) -> Result<()> {
        if let Some(unknown) = query.languages.iter().find(|name| language_number(name) == 0) {
            let line = format!(
                "There is no language {unknown:?}; languages are written as in results: rust, python, markdown."
            );
            return Err(Error::field("lang", line));
        }
        for path in query.paths {
            let in_root = self.path_in_root(path);
            let in_root = if in_root.is_empty() { "." } else { &in_root };
            let found = self.workspace.find(in_root);
            if !found.is_ok_and(|found| found.open_dir().is_ok() || found.open_file().is_ok()) {
                return Err(Error::not_found(format!("There is no file or directory {path} in what is searched.")));
            }
        }
        Ok(())
    }

    /// A path that a person has given, from the root of the index: an absolute one, or one from the directory that was
    /// named. What is outside of the root stays as it is, and nothing has such a path.
    fn path_in_root(&self, path: &str) -> String {
        let root = self.workspace.roots().first().map(|root| root.path());
        if let Some(below) = root.and_then(|root| Path::new(path).strip_prefix(root).ok()) {
            return below.to_string_lossy().into_owned();
        }
        // Without `.`, which no path in the index has.
        let path: PathBuf = Path::new(&self.inside).join(path).components().collect();
        path.to_string_lossy().into_owned()
    }
}
