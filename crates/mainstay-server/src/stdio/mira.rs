//! The dialect `mira` over standard input and output. Calls run side by side; each is answered when it is done.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Caller, CancellationToken, new_id};
use mainstay_engine::Engine;
use mainstay_wire::mira::{self, Place, Request, Transport};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::task::TaskTracker;

use super::lines::{AHEAD, CUT_OFF, Output, each_line};
use crate::StartError;
use crate::mcp::Origin;
use crate::mira::{Desk, Visit};

pub(super) async fn serve(engine: &Engine, message_bytes: usize, stop: CancellationToken) -> Result<(), StartError> {
    let desk = Arc::new(Desk::new(engine.clone())?);
    let output = Output::open()?;
    let mut requests = read(message_bytes, output.lines().clone());
    let client = Client {
        origin: Origin { caller: Arc::new(Caller::local(None)), lane: engine.lane() },
        place: Arc::new(Place { transport: Transport::Stdio, auth_required: false }),
        session: new_id().into(),
        cut_off: CancellationToken::new(),
    };
    let (calls, places) = (TaskTracker::new(), places(engine));
    let patience = Duration::from_secs(engine.settings().drain_seconds);
    let waiting = output.clone();
    let mut abandoned = std::pin::pin!(waiting.abandoned(patience));
    // Whoever piped requests in and closed the pipe still wants the answers; whoever does not read them does not.
    let until = loop {
        // No more is read than can be under way: a client that does not read its answers has to wait with its questions.
        let next = async { (places.clone().acquire_owned().await, requests.recv().await) };
        let (place, request) = tokio::select! {
            next = next => match next {
                (place, Some(request)) => (place, request),
                (_, None) => break Instant::now() + patience,
            },
            () = stop.cancelled() => break Instant::now() + patience,
            () = &mut abandoned => break Instant::now(),
        };
        let (desk, visit, lines) = (desk.clone(), client.visit(&request, &output), output.lines().clone());
        calls.spawn(async move {
            if let Some(response) = desk.answer(request, visit).await {
                let _ = lines.send(response.into_bytes()).await;
            }
            drop(place);
        });
    };
    calls.close();
    if stop.is_cancelled() {
        engine.drain().await;
    }
    if timeout_at(until, calls.wait()).await.is_err() {
        client.cut_off.cancel();
        // What is left has no work any more, only answers, and for those there may be nobody.
        let _ = timeout(CUT_OFF, calls.wait()).await;
    }
    output.finish().await;
    Ok(())
}

/// As many as may run or wait in one connection's lane.
fn places(engine: &Engine) -> Arc<Semaphore> {
    let settings = engine.settings();
    let most = settings.in_flight_per_connection.saturating_add(settings.queue_per_connection);
    Arc::new(Semaphore::new(most.max(1) as usize))
}

/// Reads on a thread of its own. A line that is no message is answered here and goes no further.
fn read(limit: usize, to_client: mpsc::Sender<Vec<u8>>) -> mpsc::Receiver<Request> {
    let (to_server, requests) = mpsc::channel(AHEAD);
    std::thread::spawn(move || {
        each_line(limit, |line| match line.map_err(|refusal| mira::refused(&refusal)).and_then(mira::decode) {
            Ok(Some(request)) => to_server.blocking_send(request).is_ok(),
            Ok(None) => true,
            Err(refused) => {
                let response = mira::failure(&refused.id, &refused.fault);
                to_client.blocking_send(response.into_bytes()).is_ok()
            }
        });
    });
    requests
}

/// The one at the other end of the pipe.
struct Client {
    origin: Origin,
    place: Arc<Place>,
    session: Arc<str>,
    /// Ends what is still running when nobody waits for it any more.
    cut_off: CancellationToken,
}

impl Client {
    fn visit(&self, request: &Request, output: &Output) -> Visit {
        Visit {
            origin: self.origin.clone(),
            place: self.place.clone(),
            session: Some(self.session.clone()),
            idempotency_key: None,
            stream: request.wants_stream().then(|| output.lines().clone()),
            cancel: self.cut_off.child_token(),
        }
    }
}
