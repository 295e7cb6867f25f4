//! `templates_scaffold`: the files of a project, returned or written into the workspace.
//!
//! One tool does both. It is declared as one that writes, so that no client takes it for harmless; a call without
//! `write_to` counts as reading, and a caller that may only read can make it.

use mainstay_core::{Context, Effect, Pace, Result, Spec, Spelling, Tool, WithText};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::project::{MAX_TEMPLATES, Project, WriteMode, outcome};
use super::{DIALECT, TemplateTools, spec};
use crate::planning::Report;

pub(super) struct Scaffold(pub(super) TemplateTools);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Toolchain: rust, deno, python-uv or one of your own.
    toolchain: String,
    /// Categories (makefile, readme, gitignore) or URIs. Default: all of the toolchain.
    #[serde(default)]
    #[schemars(length(max = MAX_TEMPLATES))]
    templates: Vec<String>,
    /// Shared parameters, such as {"project_name": "demo"}; "readme.features" is for readme alone.
    #[serde(default)]
    parameters: Map<String, Value>,
    /// Directory of the workspace to write the files into. Default: only return them.
    write_to: Option<String>,
    /// Replace files that exist.
    #[serde(default)]
    overwrite: bool,
    /// Write nothing; return a diff.
    #[serde(default)]
    dry_run: bool,
}

/// A generated file.
#[derive(Debug, Serialize)]
struct FileView {
    path: String,
    template: String,
    checksum: String,
    /// Left out once the file is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    /// What writing did, or would do: created, overwritten, unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    what: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct ErrorView {
    template: String,
    error: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Output {
    /// Each with path, template, checksum (SHA-256), and content or what happened to it.
    #[schemars(with = "Vec<Map<String, Value>>")]
    files: Vec<FileView>,
    /// Templates that failed: template, error.
    #[schemars(with = "Vec<Map<String, Value>>")]
    errors: Vec<ErrorView>,
    /// Unified diff, in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

impl Tool for Scaffold {
    const SPEC: Spec = Spec {
        title: "Scaffold project",
        description: "Generates the files of a new project from the templates of a toolchain. With write_to it writes \
                      them into the workspace, all or none, and replaces no file without overwrite.",
        effect: Effect::Writes,
        // Writing the same files again changes nothing.
        idempotent: true,
        pace: Pace::Quick,
        dry_run: true,
        plans: true,
        weigh: Some(weigh),
        spellings: &[Spelling { dialect: DIALECT, name: "scaffold_project" }],
        ..spec("scaffold")
    };
    type Args = Args;
    type Output = WithText<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<WithText<Output>> {
        let templates = self.0.catalogue.templates(&context.cancel).await?;
        let project =
            Project::generate(&templates, &args.toolchain, &args.templates, &args.parameters, &context.cancel)?;
        let Some(directory) = args.write_to else { return Ok(returned(project)) };
        // All or nothing: a project without one of its files is not what was asked for.
        if !project.failures.is_empty() {
            return Err(project.failed());
        }
        let mode = WriteMode { overwrite: args.overwrite, overwrite_option: "overwrite", dry_run: args.dry_run };
        let (paths, report) = project.write(&self.0.planner, context, &directory, mode).await?;
        Ok(written(project, paths, report))
    }
}

/// Without a directory to write to, nothing is written.
fn weigh(args: &Value) -> Effect {
    if args["write_to"].is_null() { Effect::Reads } else { Effect::Writes }
}

/// The reply with all contents.
fn returned(project: Project) -> WithText<Output> {
    let mut text: Vec<String> = Vec::new();
    let mut files = Vec::new();
    for made in project.files {
        text.push(format!("==> {} <==\n{}", made.file.filename, made.file.content));
        let (path, checksum, content) = (made.file.filename, made.file.checksum, Some(made.file.content));
        files.push(FileView { path, template: made.template, checksum, content, what: None });
    }
    let errors: Vec<ErrorView> = project
        .failures
        .into_iter()
        .map(|failure| ErrorView { template: failure.template, error: failure.error.public.into_owned() })
        .collect();
    text.extend(errors.iter().map(|failed| format!("Failed: {}: {}", failed.template, failed.error)));
    WithText { value: Output { files, errors, diff: None }, text: text.join("\n") }
}

/// The reply after writing, or after a dry run: the caller finds the contents on disk, or in the diff.
fn written(project: Project, paths: Vec<String>, report: Report) -> WithText<Output> {
    let made = project.files.into_iter().zip(paths);
    let files: Vec<FileView> = made
        .map(|(made, path)| FileView {
            what: Some(outcome(&report, &path)),
            path,
            template: made.template,
            checksum: made.file.checksum,
            content: None,
        })
        .collect();
    let would = if report.dry_run { "would be " } else { "" };
    let mut lines: Vec<String> =
        files.iter().map(|file| format!("{}: {would}{}", file.path, file.what.unwrap_or_default())).collect();
    lines.extend(report.diff.clone());
    WithText { value: Output { files, errors: Vec::new(), diff: report.diff }, text: lines.join("\n") }
}
