//! What `mainstay analyze` uses: a directory or a file that a person has named, opened for the same analyses as the tools
//! run, without a server.

use std::path::{Path, PathBuf};

use mainstay_core::{Error, Result};
use mainstay_sandbox::exec::ExecSettings;
use mainstay_sandbox::{FilesSettings, Workspace};

use super::analysis::CodeAnalysis;
use crate::git::repository_top;
use crate::setup::CodeSettings;

/// A longer file is no link to a repository.
const MAX_LINK_BYTES: u64 = 8192;

/// The settings that apply to an analysis.
#[derive(Debug, Clone, Copy)]
pub struct ProjectSettings<'a> {
    pub files: &'a FilesSettings,
    pub exec: &'a ExecSettings,
    pub code: &'a CodeSettings,
    /// Where metrics are kept; without it each run measures everything.
    pub cache: Option<&'a Path>,
}

/// What a person has named.
pub struct NamedProject {
    pub analysis: CodeAnalysis,
    /// The path to analyse, relative to the root of the analysis.
    pub path: String,
    /// Whether that is a file.
    pub is_file: bool,
}

impl NamedProject {
    /// Opens a directory or a file. The root of the analysis is the repository around it, if it is in one: its ignore
    /// rules apply, its history is the file's, and all paths are told relative to it. Otherwise it is the directory
    /// itself.
    pub fn open(path: &Path, settings: ProjectSettings<'_>) -> Result<Self> {
        let (named, file) = open_named(path)?;
        let directory = named.roots()[0].path();
        let (top, inside) = repository_top(directory);
        // `files.roots` and `read_only` are about the workspace of a server. Nothing is written here.
        let files = FilesSettings { read_only: true, roots: Vec::new(), ..settings.files.clone() };
        let workspace = Workspace::open(&top, &files)?;
        let parts = [Some(inside.as_str()), file.as_deref()];
        let path = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
        let mut exec = settings.exec.clone();
        exec.read.extend(linked_repository(&top));
        Ok(Self {
            analysis: CodeAnalysis::new(&workspace, &exec, settings.code, settings.cache),
            path: if path.is_empty() { ".".to_owned() } else { path },
            is_file: file.is_some(),
        })
    }
}

/// The directory that was named, or the one around the file that was, and the file's name.
fn open_named(path: &Path) -> Result<(Workspace, Option<String>)> {
    let error = match Workspace::open_read_only(path) {
        Ok(directory) => return Ok((directory, None)),
        Err(error) => error,
    };
    // What is no directory may be a file in one.
    let around = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return Err(error),
    };
    let name = path.file_name().and_then(|name| name.to_str());
    let (Some(name), Ok(around)) = (name, Workspace::open_read_only(around)) else { return Err(absent(path, error)) };
    match around.find(name)?.open_file() {
        Ok(_) => Ok((around, Some(name.to_owned()))),
        Err(_) => Err(absent(path, error)),
    }
}

/// The person may have meant a file as well as a directory.
fn absent(path: &Path, error: Error) -> Error {
    if error.kind == mainstay_core::Kind::NotFound {
        Error::not_found(format!("There is no file or directory {}.", path.display()))
    } else {
        error
    }
}

/// Where the data of a repository is, if it is not in the work tree: of a linked work tree or a submodule, `.git` is a
/// file that names the directory, which may share most of its data with another. Git may read both, as it does when the
/// person runs it there.
fn linked_repository(top: &Path) -> Vec<PathBuf> {
    let read = |directory: &Path, name: &str| -> Option<String> {
        let file = Workspace::open_read_only(directory).ok()?.find(name).ok()?.open_file().ok()?;
        String::from_utf8(file.read_whole(MAX_LINK_BYTES).ok()??).ok()
    };
    let Some(link) = read(top, ".git") else { return Vec::new() };
    let Some(data) = link.strip_prefix("gitdir:").map(|path| top.join(path.trim())) else { return Vec::new() };
    let shared = read(&data, "commondir").map(|path| data.join(path.trim()));
    std::iter::once(data).chain(shared).filter_map(|path| canonical(&path)).collect()
}

/// The path without `..` and links, which is how the sandbox takes it.
fn canonical(directory: &Path) -> Option<PathBuf> {
    Some(Workspace::open_read_only(directory).ok()?.roots()[0].path().to_owned())
}
