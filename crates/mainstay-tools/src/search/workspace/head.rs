//! Which files are as they are in the newest commit.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mainstay_code::churn::Layout;
use mainstay_core::{Result, hex};
use mainstay_sandbox::Workspace;
use mainstay_sandbox::exec::ExecSettings;
use sha1::{Digest as _, Sha1};

use crate::git::{Git, Repository};
use crate::progress::{Progress, blocking};

/// The longest that listing the files of a commit may take. Without the list, results do not name a commit.
const LIST_LIMIT: Duration = Duration::from_secs(10);

/// A file of git that names a commit is shorter. The list of packed references may be long.
const MAX_REFERENCE_BYTES: u64 = 4096;
const MAX_PACKED_BYTES: u64 = 16 << 20;

/// The newest commit of a root, if that is a git repository.
pub(in crate::search) struct Head {
    workspace: Workspace,
    /// How callers name the root.
    root: String,
    git: Git,
    known: tokio::sync::Mutex<Option<Arc<Commit>>>,
}

/// The files of a commit.
pub(in crate::search) struct Commit {
    id: String,
    /// The ids of contents by path; empty if they could not be listed.
    blobs: HashMap<Vec<u8>, String>,
}

impl Commit {
    /// The commit, if a file with this content is in it.
    pub(in crate::search) fn with(&self, path: &str, content: &[u8]) -> Option<&str> {
        let blob = self.blobs.get(path.as_bytes())?;
        // Repositories with other hashes than SHA-1 are rare, and there no file is found.
        let mut hash = Sha1::new();
        hash.update(format!("blob {}\0", content.len()));
        hash.update(content);
        let id = hex(&hash.finalize());
        (id == *blob).then_some(self.id.as_str())
    }
}

impl Head {
    pub(in crate::search) fn new(workspace: &Workspace, root: &str, exec: &ExecSettings) -> Self {
        let git = Git::new(workspace, exec, LIST_LIMIT);
        Self { workspace: workspace.clone(), root: root.to_owned(), git, known: tokio::sync::Mutex::default() }
    }

    /// The newest commit. Its files are listed once for each commit; `None` if there is no repository or no commit.
    pub(in crate::search) async fn commit(&self) -> Option<Arc<Commit>> {
        let (workspace, root) = (self.workspace.clone(), self.root.clone());
        let (repository, id) = blocking(move || read_head(&workspace, &root)).await.ok()??;
        let mut known = self.known.lock().await;
        if let Some(commit) = known.as_ref().filter(|commit| commit.id == id) {
            return Some(commit.clone());
        }
        // A failure is remembered like a list, or each search would wait for it again.
        let blobs = self.git.blobs(&repository, &id, &Progress::default()).await.unwrap_or_default();
        let commit = Arc::new(Commit { id, blobs });
        *known = Some(commit.clone());
        Some(commit)
    }
}

/// The repository whose top is the root, and the id of its newest commit. Git is not asked: starting it would take longer
/// than the search.
fn read_head(workspace: &Workspace, root: &str) -> Result<Option<(Repository, String)>> {
    let repository = Repository::find(workspace, root)?;
    if repository.layout != Layout::WorkTree || repository.inside.is_some() {
        return Ok(None);
    }
    let data: PathBuf = repository.top.absolute().join(".git");
    let id = head_id(&data).filter(|id| id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
    Ok(id.map(|id| (repository, id)))
}

/// What `HEAD` leads to, over at most one name of a branch.
fn head_id(data: &Path) -> Option<String> {
    let files = Workspace::open_read_only(data).ok()?;
    let read = |name: &str, limit: u64| {
        let bytes = files.find(name).ok()?.open_file().ok()?.read_whole(limit).ok()??;
        String::from_utf8(bytes).ok()
    };
    let head = read("HEAD", MAX_REFERENCE_BYTES)?;
    let Some(branch) = head.strip_prefix("ref:").map(str::trim) else { return Some(head.trim().to_owned()) };
    if let Some(id) = read(branch, MAX_REFERENCE_BYTES) {
        return Some(id.trim().to_owned());
    }
    let packed = read("packed-refs", MAX_PACKED_BYTES)?;
    packed
        .lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(_, name)| *name == branch)
        .map(|(id, _)| id.to_owned())
}
