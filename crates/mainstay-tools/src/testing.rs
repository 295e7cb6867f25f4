//! What tests of several families are built from.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use mainstay_sandbox::{FilesSettings, Workspace};
use mainstay_store::{Store, StoreOptions};
use serde_json::json;

use crate::search::SearchSettings;
use crate::watch::ResourceWatcher;
use crate::{AgentsSettings, CodeSettings, ContextSettings, Setup, SolanaSettings, TemplatesSettings};

/// A setup whose workspace, caches and store lie in this directory.
pub(crate) async fn setup_in(directory: &tempfile::TempDir) -> Setup {
    let root = directory.path().join("ws");
    std::fs::create_dir(&root).unwrap();
    let url = format!("sqlite:{}", directory.path().join("store.db").display());
    let files = FilesSettings::default();
    let workspace = Workspace::open(&root, &files).unwrap();
    Setup {
        version: "0",
        watcher: ResourceWatcher::new(&workspace),
        workspace,
        files,
        exec: mainstay_sandbox::exec::ExecSettings::default(),
        agents: AgentsSettings::default(),
        context: ContextSettings::default(),
        code: CodeSettings::default(),
        code_cache: directory.path().join("code"),
        templates: TemplatesSettings::default(),
        search: SearchSettings::default(),
        search_indexes: directory.path().join("search"),
        solana: SolanaSettings::default(),
        caches: directory.path().join("caches"),
        store: Store::open(&url, StoreOptions::default()).await.unwrap(),
        openapi: Arc::new(LazyLock::new(Box::new(|| json!({"openapi": "3.1.0"})))),
        started: std::time::Instant::now(),
    }
}

/// For tests that only look at declarations: the directory is removed at once.
pub(crate) async fn setup() -> Setup {
    setup_in(&tempfile::tempdir().unwrap()).await
}

/// A reproducible sequence of pseudo-random numbers.
pub(crate) struct TestRandom(u64);

impl TestRandom {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }

    pub(crate) fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.below(from.len())]
    }
}

/// A temporary workspace with files.
pub(crate) struct SampleWorkspace {
    directory: tempfile::TempDir,
    workspace: Workspace,
}

impl SampleWorkspace {
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path(), &FilesSettings::default()).unwrap();
        let sample = Self { directory, workspace };
        for (path, content) in files {
            sample.write(path, content.as_bytes());
        }
        sample
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, content: &[u8]) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn link(&self, target: &str, path: &str) {
        std::os::unix::fs::symlink(target, self.path().join(path)).unwrap();
    }

    #[expect(clippy::disallowed_methods, reason = "nothing in the standard library makes a pipe with a name")]
    pub(crate) fn pipe(&self, path: &str) {
        assert!(std::process::Command::new("mkfifo").arg(self.path().join(path)).status().unwrap().success());
    }
}
