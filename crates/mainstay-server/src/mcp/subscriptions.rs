//! Who is told when a list or a resource changes.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use mainstay_core::{CancellationToken, Event};
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use tokio::sync::broadcast::{Receiver, error::RecvError};

/// The most resources one session watches.
const MOST_WATCHED: usize = 1000;

/// The resources one session of the older protocol watches.
#[derive(Clone, Default)]
pub(crate) struct Watched(Arc<Mutex<HashSet<String>>>);

impl Watched {
    /// False if it watches as many as it may.
    pub(crate) fn add(&self, uri: String) -> bool {
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = watched.len() < MOST_WATCHED || watched.contains(&uri);
        if room {
            watched.insert(uri);
        }
        room
    }

    pub(crate) fn remove(&self, uri: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
    }

    fn has(&self, uri: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(uri)
    }
}

/// What a listener hears.
enum Heard {
    This(Event),
    /// It was too slow and does not know what it missed: every list may have changed.
    TooMuch,
}

/// Passes changes on to a session until it ends.
pub(crate) fn follow(mut changes: Receiver<Event>, peer: Peer<RoleServer>, watched: Watched, end: CancellationToken) {
    tokio::spawn(async move {
        while let Some(heard) = next(&mut changes, &end).await {
            let told = match heard {
                Heard::This(Event::ToolsChanged) => peer.notify_tool_list_changed().await,
                Heard::This(Event::PromptsChanged) => peer.notify_prompt_list_changed().await,
                Heard::This(Event::ResourcesChanged) => peer.notify_resource_list_changed().await,
                Heard::This(Event::ResourceUpdated { uri, .. }) if watched.has(&uri) => {
                    peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri.to_string())).await
                }
                Heard::This(Event::ResourceUpdated { .. } | Event::Called { .. }) => Ok(()),
                Heard::TooMuch => {
                    let _ = peer.notify_tool_list_changed().await;
                    let _ = peer.notify_prompt_list_changed().await;
                    peer.notify_resource_list_changed().await
                }
            };
            if told.is_err() {
                return;
            }
        }
    });
}

/// Serves one `subscriptions/listen`: only what was asked for, until the client goes or the server stops.
pub(crate) async fn listen(mut changes: Receiver<Event>, context: &SubscriptionContext, ended: &CancellationToken) {
    loop {
        let heard = tokio::select! {
            heard = next(&mut changes, ended) => heard,
            () = context.cancelled() => return,
        };
        let told = match heard {
            None => return,
            Some(Heard::This(event)) => tell(context, event).await,
            Some(Heard::TooMuch) => {
                for event in [Event::ToolsChanged, Event::PromptsChanged, Event::ResourcesChanged] {
                    if !tell(context, event).await {
                        return;
                    }
                }
                true
            }
        };
        if !told {
            return;
        }
    }
}

/// Tells a subscriber what it asked to be told. False if it has gone.
async fn tell(context: &SubscriptionContext, event: Event) -> bool {
    let (sink, accepted) = (context.sink(), context.accepted());
    let wanted = |flag: Option<bool>| flag.unwrap_or(false);
    let told = match event {
        Event::ToolsChanged if wanted(accepted.tools_list_changed) => sink.notify_tool_list_changed().await,
        Event::PromptsChanged if wanted(accepted.prompts_list_changed) => sink.notify_prompt_list_changed().await,
        Event::ResourcesChanged if wanted(accepted.resources_list_changed) => sink.notify_resource_list_changed().await,
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
    told.is_ok()
}

async fn next(changes: &mut Receiver<Event>, end: &CancellationToken) -> Option<Heard> {
    let event = tokio::select! {
        event = changes.recv() => event,
        () = end.cancelled() => return None,
    };
    match event {
        Ok(event) => Some(Heard::This(event)),
        Err(RecvError::Lagged(_)) => Some(Heard::TooMuch),
        Err(RecvError::Closed) => None,
    }
}
