//! The dialect `context` over standard input and output. One request after the other, answered in the order they came.

use std::time::Duration;

use mainstay_core::CancellationToken;
use mainstay_engine::Engine;
use mainstay_wire::context::{self, MESSAGE_BYTES, Request};

use super::dialect::{self, Client, Interpreter, Read, Turns};
use super::lines::Line;
use crate::context::{Desk, Visit};
use crate::{About, StartError};

pub(super) async fn serve(
    engine: &Engine,
    about: &About,
    tool_timeout: Duration,
    stop: CancellationToken,
) -> Result<(), StartError> {
    dialect::serve(engine, Context { desk: Desk::new(engine.clone(), about.version, tool_timeout) }, stop).await
}

struct Context {
    desk: Desk,
}

impl Interpreter for Context {
    type Request = Request;

    fn message_bytes(&self) -> usize {
        MESSAGE_BYTES
    }

    fn turns(&self) -> Turns {
        Turns::InTurn
    }

    fn read(&self, line: Line<'_>) -> Read<Request> {
        match line.whole().map_err(|_| context::too_long()).and_then(context::decode) {
            Ok(Some(request)) => Read::Request(request),
            Ok(None) => Read::Nothing,
            Err(refused) => Read::Refused(context::failure(&refused.id, &refused.fault)),
        }
    }

    async fn answer(&self, request: Request, client: &Client) -> Option<Vec<u8>> {
        let visit = Visit {
            connection: client.connection.clone(),
            session: client.session.clone(),
            cancel: client.cut_off.child_token(),
        };
        Some(self.desk.answer(request, visit).await)
    }
}
