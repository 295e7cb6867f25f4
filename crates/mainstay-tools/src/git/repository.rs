//! Which git repository a directory of the workspace belongs to.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use mainstay_code::churn::Layout;
use mainstay_core::{Error, Kind, Result};
use mainstay_sandbox::{Dir, Workspace};

/// A repository of the workspace, and the part of it that a caller has named.
#[derive(Debug)]
pub(crate) struct Repository {
    /// The directory of the work tree, or of the data if there is none.
    pub(crate) top: Dir,
    pub(crate) layout: Layout,
    /// The caller's directory, relative to the top; `None` if it is the top.
    pub(crate) inside: Option<String>,
}

impl Repository {
    /// Finds the repository around a directory, upwards as git does, but never outside the root.
    pub(crate) fn find(workspace: &Workspace, path: &str) -> Result<Self> {
        let directory = open_directory(workspace, path)?;
        let names = directory.names();
        let mut levels = vec![root_of(&directory)?];
        for name in names {
            let child = levels[levels.len() - 1].child(name).map_err(as_project_path)?;
            levels.push(child);
        }
        for (depth, level) in levels.into_iter().enumerate().rev() {
            let Some(layout) = layout(&level) else { continue };
            let inside = if depth == names.len() { None } else { Some(relative_path(&names[depth..])?) };
            return Ok(Self { top: level, layout, inside });
        }
        let shown = if names.is_empty() { "This directory".to_owned() } else { directory.display() };
        let line = format!("{shown} is not in a git repository; its history cannot be analysed.");
        Err(Error::field("project_path", line))
    }
}

/// Opens the directory that a caller has named; an error names the argument.
pub(crate) fn open_directory(workspace: &Workspace, path: &str) -> Result<Dir> {
    workspace.find(path).and_then(|found| found.open_dir()).map_err(as_project_path)
}

/// Names the argument that a path was given in, also if there is nothing at that path.
pub(crate) fn as_project_path(error: Error) -> Error {
    let about_the_path = matches!(error.kind, Kind::Invalid | Kind::NotFound);
    if about_the_path { Error::field("project_path", error.public) } else { error }
}

/// The directory of the root that a directory is in.
fn root_of(directory: &Dir) -> Result<Dir> {
    let workspace = directory.workspace();
    let primary = workspace.roots().first().is_some_and(|first| std::sync::Arc::ptr_eq(first, directory.root()));
    let path = if primary { Some(".") } else { directory.root().path().to_str() };
    let path = path.ok_or_else(|| Error::invalid("The path of this root is not valid UTF-8."))?;
    workspace.find(path)?.open_dir()
}

/// The kind of repository that has its top here, if one has. Only names are looked at: what is in `.git` is git's.
pub(super) fn layout(directory: &Dir) -> Option<Layout> {
    let has = |name: &str| directory.metadata(OsStr::new(name)).is_ok();
    if has(".git") {
        Some(Layout::WorkTree)
    } else if ["HEAD", "objects", "refs"].iter().all(|name| has(name)) {
        Some(Layout::Bare)
    } else {
        None
    }
}

/// The top of the repository around a directory, and the directory seen from there; the directory itself if it is in none.
pub(crate) fn repository_top(directory: &Path) -> (PathBuf, String) {
    let top = directory.ancestors().find(|above| is_repository(above)).unwrap_or(directory);
    match directory.strip_prefix(top).ok().and_then(Path::to_str) {
        Some(inside) => (top.to_owned(), inside.to_owned()),
        // Paths are told as text. Below a name that is none, the directory itself is the top.
        None => (directory.to_owned(), String::new()),
    }
}

/// Whether a repository has its top here.
fn is_repository(directory: &Path) -> bool {
    let opened = Workspace::open_read_only(directory).and_then(|opened| opened.find(".")?.open_dir());
    opened.is_ok_and(|directory| layout(&directory).is_some())
}

/// A path for an argument of git.
fn relative_path(names: &[std::ffi::OsString]) -> Result<String> {
    let names: Option<Vec<&str>> = names.iter().map(|name| name.to_str()).collect();
    names.map(|names| names.join("/")).ok_or_else(|| {
        Error::field("project_path", "A name in the path is not valid UTF-8; analyse the directory above it instead.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::SampleWorkspace;

    fn found(sample: &SampleWorkspace, path: &str) -> Result<(String, Option<String>, Layout)> {
        let repository = Repository::find(sample.workspace(), path)?;
        Ok((repository.top.display(), repository.inside, repository.layout))
    }

    #[test]
    fn a_directory_inside_belongs_to_the_innermost_repository_around_it() {
        let sample = SampleWorkspace::with(&[
            (".git/HEAD", ""),
            ("a/b/f", ""),
            ("sub/.git", "gitdir: x"),
            ("sub/c/f", ""),
            ("bare.git/HEAD", ""),
            ("bare.git/objects/x", ""),
            ("bare.git/refs/x", ""),
        ]);
        assert_eq!(found(&sample, ".").unwrap(), (".".into(), None, Layout::WorkTree));
        assert_eq!(found(&sample, "a/b").unwrap(), (".".into(), Some("a/b".into()), Layout::WorkTree));
        assert_eq!(found(&sample, "sub/c").unwrap(), ("sub".into(), Some("c".into()), Layout::WorkTree));
        assert_eq!(found(&sample, "bare.git").unwrap(), ("bare.git".into(), None, Layout::Bare));
    }

    #[test]
    fn wrong_paths_are_told_with_their_argument() {
        let sample = SampleWorkspace::with(&[("a/f", "")]);
        for (path, part) in [
            ("a", "not in a git repository"),
            ("/", "outside"),
            ("a/f", "is a file"),
            ("", "empty"),
            ("missing", "There is no missing"),
        ] {
            let error = found(&sample, path).unwrap_err();
            assert!(error.public.contains(part), "{path}: {error}");
            assert_eq!(error.field_name(), Some("project_path"), "{path}");
        }
    }
}
