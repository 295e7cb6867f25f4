//! One WebSocket connection, from its first event to its close frame.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use bytes::Bytes;
use futures::SinkExt as _;
use mainstay_core::Result;
use mainstay_engine::{FeedUpdate, Listener};
use tokio::time::{Instant, interval_at, timeout};

use super::Endpoint;
use super::messages::{self, Filter};
use crate::http::auth::RECHECK;

/// How often the server pings, so that proxies do not close an idle connection and a dead one is noticed.
const PING: Duration = Duration::from_secs(30);

/// A client that has sent nothing for this long, not even the answer to a ping, has gone.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(90);

/// How long one message may wait for a client that does not read.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the close frame may wait: a client that starts to read again learns why the connection ended.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long to wait for the client's close frame.
const CLOSE_REPLY_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection, and what it needs to be served.
pub(super) struct WebSocketConnection {
    pub(super) socket: WebSocket,
    pub(super) listener: Listener,
    pub(super) filter: Filter,
    /// The token it was opened with, checked again while it is open: the connection must not outlive it.
    pub(super) token: Option<String>,
    pub(super) endpoint: Arc<Endpoint>,
}

/// Why a connection ends.
enum End {
    /// The client left, or its connection broke.
    ClientGone,
    /// The server closes it.
    Close { code: u16, reason: &'static str },
}

const TOO_SLOW: End = End::Close {
    code: close_code::AGAIN,
    reason: "The client reads too slowly. Reconnect and resume from the last id received.",
};
const STOPPING: End = End::Close {
    code: close_code::AWAY,
    reason: "The server is stopping. Reconnect and resume from the last id received.",
};
const EXPIRED: End = End::Close { code: close_code::POLICY, reason: "The access token has expired or was revoked." };
const FAILED: End =
    End::Close { code: close_code::ERROR, reason: "Events cannot be read at the moment. Try again later." };

impl WebSocketConnection {
    /// Serves the connection to its end, and sends the close frame if the server ends it.
    pub(super) async fn run(mut self) {
        let Err(End::Close { code, reason }) = self.serve().await else { return };
        let frame = CloseFrame { code, reason: reason.into() };
        if let Ok(Ok(())) = timeout(CLOSE_TIMEOUT, self.socket.send(Message::Close(Some(frame)))).await {
            // Closing the socket at once could discard the frame before the client has read it.
            let _ = timeout(CLOSE_REPLY_TIMEOUT, async { while let Some(Ok(_)) = self.socket.recv().await {} }).await;
        }
    }

    /// Runs until there is a reason to end. Everything that happens to the connection is one branch of the `select!`, so
    /// that its state needs no lock.
    async fn serve(&mut self) -> Result<(), End> {
        let mut ping = interval_at(Instant::now() + PING, PING);
        let mut recheck = interval_at(Instant::now() + RECHECK, RECHECK);
        let mut last_received = Instant::now();
        let open = self.endpoint.open.streams.clone();
        loop {
            tokio::select! {
                () = open.cancelled() => return Err(STOPPING),
                message = self.socket.recv() => {
                    last_received = Instant::now();
                    self.receive(message.and_then(std::result::Result::ok)).await?;
                }
                update = self.listener.next() => match update {
                    Ok(update) => self.send_update(update).await?,
                    Err(error) => {
                        tracing::error!(detail = error.detail, "cannot read events for a WebSocket client");
                        return Err(FAILED);
                    }
                },
                _ = recheck.tick() => {
                    if !self.endpoint.authenticator.is_still_valid(self.token.as_deref()).await {
                        return Err(EXPIRED);
                    }
                }
                _ = ping.tick() => {
                    if last_received.elapsed() > CLIENT_TIMEOUT {
                        return Err(End::ClientGone);
                    }
                    self.send([Message::Ping(Bytes::new())]).await?;
                }
            }
        }
    }

    /// Handles a message of the client; `None` means that the connection is closed.
    async fn receive(&mut self, message: Option<Message>) -> Result<(), End> {
        let text = match message {
            Some(Message::Text(text)) => text,
            Some(Message::Ping(_) | Message::Pong(_)) => return Ok(()),
            Some(Message::Binary(_)) => {
                return self.send_text(messages::error("Send text messages, not binary ones.")).await;
            }
            Some(Message::Close(_)) | None => return Err(End::ClientGone),
        };
        let (subscribe, resume) = match messages::parse(&text, &self.endpoint.engine) {
            Ok(message) => message,
            Err(reason) => return self.send_text(messages::error(&reason)).await,
        };
        if let Some(after) = resume {
            self.listener.resume(after).await.map_err(|_| FAILED)?;
        }
        if let Some(filter) = subscribe {
            self.filter = filter;
            return self.send_text(self.filter.confirmation(self.listener.position())).await;
        }
        Ok(())
    }

    /// Sends the events the client wants, or tells it which ones it missed.
    async fn send_update(&mut self, update: FeedUpdate) -> Result<(), End> {
        match update {
            FeedUpdate::Events(events) => {
                let wanted = events.iter().filter(|event| self.filter.wants(event));
                let texts: Vec<Message> = wanted.map(|event| Message::text(messages::event(event))).collect();
                self.send(texts).await
            }
            FeedUpdate::Missed { after, until } => self.send_text(messages::missed(after, until)).await,
        }
    }

    async fn send_text(&mut self, text: String) -> Result<(), End> {
        self.send([Message::text(text)]).await
    }

    /// Only this connection waits for its client, never a call, and not longer than [`WRITE_TIMEOUT`] for each message.
    async fn send(&mut self, messages: impl IntoIterator<Item = Message>) -> Result<(), End> {
        for message in messages {
            within_timeout(self.socket.feed(message)).await?;
        }
        within_timeout(self.socket.flush()).await
    }
}

/// A client that does not read for so long is disconnected. It loses nothing: it can resume.
async fn within_timeout(sending: impl Future<Output = Result<(), axum::Error>>) -> Result<(), End> {
    match timeout(WRITE_TIMEOUT, sending).await {
        Ok(sent) => sent.map_err(|_| End::ClientGone),
        Err(_) => Err(TOO_SLOW),
    }
}
