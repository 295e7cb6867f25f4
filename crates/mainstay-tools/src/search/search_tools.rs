//! What every tool of this family works with: the indexes of the roots, and how a namespace is found by its name.

use std::path::Path;
use std::sync::Arc;

use mainstay_core::{Error, Result};
use mainstay_sandbox::Workspace;
use mainstay_sandbox::exec::ExecSettings;
use mainstay_search::embedding::Embedder;
use mainstay_search::index::Snapshot;
use mainstay_store::Store;

use super::embedders::Embedders;
use super::namespaces::Namespaces;
use super::settings::SearchSettings;
use super::workspace::{Commit, Head, RootIndex};
use crate::progress::Progress;

/// Shared by all tools of the family.
#[derive(Clone)]
pub(crate) struct SearchTools(Arc<Inner>);

struct Inner {
    workspace: Workspace,
    settings: SearchSettings,
    embedders: Embedders,
    roots: Vec<Root>,
    namespaces: Namespaces,
}

/// A root of the workspace.
pub(super) struct Root {
    pub(super) index: Arc<RootIndex>,
    head: Head,
}

/// Several roots at one time, searched as one.
pub(super) struct RootsSnapshot {
    pub(super) snapshot: Arc<Snapshot>,
    /// Each root, with the number of segments up to its last.
    roots: Vec<(Arc<RootIndex>, Option<Arc<Commit>>, usize)>,
}

impl SearchTools {
    /// Nothing is opened before the first search, but configured models are loaded.
    pub(super) fn new(
        workspace: &Workspace,
        exec: &ExecSettings,
        settings: &SearchSettings,
        data: &Path,
        store: &Store,
    ) -> Result<Self> {
        let embedders = Embedders::new(settings)?;
        let root = |(at, root): (usize, &Arc<mainstay_sandbox::Root>)| {
            // A path that is no text cannot be named by a caller; such a root is searched with the others alone.
            let name = if at == 0 { ".".to_owned() } else { root.path().to_string_lossy().into_owned() };
            let head = Head::new(workspace, &name, exec);
            let index = RootIndex::new(workspace, name, root.path(), data, embedders.workspace.clone(), settings);
            Root { index: Arc::new(index), head }
        };
        let roots = workspace.roots().iter().enumerate().map(root).collect();
        let namespaces = Namespaces::new(store, &embedders.namespaces, settings, data);
        let (workspace, settings) = (workspace.clone(), settings.clone());
        Ok(Self(Arc::new(Inner { workspace, settings, embedders, roots, namespaces })))
    }

    pub(super) fn workspace(&self) -> &Workspace {
        &self.0.workspace
    }

    pub(super) fn settings(&self) -> &SearchSettings {
        &self.0.settings
    }

    /// The model with which files are indexed.
    pub(super) fn embedder(&self) -> Result<&Arc<dyn Embedder>> {
        self.0.embedders.workspace.get()
    }

    pub(super) fn namespaces(&self) -> &Namespaces {
        &self.0.namespaces
    }

    /// The roots that a namespace names: all of them without one, `None` if it names no root.
    pub(super) fn roots(&self, namespace: Option<&str>) -> Option<Vec<&Root>> {
        let Some(name) = namespace else { return Some(self.0.roots.iter().collect()) };
        let is_named = |root: &&Root| root.index.name == name;
        // The workspace by its path, which is how another root is named.
        let first = self.0.workspace.roots().first().is_some_and(|root| root.path() == Path::new(name));
        let found = if first { self.0.roots.first() } else { self.0.roots.iter().find(is_named) };
        found.map(|root| vec![root])
    }

    /// The root that an absolute path begins with, and the rest of the path.
    pub(super) fn root_of(&self, path: &str) -> Option<(&Root, String)> {
        if !path.starts_with('/') {
            return None;
        }
        let below = |(root, of): (&Arc<mainstay_sandbox::Root>, &'_ Root)| {
            let below = path.strip_prefix(root.path().to_str()?)?;
            let is_whole = below.is_empty() || below.starts_with('/');
            is_whole.then(|| (std::ptr::from_ref(of), below.trim_start_matches('/').to_owned()))
        };
        let all = self.0.workspace.roots().iter().zip(&self.0.roots);
        // The innermost, which is the one that the files belong to.
        let (found, below) = all.filter_map(below).min_by_key(|(_, below)| below.len())?;
        self.0.roots.iter().find(|root| std::ptr::eq(*root, found)).map(|root| (root, below))
    }

    /// The newest commits of roots, which have to be asked for before the search, because git is run for a new one.
    pub(super) async fn commits(&self, roots: &[&Root]) -> Vec<(Arc<RootIndex>, Option<Arc<Commit>>)> {
        let mut commits = Vec::with_capacity(roots.len());
        for root in roots {
            commits.push((root.index.clone(), root.head.commit().await));
        }
        commits
    }
}

impl RootsSnapshot {
    /// Brings the indexes of roots up to date. Blocks; counts files.
    pub(super) fn up_to_date(roots: Vec<(Arc<RootIndex>, Option<Arc<Commit>>)>, progress: &Progress) -> Result<Self> {
        let mut snapshots = Vec::with_capacity(roots.len());
        let mut ends = Vec::with_capacity(roots.len());
        let mut end = 0;
        for (root, commit) in roots {
            let snapshot = root.up_to_date(progress)?;
            end += snapshot.parts.len();
            ends.push((root, commit, end));
            snapshots.push(snapshot);
        }
        let snapshot = match snapshots.as_slice() {
            [one] => one.clone(),
            several => Arc::new(Snapshot::joined(several)),
        };
        Ok(Self { snapshot, roots: ends })
    }

    /// The path of a document from its root, from the path that callers see. Roots beside the first have absolute paths.
    pub(super) fn document_path(&self, path: &str) -> String {
        let below = |(root, ..): &(Arc<RootIndex>, Option<Arc<Commit>>, usize)| {
            path.strip_prefix(root.name.as_str())?.strip_prefix('/').map(str::to_owned)
        };
        self.roots.iter().find_map(below).unwrap_or_else(|| path.to_owned())
    }

    /// The root of a segment.
    pub(super) fn root(&self, part: usize) -> Result<(&RootIndex, Option<&Commit>)> {
        let found = self.roots.iter().find(|(_, _, end)| part < *end);
        let found = found.ok_or_else(|| Error::internal("a segment without a root"))?;
        Ok((&found.0, found.1.as_deref()))
    }
}

impl RootIndex {
    /// The path of a document as callers see it.
    pub(super) fn display(&self, path: &str) -> String {
        if self.name == "." { path.to_owned() } else { format!("{}/{path}", self.name) }
    }
}
