//! Which files become documents: every `.md` beneath a directory.

use std::ffi::OsStr;
use std::path::Path;

use mainstay_core::{Error, Kind, Result};
use mainstay_sandbox::{Dir, EntryKind, Workspace, is_outside_workspace};

use crate::context::cache::error::Failure;

/// A file that becomes a document.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) id: String,
    /// Its path from the sources on.
    pub(crate) path: String,
}

/// Opens a directory of sources.
pub(crate) fn open(directory: &Path) -> Result<Workspace> {
    Workspace::open_read_only(directory).map_err(|error| {
        let told = format!("The sources {} cannot be read: {}", directory.display(), error.public);
        Failure::Io.because(told, &error)
    })
}

/// All of them, in the order of their ids.
pub(crate) fn find(sources: &Workspace) -> Result<Vec<Source>> {
    let mut found = Vec::new();
    let top = sources.find(".").and_then(|spot| spot.open_dir()).map_err(|error| unreadable(".", &error))?;
    collect(&top, &mut found)?;
    found.sort_unstable_by(|a: &Source, b: &Source| a.id.cmp(&b.id).then_with(|| a.path.cmp(&b.path)));
    match found.windows(2).find(|pair| pair[0].id == pair[1].id) {
        Some(pair) => Err(Failure::CacheInvalid.error(format!(
            "{} and {} would both be the document {:?}, because ids are in lower case; rename one of them.",
            pair[0].path, pair[1].path, pair[0].id
        ))),
        None => Ok(found),
    }
}

fn collect(directory: &Dir, found: &mut Vec<Source>) -> Result<()> {
    let entries = directory.entries().map_err(|error| unreadable(&directory.display(), &error))?;
    for entry in entries {
        let name = entry.name.as_os_str();
        match entry.kind {
            EntryKind::Directory => {
                let shown = directory.display_child(name);
                collect(&directory.child(name).map_err(|error| unreadable(&shown, &error))?, found)?;
            }
            EntryKind::File if is_document(name) => found.push(source(directory, name)?),
            EntryKind::Symlink if is_document(name) && leads_to_a_file(directory, name)? => {
                found.push(source(directory, name)?);
            }
            EntryKind::File | EntryKind::Symlink | EntryKind::Other => {}
        }
    }
    Ok(())
}

fn is_document(name: &OsStr) -> bool {
    Path::new(name).extension() == Some(OsStr::new("md"))
}

/// A link counts as the file it leads to, as long as that is one of the sources' own. What is elsewhere was not meant to
/// be read by everybody who can ask the cache.
fn leads_to_a_file(directory: &Dir, name: &OsStr) -> Result<bool> {
    let shown = directory.display_child(name);
    match directory.workspace().find(&shown).and_then(|spot| spot.open_file()) {
        Ok(_) => Ok(true),
        Err(error) if is_outside_workspace(&error) => {
            let told =
                format!("{shown} is a link that leads out of the sources; put a copy in its place, or remove it.");
            Err(Failure::Io.error(told))
        }
        Err(error) if matches!(error.kind, Kind::NotFound | Kind::Invalid) => Ok(false),
        Err(error) => Err(unreadable(&shown, &error)),
    }
}

fn source(directory: &Dir, name: &OsStr) -> Result<Source> {
    let names = directory.names().iter().map(std::ffi::OsString::as_os_str).chain([name]);
    let names: Option<Vec<&str>> = names.map(OsStr::to_str).collect();
    let Some(path) = names.map(|names| names.join("/")) else {
        let shown = directory.display_child(name);
        return Err(Failure::Io.error(format!("The name {shown:?} is not UTF-8; rename the file.")));
    };
    Ok(Source { id: id_of(&path), path })
}

/// The id of the document that a file of this path becomes.
pub(crate) fn id_of(path: &str) -> String {
    path.replace('\\', "/").trim_start_matches("./").to_lowercase()
}

pub(crate) fn unreadable(shown: &str, error: &Error) -> Error {
    Failure::Io.because(format!("{shown} in the sources cannot be read: {}", error.public), error)
}
