//! All templates, ours and those of users: found by URI, listed, and searched.

use std::path::PathBuf;
use std::sync::Arc;

use mainstay_core::{CancellationToken, Error, Reason, Result, quoted};

use super::builtin;
use super::directories::{self, BrokenTemplate, UserTemplates};
use super::template::Template;
use super::uri::TemplateUri;
use crate::progress::blocking;

/// Where templates come from.
#[derive(Debug, Clone, Default)]
pub(super) struct Catalogue {
    directories: Arc<Vec<PathBuf>>,
}

/// The templates of one moment.
pub(super) struct Templates {
    /// Sorted by URI.
    pub(super) all: Vec<Arc<Template>>,
    pub(super) broken: Vec<BrokenTemplate>,
}

impl Catalogue {
    pub(super) fn new(directories: Vec<PathBuf>) -> Self {
        Self { directories: Arc::new(directories) }
    }

    /// All templates. Waits for the disk only if there are directories of users.
    pub(super) async fn templates(&self, cancel: &CancellationToken) -> Result<Templates> {
        if self.directories.is_empty() {
            return Ok(Templates::new(UserTemplates::default()));
        }
        let (directories, cancel) = (self.directories.clone(), cancel.clone());
        blocking(move || directories::read(&directories, &cancel).map(Templates::new)).await
    }

    /// The same on the thread of the caller, for the command line.
    pub(super) fn read(&self) -> Result<Templates> {
        directories::read(&self.directories, &CancellationToken::new()).map(Templates::new)
    }

    /// The template with this URI. Ours are found without the disk.
    pub(super) async fn find(&self, uri: &str, cancel: &CancellationToken) -> Result<Arc<Template>> {
        let parsed = TemplateUri::parse(uri)?;
        if let Some(template) = builtin::all().iter().find(|template| template.uri == parsed) {
            return Ok(template.clone());
        }
        self.templates(cancel).await?.find(&parsed)
    }
}

impl Templates {
    fn new(user: UserTemplates) -> Self {
        let mut all = user.templates;
        all.extend(builtin::all().iter().cloned());
        all.sort_by(|one, other| one.uri.cmp(&other.uri));
        Self { all, broken: user.broken }
    }

    fn find(&self, uri: &TemplateUri) -> Result<Arc<Template>> {
        let found = self.all.iter().find(|template| template.uri == *uri);
        found.cloned().ok_or_else(|| {
            let uri = uri.to_string();
            let known: Vec<String> = self.all.iter().map(|template| template.uri.to_string()).collect();
            not_found(&uri, &known)
        })
    }

    /// The toolchains that have a template.
    pub(super) fn toolchains(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.all.iter().map(|template| template.uri.toolchain.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The kinds of file that have a template.
    pub(super) fn categories(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.all.iter().map(|template| template.uri.category.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Those of a toolchain and a category. A name that no template has is an error, which tells the names there are: an
    /// empty list would look as if nothing had been installed.
    pub(super) fn select(&self, toolchain: Option<&str>, category: Option<&str>) -> Result<Vec<Arc<Template>>> {
        check_known("toolchain", toolchain, &self.toolchains())?;
        check_known("category", category, &self.categories())?;
        let matches = |template: &&Arc<Template>| {
            toolchain.is_none_or(|name| template.uri.toolchain == name)
                && category.is_none_or(|name| template.uri.category == name)
        };
        Ok(self.all.iter().filter(matches).cloned().collect())
    }
}

fn check_known(field: &str, name: Option<&str>, known: &[&str]) -> Result<()> {
    match name {
        Some(name) if !known.contains(&name) => {
            let reason = format!("There is no {field} {}; there are: {}.", quoted(name), known.join(", "));
            Err(Error::field(field, reason))
        }
        Some(_) | None => Ok(()),
    }
}

/// The most names that an error lists.
const MAX_NAMED: usize = 20;

/// The error for a URI or a name that no template has, with the one that was probably meant.
pub(super) fn not_found(wanted: &str, known: &[String]) -> Error {
    let hint = nearest(wanted, known).map_or_else(
        || {
            let more = if known.len() > MAX_NAMED { ", …" } else { "" };
            format!("There are: {}{more}", known[..known.len().min(MAX_NAMED)].join(", "))
        },
        |nearest| format!("Did you mean {nearest}?"),
    );
    Error::not_found(format!("There is no template {}. {hint}", quoted(wanted)))
        .with_reason(Reason::TemplateNotFound { uri: wanted.chars().take(300).collect() })
}

/// The known name that was probably misspelt.
fn nearest<'a>(wanted: &str, known: &'a [String]) -> Option<&'a str> {
    // What is much longer than every name cannot be near one, and comparing takes the product of both lengths.
    if wanted.len() > 300 {
        return None;
    }
    let distances = known.iter().filter_map(|name| Some((distance(wanted, name)?, name)));
    distances.min().map(|(_, name)| name.as_str())
}

/// How far two names are apart, if each part of them differs in at most a third of its letters: of a URI most letters are
/// the same, whatever template it names.
fn distance(one: &str, other: &str) -> Option<usize> {
    if one.split('/').count() != other.split('/').count() {
        return None;
    }
    one.split('/').zip(other.split('/')).try_fold(0, |sum, (a, b)| {
        let edits = edits(a, b);
        (edits * 3 <= b.len()).then_some(sum + edits)
    })
}

/// The number of letters to insert, remove or replace.
fn edits(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}

/// How well a template fits a query, and whether it does at all. A query of several words that are nowhere together has
/// the score of its weakest word, so that every word counts.
pub(super) fn relevance(template: &Template, query: &str) -> u32 {
    let query = query.trim().to_lowercase();
    let whole = phrase_relevance(template, &query);
    if whole > 0 || !query.contains(char::is_whitespace) {
        return whole;
    }
    query.split_whitespace().map(|word| phrase_relevance(template, word)).min().unwrap_or(0)
}

/// Contract 004's weights: the exact name 10, or a part of it 5; the description 3; each parameter's name 1.
fn phrase_relevance(template: &Template, phrase: &str) -> u32 {
    if phrase.is_empty() {
        return 0;
    }
    let manifest = &template.manifest;
    let name = manifest.name.to_lowercase();
    let by_name = if name == phrase {
        10
    } else if name.contains(phrase) {
        5
    } else {
        0
    };
    let by_description = if manifest.description.to_lowercase().contains(phrase) { 3 } else { 0 };
    let named = manifest.properties().filter(|(name, _)| name.to_lowercase().contains(phrase)).count();
    by_name + by_description + u32::try_from(named).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builtin(uri: &str) -> Arc<Template> {
        builtin::all().iter().find(|template| template.uri.to_string() == uri).unwrap().clone()
    }

    #[test]
    fn relevance_has_the_weights_of_the_contract() {
        let makefile = builtin("template://makefile/rust/cli");
        for (query, expected) in [
            ("Rust CLI Makefile", 10),
            ("rust cli makefile", 10),
            ("makefile", 8),
            ("cli", 8),
            ("professional", 3),
            ("has_", 2),
            ("features", 1),
            ("nothing", 0),
            ("", 0),
            (" ", 0),
            ("makefile rust", 8),
            ("rust features", 1),
            ("rust nothing", 0),
        ] {
            assert_eq!(relevance(&makefile, query), expected, "{query:?}");
        }
    }

    #[test]
    fn a_misspelt_uri_suggests_the_one_that_was_meant() {
        let templates = Templates::new(UserTemplates::default());
        let wanted = TemplateUri::parse("template://makefiles/rust/cli").unwrap();
        let error = templates.find(&wanted).err().unwrap();
        assert!(error.public.ends_with("Did you mean template://makefile/rust/cli?"), "{error}");
        for other in ["template://d/e/f", "template://makefile/cobol/cli"] {
            let error = templates.find(&TemplateUri::parse(other).unwrap()).err().unwrap();
            assert!(error.public.contains("There are: template://gitignore/deno/cli, "), "{error}");
            assert_eq!(*error.reason.unwrap(), Reason::TemplateNotFound { uri: other.into() });
        }
    }

    #[test]
    fn an_unknown_toolchain_is_told_those_there_are() {
        let templates = Templates::new(UserTemplates::default());
        let error = templates.select(Some("fortran"), None).err().unwrap();
        assert!(error.public.contains("deno, python-uv, rust"), "{error}");
        assert_eq!(templates.select(Some("deno"), Some("readme")).unwrap().len(), 1);
    }
}
