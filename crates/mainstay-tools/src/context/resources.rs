//! Documents as resources: `context://CACHE/DOCUMENT`.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_core::{
    Body, BoxFuture, Contents, Context, Error, Kind, Reason, ResourceInfo, ResourceTemplate, Resources, Result,
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::cache_root::Caches;
use super::watcher::Vigil;
use crate::progress::{Progress, unattended, watched};

const SCHEME: &str = "context://";
const TEMPLATE: &str = "context://{cache}/{+document}";
const MARKDOWN: &str = "text/markdown";

/// What stands in a URI as it is. A name of a cache may hold a slash, which then is no separator.
const IN_CACHE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const IN_DOCUMENT: &AsciiSet = &IN_CACHE.remove(b'/');

/// The most documents that are listed; others are found by the template, or by asking for values of its variables.
const MOST_LISTED: usize = 1000;

pub(crate) struct Shelf {
    caches: Arc<Caches>,
    vigil: Arc<Vigil>,
    /// The most bytes of one document that are read out.
    most: u64,
}

impl Shelf {
    pub(crate) fn new(caches: Arc<Caches>, vigil: Arc<Vigil>, most: u64) -> Self {
        Self { caches, vigil, most }
    }
}

fn uri(cache: &str, document: &str) -> String {
    format!("{SCHEME}{}/{}", utf8_percent_encode(cache, IN_CACHE), utf8_percent_encode(document, IN_DOCUMENT))
}

/// The cache and the document that a URI means.
fn parts(uri: &str) -> Option<(String, String)> {
    let (cache, document) = uri.strip_prefix(SCHEME)?.split_once('/')?;
    let decoded = |text: &str| Some(percent_decode_str(text).decode_utf8().ok()?.into_owned());
    Some((decoded(cache)?, decoded(document)?))
}

fn missing(uri: &str) -> Error {
    Error::not_found(format!("There is no resource {uri:?}.")).with_reason(Reason::uri(uri))
}

/// Those that are finished and whole enough to be opened; the others are left out.
fn list(caches: &Caches, progress: &Progress) -> Vec<ResourceInfo> {
    let named = caches.list(progress).unwrap_or_default().into_iter().filter(|listed| listed.has_manifest);
    let documents = named.flat_map(|listed| {
        let entries = caches.entries(&listed.path, progress).unwrap_or_default();
        entries.into_iter().map(move |entry| ResourceInfo {
            uri: uri(&listed.path, &entry.id),
            title: Some(format!("{} ({})", entry.id, listed.path)),
            name: entry.id,
            mime: Some(MARKDOWN.into()),
            ..ResourceInfo::default()
        })
    });
    documents.take(MOST_LISTED).collect()
}

fn values(caches: &Caches, variable: &str, cache: Option<&str>, typed: &str, progress: &Progress) -> Vec<String> {
    let all: Vec<String> = match (variable, cache) {
        ("cache", _) => caches.list(progress).unwrap_or_default().into_iter().map(|listed| listed.path).collect(),
        ("document", Some(cache)) => {
            caches.entries(cache, progress).unwrap_or_default().into_iter().map(|entry| entry.id).collect()
        }
        _ => Vec::new(),
    };
    all.into_iter().filter(|value| value.starts_with(typed)).collect()
}

impl Resources for Shelf {
    fn list(&self) -> Vec<ResourceInfo> {
        Vec::new()
    }

    fn look(&self) -> BoxFuture<'_, Vec<ResourceInfo>> {
        let caches = self.caches.clone();
        Box::pin(async move { unattended(move |progress| Ok(list(&caches, &progress))).await.unwrap_or_default() })
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        vec![ResourceTemplate {
            uri: TEMPLATE.into(),
            name: "Context Document".into(),
            description: Some("One document of a context cache, as it was when the cache was built".into()),
            mime: Some(MARKDOWN.into()),
            ..ResourceTemplate::default()
        }]
    }

    fn owns(&self, uri: &str) -> bool {
        uri.starts_with(SCHEME)
    }

    fn read<'a>(&'a self, uri: &'a str, context: &'a Context) -> BoxFuture<'a, Result<Vec<Contents>>> {
        Box::pin(async move {
            let (cache, document) = parts(uri).ok_or_else(|| missing(uri))?;
            let (caches, vigil, asked) = (self.caches.clone(), self.vigil.clone(), uri.to_owned());
            let content = watched(context, "documents read", move |progress| {
                let content = caches.document(&cache, &document, &progress)?.ok_or_else(|| missing(&asked))?;
                vigil.add(&asked, &cache, &document, &content);
                Ok(content)
            });
            let absent = |error: Error| if error.kind == Kind::NotFound { missing(uri) } else { error };
            let content = content.await.map_err(absent)?;
            if content.len() as u64 > self.most {
                let told = format!("{uri} has more than {} bytes, which is the most (context.reply_bytes).", self.most);
                return Err(Error::new(Kind::TooLarge, told).with_reason(Reason::uri(uri)));
            }
            Ok(vec![Contents { uri: uri.to_owned(), mime: Some(MARKDOWN.into()), body: Body::Text(content) }])
        })
    }

    fn complete<'a>(
        &'a self,
        template: &'a str,
        variable: &'a str,
        typed: &'a str,
        others: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Vec<String>> {
        if template != TEMPLATE {
            return Box::pin(std::future::ready(Vec::new()));
        }
        let (caches, variable, typed) = (self.caches.clone(), variable.to_owned(), typed.to_owned());
        let cache = others.get("cache").cloned();
        Box::pin(async move {
            let look = move |progress: Progress| Ok(values(&caches, &variable, cache.as_deref(), &typed, &progress));
            unattended(look).await.unwrap_or_default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_uri_means_is_what_it_was_made_of() {
        for (cache, document, spelled) in [
            ("docs", "a/b.md", "context://docs/a/b.md"),
            ("team/docs", "ü 100%.md", "context://team%2Fdocs/%C3%BC%20100%25.md"),
            (".", "?#[].md", "context://./%3F%23%5B%5D.md"),
        ] {
            assert_eq!(uri(cache, document), spelled);
            assert_eq!(parts(spelled), Some((cache.to_owned(), document.to_owned())));
        }
        for none in ["context://docs", "context://%ff/a", "file://docs/a", "context:/docs/a"] {
            assert_eq!(parts(none), None, "{none}");
        }
    }
}
