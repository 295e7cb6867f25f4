//! The resources that the suite reads and subscribes to.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mainstay_core::{
    Body, BoxFuture, Change, Contents, Context, Error, Event, Reason, Reply, ResourceInfo, ResourceProvider,
    ResourceTemplate, Result, Spec, Tool,
};
use serde_json::json;

use crate::content::PNG;
use crate::{NoArgs, fixture};

const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
const WATCHED: &str = "test://watched-resource";
const TEMPLATE: &str = "test://template/{id}/data";

#[derive(Clone, Default)]
pub(crate) struct TestResources {
    /// How often the watched resource has changed.
    revision: Arc<AtomicU64>,
}

impl TestResources {
    fn find(&self, uri: &str) -> Option<(&'static str, Body)> {
        match uri {
            TEXT => Some(("text/plain", Body::Text("This is the content of the static text resource.".to_owned()))),
            BINARY => Some(("image/png", Body::Bytes(PNG.to_vec()))),
            WATCHED => {
                let revision = self.revision.load(Ordering::Relaxed);
                Some(("text/plain", Body::Text(format!("Watched resource content, revision {revision}."))))
            }
            other => {
                let id = variable(other)?;
                let text = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
                Some(("application/json", Body::Text(text.to_string())))
            }
        }
    }
}

/// What `{id}` stands for in this URI, if the template made it.
fn variable(uri: &str) -> Option<&str> {
    let (head, tail) = TEMPLATE.split_once("{id}")?;
    uri.strip_prefix(head)?.strip_suffix(tail).filter(|id| !id.is_empty() && !id.contains('/'))
}

impl ResourceProvider for TestResources {
    fn list(&self) -> Vec<ResourceInfo> {
        let entry = |uri: &str, name: &str, description: &str, mime: &str| ResourceInfo {
            uri: uri.to_owned(),
            name: name.to_owned(),
            description: Some(description.to_owned()),
            mime: Some(mime.to_owned()),
            ..ResourceInfo::default()
        };
        vec![
            entry(TEXT, "Static Text Resource", "A text that never changes", "text/plain"),
            entry(BINARY, "Static Binary Resource", "An image that never changes", "image/png"),
            entry(WATCHED, "Watched Resource", "A text to subscribe to", "text/plain"),
        ]
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        vec![ResourceTemplate {
            uri: TEMPLATE.to_owned(),
            name: "Dynamic Resource".to_owned(),
            description: Some("A document for any id".to_owned()),
            mime: Some("application/json".to_owned()),
            ..ResourceTemplate::default()
        }]
    }

    fn owns(&self, uri: &str) -> bool {
        uri.starts_with("test://")
    }

    fn read<'a>(&'a self, uri: &'a str, _context: &'a Context) -> BoxFuture<'a, Result<Vec<Contents>>> {
        let found = match self.find(uri) {
            Some((mime, body)) => Ok(vec![Contents { uri: uri.to_owned(), mime: Some(mime.to_owned()), body }]),
            None => Err(Error::not_found(format!("There is no resource {uri}.")).with_reason(Reason::uri(uri))),
        };
        Box::pin(std::future::ready(found))
    }

    fn complete<'a>(
        &'a self,
        template: &'a str,
        _variable: &'a str,
        typed: &'a str,
        _others: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Vec<String>> {
        let known = ["123", "124", "456"].into_iter().filter(|id| template == TEMPLATE && id.starts_with(typed));
        Box::pin(std::future::ready(known.map(str::to_owned).collect()))
    }
}

/// Not of the suite: changes the watched resource, for our own tests of subscriptions.
pub(crate) struct TriggerResourceChange(pub(crate) TestResources);

impl Tool for TriggerResourceChange {
    const SPEC: Spec = fixture("trigger_resource_change", "Changes the watched resource and announces it.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<Reply> {
        let revision = self.0.revision.fetch_add(1, Ordering::Relaxed) + 1;
        context.announce(Event::ResourceUpdated { uri: WATCHED.into(), change: Change::Modified });
        Ok(Reply::text(format!("The watched resource is now at revision {revision}.")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ScriptedClient;
    use mainstay_core::Kind;

    async fn read(uri: &str) -> Result<Vec<Contents>> {
        TestResources::default().read(uri, &Context::detached()).await
    }

    #[tokio::test]
    async fn the_template_fills_in_its_variable() {
        let contents = read("test://template/123/data").await.unwrap();
        let Body::Text(text) = &contents[0].body else { panic!("no text") };
        assert!(text.contains("Data for ID: 123"), "{text}");
    }

    #[tokio::test]
    async fn what_is_not_there_is_named_in_the_error() {
        for uri in ["test://nonexistent", "test://template//data", "test://template/a/b/data"] {
            let error = read(uri).await.unwrap_err();
            assert_eq!(error.kind, Kind::NotFound);
            assert_eq!(*error.reason.unwrap(), Reason::uri(uri));
        }
    }

    #[tokio::test]
    async fn a_change_is_announced_and_can_be_read() {
        let (shelf, script) = (TestResources::default(), ScriptedClient::new());
        TriggerResourceChange(shelf.clone()).call(NoArgs {}, &script.context()).await.unwrap();
        assert_eq!(script.events(), [Event::ResourceUpdated { uri: WATCHED.into(), change: Change::Modified }]);
        let contents = shelf.read(WATCHED, &script.context()).await.unwrap();
        assert_eq!(contents[0].body, Body::Text("Watched resource content, revision 1.".into()));
    }
}
