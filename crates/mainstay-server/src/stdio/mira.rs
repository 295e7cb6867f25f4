//! The dialect `mira` over standard input and output. Calls run side by side; each is answered when it is done.

use std::sync::Arc;

use mainstay_core::CancellationToken;
use mainstay_engine::Engine;
use mainstay_wire::mira::{self, Place, Request, Transport};

use super::dialect::{self, Client, Interpreter, Read, Turns};
use super::lines::Line;
use crate::StartError;
use crate::mira::{Desk, Visit};

pub(super) async fn serve(engine: &Engine, message_bytes: usize, stop: CancellationToken) -> Result<(), StartError> {
    let place = Arc::new(Place { transport: Transport::Stdio, auth_required: false });
    let desk = Desk::new(engine.clone())?;
    dialect::serve(engine, Mira { desk, place, message_bytes, most: most(engine) }, stop).await
}

/// As many as may run or wait in one connection's lane.
fn most(engine: &Engine) -> usize {
    let settings = engine.settings();
    settings.in_flight_per_connection.saturating_add(settings.queue_per_connection) as usize
}

struct Mira {
    desk: Desk,
    place: Arc<Place>,
    message_bytes: usize,
    most: usize,
}

impl Interpreter for Mira {
    type Request = Request;

    fn message_bytes(&self) -> usize {
        self.message_bytes
    }

    fn turns(&self) -> Turns {
        Turns::SideBySide(self.most)
    }

    fn read(&self, line: Line<'_>) -> Read<Request> {
        match line.whole().map_err(|refusal| mira::refused(&refusal)).and_then(mira::decode) {
            Ok(Some(request)) => Read::Request(request),
            Ok(None) => Read::Nothing,
            Err(refused) => Read::Refused(mira::failure(&refused.id, &refused.fault).into_bytes()),
        }
    }

    async fn answer(&self, request: Request, client: &Client) -> Option<Vec<u8>> {
        let visit = Visit {
            connection: client.connection.clone(),
            place: self.place.clone(),
            session: Some(client.session.clone()),
            idempotency_key: None,
            stream: request.wants_stream().then(|| client.lines.clone()),
            cancel: client.cut_off.child_token(),
        };
        self.desk.answer(request, visit).await.map(String::into_bytes)
    }
}
