//! What `mainstay scaffold` and `mainstay doctor` use: the same templates, generated and written by the same code as the
//! tools, without a server.

use std::path::{Path, PathBuf};

use mainstay_core::{Context, Result};
use mainstay_sandbox::{AutoRunPolicy, FilesSettings, Workspace};
use serde_json::{Map, Value};

use super::catalogue::Catalogue;
use super::directories::BrokenTemplate;
use super::project::{Project, WriteMode, outcome};
use super::view::line;
use crate::planning::{ChangeLimits, Planner};

/// The templates there are: a line for each, and those that do not load.
pub fn list_templates(directories: &[PathBuf], toolchain: Option<&str>) -> Result<(Vec<String>, Vec<BrokenTemplate>)> {
    let templates = Catalogue::new(directories.to_vec()).read()?;
    let lines = templates.select(toolchain, None)?.iter().map(|template| line(template)).collect();
    Ok((lines, templates.broken))
}

/// A project to generate.
#[derive(Debug)]
pub struct ScaffoldRequest<'a> {
    pub directories: &'a [PathBuf],
    pub toolchain: &'a str,
    /// All of the toolchain if empty.
    pub templates: &'a [String],
    /// Values as a person types them: text, or JSON where the parameter is not a text.
    pub parameters: Vec<(String, String)>,
}

/// Where to write a project.
#[derive(Debug)]
pub struct Destination<'a> {
    pub directory: &'a Path,
    /// Limits of a change.
    pub files: &'a FilesSettings,
    /// Where a change of several files is recorded until it is complete.
    pub journal: Option<PathBuf>,
    pub overwrite: bool,
    pub dry_run: bool,
}

/// What was written or would be.
#[derive(Debug)]
pub struct WrittenProject {
    pub files: Vec<WrittenFile>,
    /// Of a dry run.
    pub diff: Option<String>,
}

#[derive(Debug)]
pub struct WrittenFile {
    /// Relative to the destination.
    pub path: String,
    /// `created`, `overwritten` or `unchanged`.
    pub what: &'static str,
}

impl ScaffoldRequest<'_> {
    /// The generated files: path and content. Fails if one of the templates does.
    pub fn generate(&self) -> Result<Vec<(String, String)>> {
        Ok(self.project()?.files.into_iter().map(|made| (made.file.filename, made.file.content)).collect())
    }

    /// Writes the files, all or none.
    pub async fn write(&self, to: Destination<'_>) -> Result<WrittenProject> {
        let project = self.project()?;
        // The settings are what callers may do in the workspace of a server. This is the directory that the person at the
        // terminal has named, and they would be the one to ask about files that other programs run.
        let files =
            FilesSettings { auto_run: AutoRunPolicy::Allow, read_only: false, roots: Vec::new(), ..to.files.clone() };
        let mut workspace = Workspace::open(to.directory, &files)?;
        if let Some(journal) = &to.journal {
            workspace = workspace.with_journal(journal)?;
        }
        let planner = Planner { workspace, limits: ChangeLimits::new(&files) };
        let context = Context::detached();
        let mode = WriteMode { overwrite: to.overwrite, overwrite_option: "--force", dry_run: to.dry_run };
        let (paths, report) = project.write(&planner, &context, ".", mode).await?;
        let file = |path: String| WrittenFile { what: outcome(&report, &path), path };
        let files = paths.into_iter().map(file).collect();
        Ok(WrittenProject { files, diff: report.diff })
    }

    fn project(&self) -> Result<Project> {
        let templates = Catalogue::new(self.directories.to_vec()).read()?;
        let parameters = self.typed_parameters(&templates.select(Some(self.toolchain), None)?);
        let context = Context::detached();
        let project = Project::generate(&templates, self.toolchain, self.templates, &parameters, &context.cancel)?;
        if project.failures.is_empty() { Ok(project) } else { Err(project.failed()) }
    }

    /// Reads values by the types of the parameters: a text stays as it is, `true`, `3` and `["a"]` are JSON, and a list
    /// may also be words separated by commas. What is no value of the type stays a text, which validation refuses.
    fn typed_parameters(&self, templates: &[std::sync::Arc<super::template::Template>]) -> Map<String, Value> {
        let kind = |name: &str| {
            let properties = templates.iter().flat_map(|template| template.manifest.properties());
            // A name with a category is for one template; its type is the same as without.
            let name = name.split_once('.').map_or(name, |(_, name)| name);
            properties.filter(|(property, _)| *property == name).find_map(|(_, schema)| schema["type"].as_str())
        };
        let typed = |name: &str, text: &str| match kind(name) {
            Some("array") if !text.starts_with('[') => {
                text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(Value::from).collect()
            }
            None | Some("string") => Value::from(text),
            Some(_) => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
        };
        self.parameters.iter().map(|(name, text)| (name.clone(), typed(name, text))).collect()
    }
}
