//! Documents of caches as resources: `context://CACHE/DOCUMENT`.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_core::{
    Body, BoxFuture, Contents, Context, Error, Kind, Reason, ResourceInfo, ResourceProvider, ResourceTemplate, Result,
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::cache_root::{CachePage, CacheRoot};
use super::watcher::DocumentWatcher;
use crate::progress::{Progress, run_with_progress, run_with_timeout};

const SCHEME: &str = "context://";
/// `{+document}` keeps slashes: an id is a path.
const TEMPLATE: &str = "context://{cache}/{+document}";
const MARKDOWN: &str = "text/markdown";

/// Characters that are percent-encoded. A slash in the name of a cache is, because it would end the name.
const CACHE_ESCAPES: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const DOCUMENT_ESCAPES: &AsciiSet = &CACHE_ESCAPES.remove(b'/');

/// The most documents that are listed. Clients find the others by the template and its completions.
const MAX_LISTED: usize = 1000;

/// Lists and reads the documents of all caches.
pub(super) struct DocumentResources {
    pub(super) caches: Arc<CacheRoot>,
    pub(super) watcher: Arc<DocumentWatcher>,
    /// The largest document that is returned, in bytes.
    pub(super) max_bytes: u64,
}

fn format_uri(cache: &str, document: &str) -> String {
    let (cache, document) =
        (utf8_percent_encode(cache, CACHE_ESCAPES), utf8_percent_encode(document, DOCUMENT_ESCAPES));
    format!("{SCHEME}{cache}/{document}")
}

/// The cache and the document of a URI.
fn parse_uri(uri: &str) -> Option<(String, String)> {
    let (cache, document) = uri.strip_prefix(SCHEME)?.split_once('/')?;
    let decode = |text: &str| Some(percent_decode_str(text).decode_utf8().ok()?.into_owned());
    Some((decode(cache)?, decode(document)?))
}

fn not_found(uri: &str) -> Error {
    Error::not_found(format!("There is no resource {uri:?}.")).with_reason(Reason::uri(uri))
}

fn cache_names(caches: &CacheRoot, progress: &Progress) -> Vec<String> {
    let (listed, _) = caches.list(&CachePage::ALL, progress).unwrap_or_default();
    listed.into_iter().map(|listed| listed.path).collect()
}

/// None for a directory that is not a cache, or a damaged one.
fn document_ids(caches: &CacheRoot, cache: &str, progress: &Progress) -> Vec<String> {
    caches.entries(cache, progress).unwrap_or_default().into_iter().map(|entry| entry.id).collect()
}

/// Documents of all caches that can be read; a damaged one must not keep the others from being listed.
fn list(caches: &CacheRoot, progress: &Progress) -> Vec<ResourceInfo> {
    let documents = cache_names(caches, progress).into_iter().flat_map(|cache| {
        document_ids(caches, &cache, progress).into_iter().map(move |id| ResourceInfo {
            uri: format_uri(&cache, &id),
            title: Some(format!("{id} ({cache})")),
            name: id,
            mime: Some(MARKDOWN.into()),
            ..ResourceInfo::default()
        })
    });
    documents.take(MAX_LISTED).collect()
}

impl ResourceProvider for DocumentResources {
    /// Nothing is known without reading the disk; `look` does that.
    fn list(&self) -> Vec<ResourceInfo> {
        Vec::new()
    }

    fn list_fresh(&self) -> BoxFuture<'_, Vec<ResourceInfo>> {
        let caches = self.caches.clone();
        let listed = run_with_timeout(move |progress| Ok(list(&caches, &progress)));
        Box::pin(async move { listed.await.unwrap_or_default() })
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

    /// Reads a document and watches it from then on.
    fn read<'a>(&'a self, uri: &'a str, context: &'a Context) -> BoxFuture<'a, Result<Vec<Contents>>> {
        Box::pin(async move {
            let (cache, document) = parse_uri(uri).ok_or_else(|| not_found(uri))?;
            let (caches, watcher, requested) = (self.caches.clone(), self.watcher.clone(), uri.to_owned());
            let content = run_with_progress(context, "documents read", move |progress| {
                let content = caches.document(&cache, &document, &progress)?.ok_or_else(|| not_found(&requested))?;
                // With the content that was read: if the cache is replaced before the first poll, that is noticed.
                watcher.add(&requested, &cache, &document, &content);
                Ok(content)
            });
            // A missing cache is a missing resource; the contract's code for it belongs to the tools.
            let absent = |error: Error| if error.kind == Kind::NotFound { not_found(uri) } else { error };
            let content = content.await.map_err(absent)?;
            if content.len() as u64 > self.max_bytes {
                let message = format!("{uri} is larger than {} bytes (context.reply_bytes).", self.max_bytes);
                return Err(Error::new(Kind::TooLarge, message).with_reason(Reason::uri(uri)));
            }
            Ok(vec![Contents { uri: uri.to_owned(), mime: Some(MARKDOWN.into()), body: Body::Text(content) }])
        })
    }

    /// Names of caches, and ids of documents once the cache is known. Empty rather than an error: a completion is a
    /// convenience.
    fn complete<'a>(
        &'a self,
        template: &'a str,
        variable: &'a str,
        typed: &'a str,
        others: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Vec<String>> {
        let (caches, variable, cache) = (self.caches.clone(), variable.to_owned(), others.get("cache").cloned());
        let is_ours = template == TEMPLATE;
        let values = run_with_timeout(move |progress| match (variable.as_str(), cache) {
            ("cache", _) if is_ours => Ok(cache_names(&caches, &progress)),
            ("document", Some(cache)) if is_ours => Ok(document_ids(&caches, &cache, &progress)),
            _ => Ok(Vec::new()),
        });
        Box::pin(async move {
            let values = values.await.unwrap_or_default();
            values.into_iter().filter(|value| value.starts_with(typed)).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uri_is_parsed_into_what_it_was_made_of() {
        for (cache, document, uri) in [
            ("docs", "a/b.md", "context://docs/a/b.md"),
            ("team/docs", "ü 100%.md", "context://team%2Fdocs/%C3%BC%20100%25.md"),
            (".", "?#[].md", "context://./%3F%23%5B%5D.md"),
        ] {
            assert_eq!(format_uri(cache, document), uri);
            assert_eq!(parse_uri(uri), Some((cache.to_owned(), document.to_owned())));
        }
        for malformed in ["context://docs", "context://%ff/a", "file://docs/a", "context:/docs/a"] {
            assert_eq!(parse_uri(malformed), None, "{malformed}");
        }
    }
}
