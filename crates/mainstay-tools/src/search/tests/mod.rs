//! The tools of the family on a temporary workspace.

mod freshness;
mod namespaces;
mod results;

use std::path::PathBuf;

use mainstay_core::{Context, Registry, Result};
use serde_json::{Value, json};

use super::settings::SearchSettings;
use crate::setup::Setup;
use crate::testing::setup_in;

/// A workspace with its tools.
struct Sample {
    directory: tempfile::TempDir,
    setup: Setup,
    registry: Registry,
}

impl Sample {
    async fn new(files: &[(&str, &str)]) -> Self {
        Self::with(files, SearchSettings::default()).await
    }

    async fn with(files: &[(&str, &str)], settings: SearchSettings) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let setup = Setup { search: settings, ..setup_in(&directory).await };
        let registry = registry(&setup);
        let sample = Self { directory, setup, registry };
        for (path, content) in files {
            sample.write(path, content);
        }
        sample
    }

    /// Another server on the same workspace, data directory and store.
    fn another(&self) -> Registry {
        registry(&self.setup)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join("ws").join(path)
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    async fn call(&self, tool: &str, args: Value) -> Result<Value> {
        call(&self.registry, tool, args).await
    }

    /// The paths that a search finds, best first.
    async fn found(&self, query: &str) -> Vec<String> {
        paths(&self.call("vector_search", json!({"query": query, "top_k": 50})).await.unwrap())
    }

    async fn status(&self) -> Value {
        self.call("index_status", json!({})).await.unwrap()["namespaces"][0].clone()
    }
}

fn registry(setup: &Setup) -> Registry {
    let Setup { workspace, exec, search, search_indexes, store, .. } = setup;
    Registry::new(vec![super::family(workspace, exec, search, search_indexes, store).unwrap()]).unwrap()
}

async fn call(registry: &Registry, tool: &str, args: Value) -> Result<Value> {
    let tool = registry.tool(tool).unwrap_or_else(|| panic!("there is no tool {tool}"));
    tool.check(&args)?;
    Ok(tool.call(args, &Context::detached()).await?.structured.unwrap())
}

/// The paths of matches, each once.
fn paths(result: &Value) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for one in result["matches"].as_array().unwrap() {
        let path = one["metadata"]["path"].as_str().unwrap().to_owned();
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

const STACK: &str = "/// A stack of values.\npub struct Stack {\n    values: Vec<u32>,\n}\n\nimpl Stack {\n    /// Puts a value on top.\n    pub fn push_value(&mut self, value: u32) {\n        self.values.push(value);\n    }\n}\n";
const QUEUE: &str = "/// Jobs that wait for a worker.\npub fn enqueue_job(queue: &mut Vec<u32>, job: u32) {\n    queue.insert(0, job);\n}\n";
