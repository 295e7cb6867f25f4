//! The workspace: which directories callers may access, and which they may not.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mainstay_core::{Error, Result};

use super::etag::EtagCache;
use super::journal::Journal;
use super::root::{Root, Rule};
use crate::guard::Guard;
use crate::identity::FileId;
use crate::settings::{FilesSettings, HardLinks};

/// The workspace directory and the additional roots. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Workspace {
    /// Never empty; the first is the workspace directory itself.
    pub(super) roots: Arc<[Arc<Root>]>,
    pub(super) journal: Option<Arc<Journal>>,
    closed: Arc<Vec<ClosedDir>>,
}

/// A directory with the server's own files: neither callers nor commands may access it, in whatever root it is.
#[derive(Debug, Clone)]
pub(crate) struct ClosedDir {
    pub(crate) path: PathBuf,
    pub(crate) identity: FileId,
}

impl Workspace {
    /// Opens the workspace directory and the additional roots.
    pub fn open(primary: &Path, settings: &FilesSettings) -> Result<Self> {
        let guard = Guard::new(&settings.protect, &settings.unprotect);
        let etags = Arc::new(EtagCache::default());
        let named = std::iter::once((primary, settings.read_only))
            .chain(settings.roots.iter().map(|root| (root.path.as_path(), root.read_only)));
        let mut roots = Vec::new();
        for (path, read_only) in named {
            let mut root = Root::open(path, read_only, guard.clone(), settings.hard_links, etags.clone())?;
            root.primary = roots.is_empty();
            roots.push(root);
        }
        let all: Vec<_> = roots.iter().map(|root| (root.path.clone(), root.identity, root.read_only)).collect();
        for root in &mut roots {
            // A root inside another keeps its own rule, whichever way it is reached.
            let inside = all.iter().filter(|(path, id, _)| *id != root.identity && path.starts_with(&root.path));
            let rule = |read_only: bool| if read_only { Rule::ReadOnly } else { Rule::Writable };
            root.inner = inside.map(|(_, id, read_only)| (*id, rule(*read_only))).collect();
        }
        Ok(Self { roots: roots.into_iter().map(Arc::new).collect(), journal: None, closed: Arc::default() })
    }

    /// A read-only directory of the operator's choice in which no name is protected. For directories of which callers
    /// see only what the server selects by name.
    pub fn open_read_only(directory: &Path) -> Result<Self> {
        let mut root = Root::open(directory, true, Guard::none(), HardLinks::Allow, Arc::default())?;
        root.primary = true;
        Ok(Self { roots: [Arc::new(root)].into(), journal: None, closed: Arc::default() })
    }

    /// Closes a directory with the server's own files to callers and commands. Fails if a root is inside it.
    pub fn with_closed_dir(mut self, directory: &Path) -> Result<Self> {
        let closed = Root::open(directory, true, Guard::default(), HardLinks::Allow, Arc::default())?;
        let Some(roots) = Arc::get_mut(&mut self.roots) else {
            return Err(Error::internal("the workspace is in use already"));
        };
        for root in roots {
            let Some(root) = Arc::get_mut(root) else { return Err(Error::internal("a root is in use already")) };
            if closed.identity == root.identity || root.path.starts_with(&closed.path) {
                return Err(Error::unavailable(format!(
                    "The directory {} is inside {}, where the server keeps its own files; choose another.",
                    root.path.display(),
                    closed.path.display()
                )));
            }
            if closed.path.starts_with(&root.path) {
                root.inner.push((closed.identity, Rule::Closed));
            }
        }
        Arc::make_mut(&mut self.closed).push(ClosedDir { path: closed.path, identity: closed.identity });
        Ok(self)
    }

    /// The workspace directory and the additional roots, in this order.
    pub fn roots(&self) -> &[Arc<Root>] {
        &self.roots
    }

    /// The server's own directories, for the sandbox to hide.
    pub(crate) fn closed(&self) -> &[ClosedDir] {
        &self.closed
    }
}
