//! Who is told when a list or a resource changes.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use mainstay_core::{CancellationToken, Event};
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use tokio::sync::broadcast::{Receiver, error::RecvError};

/// The resources one session of the older protocol watches.
#[derive(Clone, Default)]
pub(crate) struct Watched(Arc<Mutex<HashSet<String>>>);

impl Watched {
    pub(crate) fn add(&self, uri: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(uri);
    }

    pub(crate) fn remove(&self, uri: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
    }

    fn has(&self, uri: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(uri)
    }
}

/// Passes events on to a session until it ends.
pub(crate) fn follow(mut events: Receiver<Event>, peer: Peer<RoleServer>, watched: Watched, end: CancellationToken) {
    tokio::spawn(async move {
        while let Some(event) = next(&mut events, &end).await {
            let told = match event {
                Event::ToolsChanged => peer.notify_tool_list_changed().await,
                Event::PromptsChanged => peer.notify_prompt_list_changed().await,
                Event::ResourcesChanged => peer.notify_resource_list_changed().await,
                Event::ResourceUpdated { uri } if watched.has(&uri) => {
                    peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri.to_string())).await
                }
                Event::ResourceUpdated { .. } | Event::Called { .. } => Ok(()),
            };
            if told.is_err() {
                return;
            }
        }
    });
}

/// Serves one `subscriptions/listen`: only what was asked for, until the client goes or the server stops.
pub(crate) async fn listen(mut events: Receiver<Event>, context: &SubscriptionContext, ended: &CancellationToken) {
    let (sink, accepted) = (context.sink(), context.accepted().clone());
    let wanted = |flag: Option<bool>| flag.unwrap_or(false);
    loop {
        let event = tokio::select! {
            event = next(&mut events, ended) => event,
            () = context.cancelled() => return,
        };
        let told = match event {
            None => return,
            Some(Event::ToolsChanged) if wanted(accepted.tools_list_changed) => sink.notify_tool_list_changed().await,
            Some(Event::PromptsChanged) if wanted(accepted.prompts_list_changed) => {
                sink.notify_prompt_list_changed().await
            }
            Some(Event::ResourcesChanged) if wanted(accepted.resources_list_changed) => {
                sink.notify_resource_list_changed().await
            }
            Some(Event::ResourceUpdated { uri })
                if accepted.resource_subscriptions.as_ref().is_some_and(|uris| uris.iter().any(|u| **u == *uri)) =>
            {
                sink.notify_resource_updated(uri.to_string()).await
            }
            Some(
                Event::ToolsChanged
                | Event::PromptsChanged
                | Event::ResourcesChanged
                | Event::ResourceUpdated { .. }
                | Event::Called { .. },
            ) => Ok(()),
        };
        if told.is_err() {
            return;
        }
    }
}

/// The next event; one who fell behind goes on from here, since a list's change says nothing but "look again".
async fn next(events: &mut Receiver<Event>, end: &CancellationToken) -> Option<Event> {
    loop {
        let event = tokio::select! {
            event = events.recv() => event,
            () = end.cancelled() => return None,
        };
        match event {
            Ok(event) => return Some(event),
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return None,
        }
    }
}
