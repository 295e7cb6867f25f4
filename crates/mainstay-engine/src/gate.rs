//! Limits how many calls run at once, for one connection, for one principal and in all, and drains them when the server
//! stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mainstay_core::{
    CancellationToken, Error, Kind, LimitReached, Principal, PrincipalLimit, PrincipalPermit, Reason, Result,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::settings::EngineSettings;

/// One connection's share of the running calls, so that a busy client cannot keep all others out. The transport creates
/// one for each connection it accepts.
#[derive(Clone)]
pub struct Lane(Arc<LaneState>);

struct LaneState {
    running: Arc<Semaphore>,
    /// One permit for each call that may wait for `running`.
    queue: Semaphore,
    queue_length: u32,
}

/// Held while a call runs.
pub(crate) struct Permit {
    _lane: OwnedSemaphorePermit,
    /// `None` where all callers are the same principal.
    _principal: Option<PrincipalPermit>,
    _server: OwnedSemaphorePermit,
}

/// The limits of the server. Semaphores are fair: calls enter in the order they arrived.
pub(crate) struct Gate {
    server: Arc<Semaphore>,
    /// Three quarters for one principal, over however many connections: a quarter is always there for others.
    principals: PrincipalLimit,
    capacity: u32,
    per_lane: u32,
    queue_per_lane: u32,
    closing: AtomicBool,
    /// Cancelled when the drain time is over; running calls stop then.
    pub(crate) over: CancellationToken,
}

impl Gate {
    pub(crate) fn new(settings: &EngineSettings) -> Self {
        let capacity = settings.in_flight.max(1);
        Self {
            server: Arc::new(Semaphore::new(capacity as usize)),
            principals: PrincipalLimit::new(usize::MAX, (capacity - capacity / 4) as usize),
            capacity,
            per_lane: settings.in_flight_per_connection.max(1),
            queue_per_lane: settings.queue_per_connection,
            closing: AtomicBool::new(false),
            over: CancellationToken::new(),
        }
    }

    /// A share for a new connection.
    pub(crate) fn lane(&self) -> Lane {
        Lane(Arc::new(LaneState {
            running: Arc::new(Semaphore::new(self.per_lane as usize)),
            queue: Semaphore::new(self.queue_per_lane as usize),
            queue_length: self.queue_per_lane,
        }))
    }

    /// How many calls run now.
    pub(crate) fn running(&self) -> usize {
        self.capacity as usize - self.server.available_permits()
    }

    /// Waits until the call may run: first within its connection's limit, then within the server's. The first wait is
    /// bounded by the lane's queue; a call that finds it full is rejected, as is one beyond its principal's share.
    pub(crate) async fn enter(&self, lane: &Lane, principal: &Principal, cancel: &CancellationToken) -> Result<Permit> {
        if self.closing.load(Ordering::Acquire) {
            return Err(stopping());
        }
        let lane_permit = match lane.0.running.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => lane.0.wait(cancel).await?,
        };
        let principal_permit =
            if principal.is_local() { None } else { Some(self.principals.acquire(principal).map_err(share_used)?) };
        // Most calls find a permit, and are spared the setup of a wait.
        let server_permit = match self.server.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => acquire(&self.server, cancel).await?,
        };
        // The server may have begun to stop while this call waited.
        if self.closing.load(Ordering::Acquire) {
            return Err(stopping());
        }
        Ok(Permit { _lane: lane_permit, _principal: principal_permit, _server: server_permit })
    }

    /// Rejects new calls and waits for the running ones; returns whether all of them finished within the time.
    pub(crate) async fn drain(&self, limit: Duration) -> bool {
        // A second drain has nothing left to wait for.
        if self.over.is_cancelled() {
            return false;
        }
        self.closing.store(true, Ordering::Release);
        let all = self.server.acquire_many(self.capacity);
        if tokio::time::timeout(limit, all).await.is_ok() {
            return true;
        }
        self.over.cancel();
        // A cancelled call still has to write its end to the audit.
        let _ = tokio::time::timeout(Duration::from_secs(2), self.server.acquire_many(self.capacity)).await;
        false
    }
}

impl LaneState {
    async fn wait(&self, cancel: &CancellationToken) -> Result<OwnedSemaphorePermit> {
        let Ok(_queued) = self.queue.try_acquire() else {
            let waiting = self.queue_length;
            let line = format!("{waiting} calls of this connection are waiting already; let some finish first.");
            return Err(Error::new(Kind::RateLimited, line).with_reason(Reason::QueueFull { queue: waiting.into() }));
        };
        acquire(&self.running, cancel).await
    }
}

/// Waits for a permit; a cancelled call stops waiting.
async fn acquire(limit: &Arc<Semaphore>, cancel: &CancellationToken) -> Result<OwnedSemaphorePermit> {
    tokio::select! {
        biased;
        permit = limit.clone().acquire_owned() => permit.map_err(|_| stopping()),
        () = cancel.cancelled() => Err(Error::new(Kind::Cancelled, "The call was cancelled before it began.")),
    }
}

fn share_used(limit: LimitReached) -> Error {
    let (LimitReached::Total(share) | LimitReached::PerPrincipal(share)) = limit;
    let line =
        format!("{share} calls of yours are running already, your share of engine.in_flight; let some finish first.");
    Error::new(Kind::RateLimited, line).with_reason(Reason::QueueFull { queue: share as u64 })
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

    /// The result if there is one at once; `None` if the call has to wait.
    async fn enters(gate: &Gate, lane: &Lane) -> Option<Result<Permit>> {
        let cancel = CancellationToken::new();
        let local = Principal::local();
        let mut entering = Box::pin(gate.enter(lane, &local, &cancel));
        match futures::poll!(entering.as_mut()) {
            std::task::Poll::Ready(result) => Some(result),
            std::task::Poll::Pending => None,
        }
    }

    #[tokio::test]
    async fn a_connection_has_its_limit_and_the_server_has_its_own() {
        let gate = gate();
        let (one, two) = (gate.lane(), gate.lane());
        let first = gate.enter(&one, &Principal::local(), &CancellationToken::new()).await.unwrap();
        let _second = gate.enter(&one, &Principal::local(), &CancellationToken::new()).await.unwrap();
        assert!(enters(&gate, &one).await.is_none(), "a third call of one connection has to wait");
        let _third = gate.enter(&two, &Principal::local(), &CancellationToken::new()).await.unwrap();
        assert_eq!(gate.running(), 3);
        assert!(enters(&gate, &two).await.is_none(), "the server is at its limit");
        drop(first);
        assert!(enters(&gate, &two).await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn one_principal_does_not_get_all_of_the_server() {
        let gate = Gate::new(&EngineSettings { in_flight: 4, ..EngineSettings::default() });
        let [ann, bob] = ["ann", "bob"].map(|name| Principal::new("https://issuer", name));
        let cancel = CancellationToken::new();
        let mut running = Vec::new();
        for _ in 0..3 {
            running.push(gate.enter(&gate.lane(), &ann, &cancel).await.unwrap());
        }
        let refused = gate.enter(&gate.lane(), &ann, &cancel).await.err().unwrap();
        assert_eq!(refused.kind, Kind::RateLimited);
        assert!(gate.enter(&gate.lane(), &bob, &cancel).await.is_ok());
        running.pop();
        assert!(gate.enter(&gate.lane(), &ann, &cancel).await.is_ok());
    }

    #[tokio::test]
    async fn a_call_beyond_the_queue_is_rejected_and_a_cancelled_one_leaves_the_queue() {
        let (gate, cancel, local) = (gate(), CancellationToken::new(), Principal::local());
        let lane = gate.lane();
        let _running =
            [gate.enter(&lane, &local, &cancel).await.unwrap(), gate.enter(&lane, &local, &cancel).await.unwrap()];
        let mut waiting = Box::pin(gate.enter(&lane, &local, &cancel));
        assert!(futures::poll!(waiting.as_mut()).is_pending());
        let refused = gate.enter(&lane, &Principal::local(), &CancellationToken::new()).await.err().unwrap();
        assert_eq!(refused.kind, Kind::RateLimited);
        cancel.cancel();
        assert_eq!(waiting.await.err().unwrap().kind, Kind::Cancelled);
        assert_eq!(lane.0.queue.available_permits(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn draining_waits_for_running_calls_and_rejects_new_ones() {
        let gate = Arc::new(gate());
        let lane = gate.lane();
        let permit = gate.enter(&lane, &Principal::local(), &CancellationToken::new()).await.unwrap();
        let draining = tokio::spawn({
            let gate = gate.clone();
            async move { gate.drain(Duration::from_secs(30)).await }
        });
        tokio::task::yield_now().await;
        let refused = gate.enter(&lane, &Principal::local(), &CancellationToken::new()).await.err().unwrap();
        assert_eq!(refused.kind, Kind::Unavailable);
        drop(permit);
        assert!(draining.await.unwrap());
        assert!(!gate.over.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn calls_that_do_not_end_in_time_are_told_to_stop() {
        let gate = gate();
        let _permit = gate.enter(&gate.lane(), &Principal::local(), &CancellationToken::new()).await.unwrap();
        assert!(!gate.drain(Duration::from_secs(30)).await);
        assert!(gate.over.is_cancelled());
    }
}
