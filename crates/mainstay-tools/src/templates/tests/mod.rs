//! The family as a whole: the tools as a client calls them, and what is generated in the hands of make and git.

#![expect(clippy::disallowed_methods, reason = "these tests start make and git to see what they make of the files")]

mod generated_files;
mod tools;
mod user_templates;

use std::path::{Path, PathBuf};

use mainstay_core::{Body, Context, Family, Reply, Result};
use mainstay_sandbox::{FilesSettings, Workspace};
use serde_json::{Map, Value};

use super::builtin;
use super::template::Generated;
use crate::testing::setup_in;

/// The family, with a workspace and a directory for templates of users.
struct Sample {
    directory: tempfile::TempDir,
    family: Family,
}

impl Sample {
    async fn new() -> Self {
        Self::with_files_settings(|_| {}).await
    }

    async fn with_files_settings(change: impl FnOnce(&mut FilesSettings)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut setup = setup_in(&directory).await;
        change(&mut setup.files);
        setup.workspace = Workspace::open(&directory.path().join("ws"), &setup.files).unwrap();
        std::fs::create_dir(directory.path().join("own")).unwrap();
        setup.templates.directories = vec![directory.path().join("own")];
        let family = super::family(&setup);
        Self { directory, family }
    }

    fn workspace(&self) -> PathBuf {
        self.directory.path().join("ws")
    }

    fn own(&self) -> PathBuf {
        self.directory.path().join("own")
    }

    /// Writes a template of a user.
    fn add(&self, name: &str, manifest: &str, text: &str) {
        let template = self.own().join(name);
        std::fs::create_dir(&template).unwrap();
        std::fs::write(template.join("manifest.json"), manifest).unwrap();
        std::fs::write(template.join("template.j2"), text).unwrap();
    }

    /// Calls a tool by its name in the contract, after checking the arguments as the engine does.
    async fn call(&self, name: &str, args: Value) -> Result<Reply> {
        let tool = self.family.tools.iter().find(|tool| tool.info().spelling("toolkit") == Some(name)).unwrap();
        tool.check(&args)?;
        tool.call(args, &Context::detached()).await
    }

    /// The value of a call that succeeds.
    async fn value(&self, name: &str, args: Value) -> Value {
        self.call(name, args).await.unwrap().structured.unwrap()
    }

    async fn read(&self, uri: &str) -> Result<String> {
        let mut contents = self.family.resources[0].read(uri, &Context::detached()).await?;
        let Body::Text(text) = contents.pop().unwrap().body else { panic!("{uri} is no text") };
        Ok(text)
    }
}

/// One of our templates, generated.
fn generated(uri: &str, parameters: &Value) -> Result<Generated> {
    let template = builtin::all().iter().find(|template| template.uri.to_string() == uri).unwrap();
    let parameters: &Map<String, Value> = parameters.as_object().unwrap();
    template.generate(parameters)
}

/// Every file below a directory, with its content.
fn files(directory: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(directory).unwrap().display().to_string();
                found.push((name, std::fs::read_to_string(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}
