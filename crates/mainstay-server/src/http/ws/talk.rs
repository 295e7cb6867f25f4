//! One connection, from its first event to the reason it ended for.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use bytes::Bytes;
use futures::SinkExt as _;
use mainstay_core::Result;
use mainstay_engine::{Heard, Listener};
use tokio::time::{Instant, interval_at, timeout};

use super::Endpoint;
use super::message::{self, Filter, Said};
use crate::http::auth::RECHECK;

const PING: Duration = Duration::from_secs(30);

/// A client of which nothing has been heard for so long, not even an answer to a ping, has gone.
const SILENCE: Duration = Duration::from_secs(90);

/// How long a reader may take nothing while something is there for it.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the last words may take: whoever begins to read again learns why it ended.
const FAREWELL: Duration = Duration::from_secs(10);

/// How long the answer to them may.
const PARTING: Duration = Duration::from_secs(1);

pub(super) struct Talk {
    pub(super) socket: WebSocket,
    pub(super) listener: Listener,
    pub(super) filter: Filter,
    pub(super) token: Option<String>,
    pub(super) endpoint: Arc<Endpoint>,
}

/// Why a connection ends.
enum End {
    /// The client left, or its connection broke.
    Left,
    Closed {
        code: u16,
        reason: &'static str,
    },
}

const TOO_SLOW: End = End::Closed {
    code: close_code::AGAIN,
    reason: "You read too slowly. Reconnect and resume from the last id you have.",
};
const STOPPING: End =
    End::Closed { code: close_code::AWAY, reason: "The server stops. Reconnect and resume from the last id you have." };
const EXPIRED: End = End::Closed { code: close_code::POLICY, reason: "The token is not good any more." };
const FAILED: End =
    End::Closed { code: close_code::ERROR, reason: "What happens cannot be read now. Try again later." };

impl Talk {
    pub(super) async fn run(mut self) {
        let Err(End::Closed { code, reason }) = self.talk().await else { return };
        let frame = CloseFrame { code, reason: reason.into() };
        if let Ok(Ok(())) = timeout(FAREWELL, self.socket.send(Message::Close(Some(frame)))).await {
            // To hang up at once could take the last words along.
            let _ = timeout(PARTING, async { while let Some(Ok(_)) = self.socket.recv().await {} }).await;
        }
    }

    async fn talk(&mut self) -> Result<(), End> {
        let mut ping = interval_at(Instant::now() + PING, PING);
        let mut recheck = interval_at(Instant::now() + RECHECK, RECHECK);
        let mut heard_at = Instant::now();
        let open = self.endpoint.lines.open.clone();
        loop {
            tokio::select! {
                () = open.cancelled() => return Err(STOPPING),
                message = self.socket.recv() => {
                    heard_at = Instant::now();
                    self.hear(message.and_then(std::result::Result::ok)).await?;
                }
                heard = self.listener.next() => match heard {
                    Ok(heard) => self.tell(heard).await?,
                    Err(error) => {
                        tracing::error!(detail = error.detail, "a listener cannot be told anything");
                        return Err(FAILED);
                    }
                },
                _ = recheck.tick() => {
                    if !self.endpoint.doors.still_good(self.token.as_deref()).await {
                        return Err(EXPIRED);
                    }
                }
                _ = ping.tick() => {
                    if heard_at.elapsed() > SILENCE {
                        return Err(End::Left);
                    }
                    self.send([Message::Ping(Bytes::new())]).await?;
                }
            }
        }
    }

    async fn hear(&mut self, message: Option<Message>) -> Result<(), End> {
        let text = match message {
            Some(Message::Text(text)) => text,
            Some(Message::Ping(_) | Message::Pong(_)) => return Ok(()),
            Some(Message::Binary(_)) => return self.say(message::misunderstood("Send text, not bytes.")).await,
            Some(Message::Close(_)) | None => return Err(End::Left),
        };
        let Said { subscribe, resume } = match Said::read(&text, &self.endpoint.engine) {
            Ok(said) => said,
            Err(reason) => return self.say(message::misunderstood(&reason)).await,
        };
        if let Some(after) = resume {
            self.listener.resume(after).await.map_err(|_| FAILED)?;
        }
        if let Some(filter) = subscribe {
            self.filter = filter;
            return self.say(self.filter.accepted(self.listener.position())).await;
        }
        Ok(())
    }

    async fn tell(&mut self, heard: Heard) -> Result<(), End> {
        match heard {
            Heard::Events(events) => {
                let wanted = events.iter().filter(|event| self.filter.wants(event));
                let told: Vec<Message> = wanted.map(|event| Message::text(message::told(event))).collect();
                self.send(told).await
            }
            Heard::Missed { after, until } => self.say(message::missed(after, until)).await,
        }
    }

    async fn say(&mut self, text: String) -> Result<(), End> {
        self.send([Message::text(text)]).await
    }

    /// Calls do not wait for this; only this connection does, and not for long.
    async fn send(&mut self, messages: impl IntoIterator<Item = Message>) -> Result<(), End> {
        for message in messages {
            taken(self.socket.feed(message)).await?;
        }
        taken(self.socket.flush()).await
    }
}

async fn taken(sending: impl Future<Output = Result<(), axum::Error>>) -> Result<(), End> {
    match timeout(PATIENCE, sending).await {
        Ok(sent) => sent.map_err(|_| End::Left),
        Err(_) => Err(TOO_SLOW),
    }
}
