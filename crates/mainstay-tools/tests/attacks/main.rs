//! Attacks on every tool that takes a path.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod paths;
mod race;

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use mainstay_core::{AnyTool, Context, Error, Registry, Reply};
use mainstay_sandbox::exec::ExecSettings;
use mainstay_sandbox::{FilesSettings, Workspace};
use mainstay_store::{Store, StoreOptions};
use mainstay_tools::{AgentsSettings, ContextSettings, ResourceWatcher, Setup, TemplatesSettings};
use serde_json::{Value, json};

const SECRET: &str = "nobody may read this";

/// All tools on a workspace, with a directory beside it that must never be reached.
struct Fixture {
    _directory: tempfile::TempDir,
    inside: PathBuf,
    outside: PathBuf,
    registry: Registry,
}

impl Fixture {
    async fn new() -> Self {
        Self::at(tempfile::tempdir().unwrap()).await
    }

    /// On a file system in memory if there is one: for tests that write very often.
    async fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        Self::at(if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()).await
    }

    async fn at(directory: tempfile::TempDir) -> Self {
        let base = std::fs::canonicalize(directory.path()).unwrap();
        let (inside, outside) = (base.join("ws"), base.join("ws-evil"));
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(outside.join("secret"), SECRET).unwrap();
        let files = FilesSettings::default();
        let workspace = Workspace::open(&inside, &files).unwrap().with_journal(&base.join("journal")).unwrap();
        let store = format!("sqlite:{}", base.join("store.db").display());
        let setup = Setup {
            version: "0",
            watcher: ResourceWatcher::new(&workspace),
            workspace,
            files,
            exec: ExecSettings::default(),
            agents: AgentsSettings::default(),
            code: mainstay_tools::CodeSettings::default(),
            code_cache: base.join("code"),
            context: ContextSettings::default(),
            templates: TemplatesSettings::default(),
            search: mainstay_tools::search::SearchSettings::default(),
            search_indexes: base.join("search"),
            solana: mainstay_tools::SolanaSettings::default(),
            // Caches are opened in the workspace, so that the attacks reach them, too.
            caches: inside.clone(),
            store: Store::open(&store, StoreOptions::default()).await.unwrap(),
            openapi: Arc::new(LazyLock::new(Box::new(|| json!({"openapi": "3.1.0"})))),
            started: Instant::now(),
        };
        let registry = Registry::new(mainstay_tools::families(&setup, &[]).unwrap()).unwrap();
        Self { _directory: directory, inside, outside, registry }
    }

    fn tool(&self, name: &str) -> Arc<dyn AnyTool> {
        self.registry.tool(name).unwrap_or_else(|| panic!("there is no tool {name}")).clone()
    }

    async fn call(&self, name: &str, args: Value) -> Result<Reply, Error> {
        call(&*self.tool(name), args).await
    }

    /// Fails if anything outside of the workspace was changed.
    fn assert_outside_unchanged(&self) {
        let names: Vec<_> = std::fs::read_dir(&self.outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["secret"], "something was written outside");
        assert_eq!(std::fs::read_to_string(self.outside.join("secret")).unwrap(), SECRET);
    }
}

async fn call(tool: &dyn AnyTool, args: Value) -> Result<Reply, Error> {
    tool.check(&args)?;
    tool.call(args, &Context::detached()).await
}
