//! Templates of users: directories that the operator names (`templates.directories`), with one subdirectory for each
//! template.
//!
//! They are read through the sandbox, which follows no link, whenever somebody asks for a template that is not one of
//! ours: a change of a template counts at once. A template that does not load is reported and left out; the others are
//! served.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mainstay_core::{CancellationToken, Result};
use mainstay_sandbox::{Dir, EntryKind, Workspace};

use super::builtin;
use super::template::Template;
use crate::progress::check_cancelled;

/// The files of a template.
const MANIFEST: &str = "manifest.json";
const TEXT: &str = "template.j2";

/// The largest of each, in bytes.
const MAX_MANIFEST: u64 = 64 * 1024;
const MAX_TEXT: u64 = 256 * 1024;

/// The most templates of all directories together.
const MAX_TEMPLATES: usize = 200;

/// The most entries of one directory that are looked at.
const MAX_ENTRIES: usize = 1000;

/// A directory, or an entry of one, that is no template, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenTemplate {
    /// The directory as it is configured.
    pub directory: PathBuf,
    /// The entry in it; `None` if the directory itself cannot be read.
    pub entry: Option<String>,
    pub reason: String,
}

impl BrokenTemplate {
    /// For callers, who are not told where the directory is.
    pub(super) fn without_directory(&self) -> String {
        match &self.entry {
            Some(entry) => format!("template {entry:?}: {}", self.reason),
            None => "a directory of templates cannot be read; `mainstay doctor` says more".to_owned(),
        }
    }
}

impl std::fmt::Display for BrokenTemplate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.entry.as_ref().map_or(self.directory.clone(), |entry| self.directory.join(entry));
        write!(f, "{}: {}", path.display(), self.reason)
    }
}

/// What the directories hold.
#[derive(Default)]
pub(super) struct UserTemplates {
    /// Sorted by URI, and none of them has the URI of another.
    pub(super) templates: Vec<Arc<Template>>,
    pub(super) broken: Vec<BrokenTemplate>,
}

/// Reads all directories. Blocks on the disk.
pub(super) fn read(directories: &[PathBuf], cancel: &CancellationToken) -> Result<UserTemplates> {
    let mut found = UserTemplates::default();
    for directory in directories {
        let opened = Workspace::open_read_only(directory).and_then(|root| root.find(".")?.open_dir());
        match opened.and_then(|opened| Ok((sorted_entries(&opened)?, opened))) {
            Ok((mut entries, opened)) => {
                if entries.len() > MAX_ENTRIES {
                    let reason = format!("it has {} entries; only {MAX_ENTRIES} are looked at", entries.len());
                    found.broken.push(broken(directory, None, reason));
                    entries.truncate(MAX_ENTRIES);
                }
                read_entries(directory, &opened, entries, &mut found, cancel)?;
            }
            Err(error) => found.broken.push(broken(directory, None, error.public.into_owned())),
        }
    }
    found.templates.sort_by(|one, other| one.uri.cmp(&other.uri));
    Ok(found)
}

fn broken(directory: &Path, entry: Option<&str>, reason: String) -> BrokenTemplate {
    BrokenTemplate { directory: directory.to_owned(), entry: entry.map(str::to_owned), reason }
}

/// Names and kinds, without hidden entries: a directory under version control has some.
fn sorted_entries(directory: &Dir) -> Result<Vec<(String, EntryKind)>> {
    let entries = directory.entries()?.into_iter();
    let mut named: Vec<_> = entries
        .map(|entry| (entry.name.to_string_lossy().into_owned(), entry.kind))
        .filter(|(name, _)| !name.starts_with('.'))
        .collect();
    named.sort();
    Ok(named)
}

fn read_entries(
    directory: &Path,
    opened: &Dir,
    entries: Vec<(String, EntryKind)>,
    found: &mut UserTemplates,
    cancel: &CancellationToken,
) -> Result<()> {
    for (name, kind) in entries {
        check_cancelled(cancel)?;
        let loaded = match kind {
            // Notes of the author, such as a README.
            EntryKind::File => continue,
            EntryKind::Directory if found.templates.len() >= MAX_TEMPLATES => {
                Err(format!("there are more than {MAX_TEMPLATES} templates"))
            }
            EntryKind::Directory => load(opened, &name),
            EntryKind::Symlink => {
                Err("it is a symbolic link, which is not followed; copy the template here".to_owned())
            }
            EntryKind::Other => Err("it is not a directory".to_owned()),
        };
        match loaded.and_then(|template| not_taken(template, &found.templates)) {
            Ok(template) => found.templates.push(Arc::new(template)),
            Err(reason) => found.broken.push(broken(directory, Some(&name), reason)),
        }
    }
    Ok(())
}

fn load(directory: &Dir, name: &str) -> Result<Template, String> {
    let template = directory.child(name.as_ref()).map_err(|error| error.public.into_owned())?;
    let manifest = read_text(&template, MANIFEST, MAX_MANIFEST)?;
    let text = read_text(&template, TEXT, MAX_TEXT)?;
    Template::load(&manifest, &text)
}

fn read_text(template: &Dir, name: &str, limit: u64) -> Result<String, String> {
    let bytes = template.file(name.as_ref()).and_then(|file| file.read_whole(limit));
    match bytes {
        Ok(Some(bytes)) => String::from_utf8(bytes).map_err(|_| format!("{name} is not UTF-8")),
        Ok(None) => Err(format!("{name} is larger than {limit} bytes")),
        Err(error) => Err(format!("{name} cannot be read: {}", error.public)),
    }
}

/// Which of two templates with one URI is used must not depend on the order of directories.
fn not_taken(template: Template, others: &[Arc<Template>]) -> Result<Template, String> {
    let taken = builtin::all().iter().chain(others).any(|other| other.uri == template.uri);
    if taken {
        return Err(format!("another template has the URI {}; choose another variant in manifest.json", template.uri));
    }
    Ok(template)
}
