//! How many calls run at once, and how the server stops without breaking any.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use mainstay_core::{CancellationToken, Error, Kind, Reason, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::settings::EngineSettings;

/// One connection's share. The transport makes one for each connection it accepts.
#[derive(Clone)]
pub struct Lane(Arc<LaneState>);

struct LaneState {
    running: Arc<Semaphore>,
    waiting: AtomicUsize,
    queue: usize,
}

/// Held while a call runs.
pub(crate) struct Ticket {
    _lane: OwnedSemaphorePermit,
    _house: OwnedSemaphorePermit,
}

pub(crate) struct Gate {
    house: Arc<Semaphore>,
    capacity: u32,
    per_lane: u32,
    queue: u32,
    closing: AtomicBool,
    /// Cancelled when the time to finish is over.
    pub(crate) over: CancellationToken,
}

impl Gate {
    pub(crate) fn new(settings: &EngineSettings) -> Self {
        let capacity = settings.in_flight.max(1);
        Self {
            house: Arc::new(Semaphore::new(capacity as usize)),
            capacity,
            per_lane: settings.in_flight_per_connection.max(1),
            queue: settings.queue_per_connection,
            closing: AtomicBool::new(false),
            over: CancellationToken::new(),
        }
    }

    pub(crate) fn lane(&self) -> Lane {
        Lane(Arc::new(LaneState {
            running: Arc::new(Semaphore::new(self.per_lane as usize)),
            waiting: AtomicUsize::new(0),
            queue: self.queue as usize,
        }))
    }

    pub(crate) fn running(&self) -> usize {
        self.capacity as usize - self.house.available_permits()
    }

    /// Waits for a place in the connection's lane, then in the house.
    pub(crate) async fn enter(&self, lane: &Lane, cancel: &CancellationToken) -> Result<Ticket> {
        if self.closing.load(Ordering::Acquire) {
            return Err(stopping());
        }
        let lane_place = match lane.0.running.clone().try_acquire_owned() {
            Ok(place) => place,
            Err(_) => lane.0.wait(cancel).await?,
        };
        let house_place = match self.house.clone().try_acquire_owned() {
            Ok(place) => place,
            Err(_) => acquire(&self.house, cancel).await?,
        };
        // It may have begun to close while this call waited.
        if self.closing.load(Ordering::Acquire) {
            return Err(stopping());
        }
        Ok(Ticket { _lane: lane_place, _house: house_place })
    }

    /// Takes no new calls and waits for those that run; says whether all of them finished.
    pub(crate) async fn drain(&self, patience: Duration) -> bool {
        if self.over.is_cancelled() {
            return false;
        }
        self.closing.store(true, Ordering::Release);
        let all = self.house.acquire_many(self.capacity);
        if tokio::time::timeout(patience, all).await.is_ok() {
            return true;
        }
        self.over.cancel();
        // What was cut off still gets a moment to write its record.
        let _ = tokio::time::timeout(Duration::from_secs(2), self.house.acquire_many(self.capacity)).await;
        false
    }
}

impl LaneState {
    async fn wait(&self, cancel: &CancellationToken) -> Result<OwnedSemaphorePermit> {
        if self.waiting.fetch_add(1, Ordering::AcqRel) >= self.queue {
            self.waiting.fetch_sub(1, Ordering::AcqRel);
            return Err(Error::new(
                Kind::RateLimited,
                format!("{} calls of this connection are waiting already; let some finish first.", self.queue),
            )
            .with_reason(Reason::QueueFull { queue: self.queue as u64 }));
        }
        let _leave = Leave(&self.waiting);
        acquire(&self.running, cancel).await
    }
}

/// Counts a waiter out however its wait ends.
struct Leave<'a>(&'a AtomicUsize);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

async fn acquire(places: &Arc<Semaphore>, cancel: &CancellationToken) -> Result<OwnedSemaphorePermit> {
    tokio::select! {
        place = places.clone().acquire_owned() => place.map_err(|_| stopping()),
        () = cancel.cancelled() => Err(Error::new(Kind::Cancelled, "The call was cancelled before it began.")),
    }
}

fn stopping() -> Error {
    Error::unavailable("The server is stopping and takes no new calls.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate() -> Gate {
        let settings = EngineSettings {
            in_flight_per_connection: 2,
            queue_per_connection: 1,
            in_flight: 3,
            ..EngineSettings::default()
        };
        Gate::new(&settings)
    }

    /// What the call hears at once; nothing if it has to wait.
    async fn enters(gate: &Gate, lane: &Lane) -> Option<Result<Ticket>> {
        let cancel = CancellationToken::new();
        let mut entering = Box::pin(gate.enter(lane, &cancel));
        match futures::poll!(entering.as_mut()) {
            std::task::Poll::Ready(heard) => Some(heard),
            std::task::Poll::Pending => None,
        }
    }

    #[tokio::test]
    async fn a_connection_has_its_share_and_the_house_its_limit() {
        let gate = gate();
        let (one, two) = (gate.lane(), gate.lane());
        let first = gate.enter(&one, &CancellationToken::new()).await.unwrap();
        let _second = gate.enter(&one, &CancellationToken::new()).await.unwrap();
        assert!(enters(&gate, &one).await.is_none(), "a third call of one connection has to wait");
        let _third = gate.enter(&two, &CancellationToken::new()).await.unwrap();
        assert_eq!(gate.running(), 3);
        assert!(enters(&gate, &two).await.is_none(), "the house is full");
        drop(first);
        assert!(enters(&gate, &two).await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn past_the_queue_a_call_is_refused_and_a_cancelled_one_leaves_it() {
        let (gate, cancel) = (gate(), CancellationToken::new());
        let lane = gate.lane();
        let _running = [gate.enter(&lane, &cancel).await.unwrap(), gate.enter(&lane, &cancel).await.unwrap()];
        let mut waiting = Box::pin(gate.enter(&lane, &cancel));
        assert!(futures::poll!(waiting.as_mut()).is_pending());
        let refused = gate.enter(&lane, &CancellationToken::new()).await.err().unwrap();
        assert_eq!(refused.kind, Kind::RateLimited);
        cancel.cancel();
        assert_eq!(waiting.await.err().unwrap().kind, Kind::Cancelled);
        assert_eq!(lane.0.waiting.load(Ordering::Acquire), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn draining_waits_for_what_runs_and_lets_nothing_in() {
        let gate = Arc::new(gate());
        let lane = gate.lane();
        let ticket = gate.enter(&lane, &CancellationToken::new()).await.unwrap();
        let draining = tokio::spawn({
            let gate = gate.clone();
            async move { gate.drain(Duration::from_secs(30)).await }
        });
        tokio::task::yield_now().await;
        let refused = gate.enter(&lane, &CancellationToken::new()).await.err().unwrap();
        assert_eq!(refused.kind, Kind::Unavailable);
        drop(ticket);
        assert!(draining.await.unwrap());
        assert!(!gate.over.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_end_in_time_is_told_that_it_is_over() {
        let gate = gate();
        let _ticket = gate.enter(&gate.lane(), &CancellationToken::new()).await.unwrap();
        assert!(!gate.drain(Duration::from_secs(30)).await);
        assert!(gate.over.is_cancelled());
    }
}
