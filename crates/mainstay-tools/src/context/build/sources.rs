//! Which files become documents: every `*.md` beneath the sources directory.

use std::ffi::OsStr;
use std::path::Path;

use mainstay_core::{CacheFailure, Error, Result};
use mainstay_sandbox::{Dir, EntryKind, Workspace, is_outside_workspace};

use crate::context::cache::{document_id, is_absent};

/// A file that becomes a document.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) id: String,
    /// Its path relative to the sources.
    pub(crate) path: String,
}

/// Opens the sources directory for reading.
pub(crate) fn open(directory: &Path) -> Result<Workspace> {
    Workspace::open_read_only(directory).map_err(|error| {
        let message = format!("The sources {} cannot be read: {}", directory.display(), error.public);
        CacheFailure::Io.because(message, &error)
    })
}

/// All sources, sorted by id. Ids are in lower case, so two paths may collide; that is an error.
pub(crate) fn find(sources: &Workspace) -> Result<Vec<Source>> {
    let mut found = Vec::new();
    let top = sources.find(".").and_then(|path| path.open_dir()).map_err(|error| unreadable(".", &error))?;
    collect(&top, &mut found)?;
    found.sort_unstable_by(|a: &Source, b: &Source| a.id.cmp(&b.id).then_with(|| a.path.cmp(&b.path)));
    match found.windows(2).find(|pair| pair[0].id == pair[1].id) {
        Some(pair) => Err(CacheFailure::CacheInvalid.error(format!(
            "{} and {} would both be the document {:?}, because ids are in lower case; rename one of them.",
            pair[0].path, pair[1].path, pair[0].id
        ))),
        None => Ok(found),
    }
}

/// Walks the directories depth first. Links to directories are not followed, so the walk ends.
fn collect(directory: &Dir, found: &mut Vec<Source>) -> Result<()> {
    let entries = directory.entries().map_err(|error| unreadable(&directory.display(), &error))?;
    for entry in entries {
        let name = entry.name.as_os_str();
        match entry.kind {
            EntryKind::Directory => {
                let path = directory.display_child(name);
                collect(&directory.child(name).map_err(|error| unreadable(&path, &error))?, found)?;
            }
            EntryKind::File if is_document(name) => found.push(source(directory, name)?),
            EntryKind::Symlink if is_document(name) && links_to_file(directory, name)? => {
                found.push(source(directory, name)?);
            }
            EntryKind::File | EntryKind::Symlink | EntryKind::Other => {}
        }
    }
    Ok(())
}

/// The extension is compared exactly: the contract ignores `.MD`.
fn is_document(name: &OsStr) -> bool {
    Path::new(name).extension() == Some(OsStr::new("md"))
}

/// A link counts as the file it leads to, within the sources. One that leads out of them is an error: its target was not
/// meant to be readable by everybody who can query the cache.
fn links_to_file(directory: &Dir, name: &OsStr) -> Result<bool> {
    let path = directory.display_child(name);
    match directory.workspace().find(&path).and_then(|path| path.open_file()) {
        Ok(_) => Ok(true),
        Err(error) if is_outside_workspace(&error) => {
            let message =
                format!("{path} is a link that leads out of the sources; replace it with a copy, or remove it.");
            Err(CacheFailure::Io.error(message))
        }
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) => Err(unreadable(&path, &error)),
    }
}

/// Paths are joined with `/` on every system, so that ids are the same everywhere.
fn source(directory: &Dir, name: &OsStr) -> Result<Source> {
    let names = directory.names().iter().map(std::ffi::OsString::as_os_str).chain([name]);
    let names: Option<Vec<&str>> = names.map(OsStr::to_str).collect();
    let Some(path) = names.map(|names| names.join("/")) else {
        let shown = directory.display_child(name);
        return Err(CacheFailure::Io.error(format!("The name {shown:?} is not UTF-8; rename the file.")));
    };
    Ok(Source { id: document_id(&path), path })
}

pub(crate) fn unreadable(path: &str, error: &Error) -> Error {
    CacheFailure::Io.because(format!("{path} in the sources cannot be read: {}", error.public), error)
}
