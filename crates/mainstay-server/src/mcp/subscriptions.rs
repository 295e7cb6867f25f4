//! Notifications about changed lists and resources: to sessions of the older protocol, and on the stream of a
//! `subscriptions/listen` request of 2026-07-28.

use std::collections::HashMap;
use std::sync::Arc;

use mainstay_core::{CancellationToken, Event, Watch};
use mainstay_engine::Engine;
use parking_lot::Mutex;
use rmcp::model::{
    PromptListChangedNotification, ResourceListChangedNotification, ResourceUpdatedNotification,
    ResourceUpdatedNotificationParam, ServerNotification, ToolListChangedNotification,
};
use rmcp::service::{Peer, RoleServer, SubscriptionContext, SubscriptionSendError};
use tokio::sync::broadcast::{Receiver, error::RecvError};

/// The most resources one session can subscribe to.
/// With the limit on the length of a URI it bounds what a session costs: 16 MB at the very worst.
const MAX_SUBSCRIPTIONS: usize = 1000;

/// The resources that one session of the older protocol has subscribed to, with what watches them.
#[derive(Clone, Default)]
pub(super) struct SubscribedResources(Arc<Mutex<HashMap<String, Option<Watch>>>>);

impl SubscribedResources {
    /// Whether the session may subscribe to this, too.
    pub(super) fn has_room(&self, uri: &str) -> bool {
        let uris = self.0.lock();
        // A URI that is subscribed already costs nothing, so repeating it is allowed at the limit, too.
        uris.len() < MAX_SUBSCRIPTIONS || uris.contains_key(uri)
    }

    /// False if the session has reached its limit.
    pub(super) fn add(&self, uri: String, watch: Option<Watch>) -> bool {
        let mut uris = self.0.lock();
        let allowed = uris.len() < MAX_SUBSCRIPTIONS || uris.contains_key(&uri);
        if allowed {
            uris.insert(uri, watch);
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
        while let Some(notifications) = next(&mut changes, &end).await {
            for notification in notifications {
                // Sessions receive all list changes and the resources they subscribed to.
                if let ServerNotification::ResourceUpdatedNotification(updated) = &notification
                    && !subscribed.0.lock().contains_key(&updated.params.uri)
                {
                    continue;
                }
                // The peer is gone: its session was closed or unloaded, and nobody would receive the next one either.
                if peer.send_notification(notification).await.is_err() {
                    return;
                }
            }
        }
    });
}

/// Watches resources for as long as this is awaited. What cannot be watched does not keep the client from hearing of the
/// rest; a stream has no other way to tell than the log.
pub(super) async fn watch(engine: &Engine, uris: impl Iterator<Item = &String>) {
    let mut watches = Vec::new();
    for uri in uris.take(MAX_SUBSCRIPTIONS) {
        match engine.watch_resource(uri).await {
            Ok(watch) => watches.extend(watch),
            Err(error) => tracing::info!("a resource cannot be watched: {}", error.public),
        }
    }
    std::future::pending::<()>().await;
}

/// Serves one `subscriptions/listen` until the client closes it or `ended`. Unlike a session, such a stream receives
/// nothing that it did not ask for: the SDK's sink accepts nothing else.
pub(super) async fn listen(mut changes: Receiver<Event>, context: &SubscriptionContext, ended: &CancellationToken) {
    loop {
        let notifications = tokio::select! {
            notifications = next(&mut changes, ended) => notifications,
            () = context.cancelled() => return,
        };
        let Some(notifications) = notifications else { return };
        for notification in notifications {
            let sent = context.sink().send(notification).await;
            // Any other error means that the client has gone.
            if sent.is_err_and(|error| !matches!(error, SubscriptionSendError::NotificationNotAccepted(_))) {
                return;
            }
        }
    }
}

/// The notifications about the next event. A receiver that was too slow does not know what it missed, so it is told that
/// every list changed.
async fn next(changes: &mut Receiver<Event>, end: &CancellationToken) -> Option<Vec<ServerNotification>> {
    let tools = || ServerNotification::ToolListChangedNotification(ToolListChangedNotification::default());
    let prompts = || ServerNotification::PromptListChangedNotification(PromptListChangedNotification::default());
    let resources = || ServerNotification::ResourceListChangedNotification(ResourceListChangedNotification::default());
    match end.run_until_cancelled(changes.recv()).await? {
        Ok(Event::ToolsChanged) => Some(vec![tools()]),
        Ok(Event::PromptsChanged) => Some(vec![prompts()]),
        Ok(Event::ResourcesChanged) => Some(vec![resources()]),
        Ok(Event::ResourceUpdated { uri, .. }) => {
            let updated = ResourceUpdatedNotification::new(ResourceUpdatedNotificationParam::new(uri.to_string()));
            Some(vec![ServerNotification::ResourceUpdatedNotification(updated)])
        }
        Err(RecvError::Lagged(_)) => Some(vec![tools(), prompts(), resources()]),
        Err(RecvError::Closed) => None,
    }
}
