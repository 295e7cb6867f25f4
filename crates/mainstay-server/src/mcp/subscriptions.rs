//! Notifications about changed lists and resources: to sessions of the older protocol, and on the stream of a
//! `subscriptions/listen` request of 2026-07-28.

use std::collections::HashSet;
use std::sync::Arc;

use mainstay_core::{CancellationToken, Event};
use parking_lot::Mutex;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use tokio::sync::broadcast::{Receiver, error::RecvError};

/// The most resources one session can subscribe to.
/// With the limit on the length of a URI it bounds what a session costs: 16 MB at the very worst.
const MAX_SUBSCRIPTIONS: usize = 1000;

/// The resources that one session of the older protocol has subscribed to.
#[derive(Clone, Default)]
pub(super) struct SubscribedResources(Arc<Mutex<HashSet<String>>>);

impl SubscribedResources {
    /// False if the session has reached its limit.
    pub(super) fn add(&self, uri: String) -> bool {
        let mut uris = self.0.lock();
        // A URI that is subscribed already costs nothing, so repeating it is allowed at the limit, too.
        let allowed = uris.len() < MAX_SUBSCRIPTIONS || uris.contains(&uri);
        if allowed {
            uris.insert(uri);
        }
        allowed
    }

    pub(super) fn remove(&self, uri: &str) {
        self.0.lock().remove(uri);
    }
}

/// Notifies a session of changes until it ends.
pub(super) fn notify_session(
    mut changes: Receiver<Event>,
    peer: Peer<RoleServer>,
    subscribed: SubscribedResources,
    end: CancellationToken,
) {
    // A task of its own: nothing else of a session runs while its client waits for changes.
    tokio::spawn(async move {
        while let Some(events) = next(&mut changes, &end).await {
            for event in events {
                // Sessions receive all list changes and the resources they subscribed to.
                let sent = match event {
                    Event::ToolsChanged => peer.notify_tool_list_changed().await,
                    Event::PromptsChanged => peer.notify_prompt_list_changed().await,
                    Event::ResourcesChanged => peer.notify_resource_list_changed().await,
                    Event::ResourceUpdated { uri, .. } if subscribed.0.lock().contains(&*uri) => {
                        peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri.to_string())).await
                    }
                    Event::ResourceUpdated { .. } | Event::Called { .. } => Ok(()),
                };
                // The peer is gone: its session was closed or unloaded, and nobody would receive the next one either.
                if sent.is_err() {
                    return;
                }
            }
        }
    });
}

/// Serves one `subscriptions/listen` until the client closes it or `ended`; sends only what the client asked for.
pub(super) async fn listen(mut changes: Receiver<Event>, context: &SubscriptionContext, ended: &CancellationToken) {
    loop {
        let events = tokio::select! {
            events = next(&mut changes, ended) => events,
            () = context.cancelled() => return,
        };
        let Some(events) = events else { return };
        for event in events {
            if !notify_subscriber(context, event).await {
                return;
            }
        }
    }
}

/// False if the client has gone.
async fn notify_subscriber(context: &SubscriptionContext, event: Event) -> bool {
    // Unlike a session, such a stream receives nothing that it did not ask for.
    let (sink, accepted) = (context.sink(), context.accepted());
    let wanted = |flag: Option<bool>| flag.unwrap_or(false);
    let sent = match event {
        Event::ToolsChanged if wanted(accepted.tools_list_changed) => sink.notify_tool_list_changed().await,
        Event::PromptsChanged if wanted(accepted.prompts_list_changed) => sink.notify_prompt_list_changed().await,
        Event::ResourcesChanged if wanted(accepted.resources_list_changed) => sink.notify_resource_list_changed().await,
        // The list of URIs is short: the client sent it in one request.
        Event::ResourceUpdated { uri, .. }
            if accepted.resource_subscriptions.as_ref().is_some_and(|uris| uris.iter().any(|u| **u == *uri)) =>
        {
            sink.notify_resource_updated(uri.to_string()).await
        }
        Event::ToolsChanged
        | Event::PromptsChanged
        | Event::ResourcesChanged
        | Event::ResourceUpdated { .. }
        | Event::Called { .. } => Ok(()),
    };
    sent.is_ok()
}

/// The next events. A receiver that was too slow does not know what it missed, so it is told that every list changed.
async fn next(changes: &mut Receiver<Event>, end: &CancellationToken) -> Option<Vec<Event>> {
    match end.run_until_cancelled(changes.recv()).await? {
        Ok(event) => Some(vec![event]),
        Err(RecvError::Lagged(_)) => Some(vec![Event::ToolsChanged, Event::PromptsChanged, Event::ResourcesChanged]),
        Err(RecvError::Closed) => None,
    }
}
