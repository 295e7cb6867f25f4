//! How many connections are open at once, and which one is closed for the next when all places are taken.
//!
//! Connections that do nothing go first, and of these the ones that nobody has identified themselves on; then requests of
//! senders that are not identified, which may never finish. Last, if one principal uses more than half of all places,
//! its longest request: the other half is always there for others.
//!
//! A request that is served beside others on a connection of HTTP/2 takes a place of its own: it costs what a connection
//! of HTTP/1.1 does.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{CancellationToken, Principal};
use parking_lot::Mutex;
use rustix::process::{Resource, getrlimit};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::connection::Activity;

/// How often a connection that waits for a place looks for one that has become idle.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// How long a request on a connection that serves others waits for a place. A client has no use for one that it holds
/// open for longer: it is told to try again.
const STREAM_TIMEOUT: Duration = Duration::from_secs(1);

/// The places of all listeners together. Cloning is cheap.
#[derive(Clone)]
pub(super) struct ConnectionLimit(Arc<Places>);

struct Places {
    most: usize,
    free: Arc<Semaphore>,
    open: Mutex<OpenPlaces>,
}

#[derive(Default)]
struct OpenPlaces {
    next: u64,
    taken: BTreeMap<u64, Connection>,
}

/// An open connection, as far as it matters here.
struct Connection {
    activity: Arc<Activity>,
    /// Closes it, whatever it is doing.
    close: CancellationToken,
}

/// The place of one connection, free again when this is dropped.
pub(super) struct Place {
    number: u64,
    places: Arc<Places>,
    _permit: OwnedSemaphorePermit,
    pub(super) activity: Arc<Activity>,
    pub(super) close: CancellationToken,
}

impl ConnectionLimit {
    /// At most `wanted`, and at most half of the files that this process may have open: the other half is for the files,
    /// commands and database connections of the calls that come in.
    pub(super) fn within_open_files(wanted: usize) -> Self {
        let files = getrlimit(Resource::Nofile).current.and_then(|files| usize::try_from(files).ok());
        Self::new(files.map_or(wanted, |files| wanted.min(files / 2)))
    }

    fn new(most: usize) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        Self(Arc::new(Places { most, free: Arc::new(Semaphore::new(most)), open: Mutex::default() }))
    }

    /// A place for a connection that has been accepted. If none is free, another connection is closed for it; if all
    /// others are in use, it waits. It is closed with `closing`, too. `None` only if there will never be a place.
    pub(super) async fn take(&self, closing: &CancellationToken) -> Option<Place> {
        let permit = self.permit().await?;
        let (activity, close) = (Arc::new(Activity::default()), closing.child_token());
        let mut open = self.0.open.lock();
        let number = open.next;
        open.next += 1;
        open.taken.insert(number, Connection { activity: activity.clone(), close: close.clone() });
        Some(Place { number, places: self.0.clone(), _permit: permit, activity, close })
    }

    /// A place for a request beside others on the same connection; `None` if there was none in time.
    pub(super) async fn take_for_stream(&self) -> Option<OwnedSemaphorePermit> {
        let free = &self.0.free;
        if let Ok(permit) = free.clone().try_acquire_owned() {
            return Some(permit);
        }
        // By the end of the first wait the senders of this connection's other requests are known: they began with this
        // one, and it should not be closed as one that nobody has identified themselves on.
        if let Ok(permit) = tokio::time::timeout(LOOK_AGAIN, free.clone().acquire_owned()).await {
            return permit.ok();
        }
        tokio::time::timeout(STREAM_TIMEOUT, self.permit()).await.ok().flatten()
    }

    async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        let free = &self.0.free;
        if let Ok(permit) = free.clone().try_acquire_owned() {
            return Some(permit);
        }
        loop {
            self.0.close_one();
            // Closing takes a moment. What frees a place meanwhile is as welcome.
            if let Ok(permit) = tokio::time::timeout(LOOK_AGAIN, free.clone().acquire_owned()).await {
                return permit.ok();
            }
        }
    }
}

impl Places {
    /// Looks through all connections, but only when every place is taken.
    fn close_one(&self) {
        let open = self.open.lock();
        let candidates: Vec<_> = open.taken.values().filter(|connection| !connection.close.is_cancelled()).collect();
        let mut held: HashMap<Principal, usize> = HashMap::new();
        let states: Vec<_> = candidates.iter().map(|connection| connection.activity.snapshot()).collect();
        for (serving, _, principal) in &states {
            if let Some(principal) = principal {
                *held.entry(principal.clone()).or_default() += (*serving).max(1);
            }
        }
        // Without tokens all clients are the same principal, which may use all places.
        let over = |principal: &Principal| !principal.is_local() && held.get(principal) > Some(&(self.most / 2));
        let rank = |serving: usize, principal: Option<&Principal>| match (serving > 0, principal) {
            (false, None) => Some(0),
            (false, Some(_)) => Some(1),
            (true, None) => Some(2),
            (true, Some(principal)) => over(principal).then_some(3),
        };
        let first = candidates
            .into_iter()
            .zip(&states)
            .filter_map(|(connection, (serving, since, principal))| {
                Some((rank(*serving, principal.as_ref())?, *since, connection))
            })
            .min_by_key(|(rank, since, _)| (*rank, *since));
        if let Some((_, _, connection)) = first {
            connection.close.cancel();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.open.lock().taken.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks for a place while all are taken, once; which of the others have been told to close.
    async fn closed_for_another<const N: usize>(limit: &ConnectionLimit, places: &[Place; N]) -> [bool; N] {
        let _ = tokio::time::timeout(LOOK_AGAIN / 2, limit.take(&CancellationToken::new())).await;
        places.each_ref().map(|place| place.close.is_cancelled())
    }

    async fn take(limit: &ConnectionLimit) -> Place {
        // So that no two of them are of the same age.
        tokio::time::sleep(Duration::from_secs(1)).await;
        limit.take(&CancellationToken::new()).await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn idle_and_unidentified_connections_are_closed_first() {
        let (limit, ann) = (ConnectionLimit::new(4), Principal::new("https://issuer", "ann"));
        let places = [take(&limit).await, take(&limit).await, take(&limit).await, take(&limit).await];
        let [busy, idle, unidentified, _unknown] = &places;
        busy.activity.identified(&ann);
        idle.activity.identified(&ann);
        let _serving = [busy.activity.serve(), unidentified.activity.serve()];
        assert_eq!(closed_for_another(&limit, &places).await, [false, false, false, true]);
        assert_eq!(closed_for_another(&limit, &places).await, [false, true, false, true]);
        assert_eq!(closed_for_another(&limit, &places).await, [false, true, true, true]);
        assert_eq!(closed_for_another(&limit, &places).await, [false, true, true, true], "a known request goes on");
    }

    #[tokio::test(start_paused = true)]
    async fn a_principal_with_more_than_half_of_the_places_makes_room_for_another() {
        let (limit, bob) = (ConnectionLimit::new(3), Principal::new("https://issuer", "bob"));
        let places = [take(&limit).await, take(&limit).await, take(&limit).await];
        let ann = Principal::new("https://issuer", "ann");
        for (place, principal) in places.iter().zip([&ann, &bob, &bob]) {
            place.activity.identified(principal);
        }
        let _serving = places.each_ref().map(|place| place.activity.serve());
        assert_eq!(closed_for_another(&limit, &places).await.iter().filter(|told| **told).count(), 1);
        assert!(!places[0].close.is_cancelled(), "it has no more than its half");
    }

    #[tokio::test(start_paused = true)]
    async fn requests_on_one_connection_take_places_as_connections_do() {
        let (limit, ann) = (ConnectionLimit::new(4), Principal::new("https://issuer", "ann"));
        let places = [take(&limit).await, take(&limit).await];
        let [busy, other] = &places;
        let streams: Vec<_> = (0..3).map(|_| busy.activity.stream()).collect();
        let serving: Vec<_> = streams.iter().map(Activity::serve).collect();
        assert_eq!(serving.iter().map(|serving| serving.others).collect::<Vec<_>>(), [0, 1, 2]);
        let permits = [limit.take_for_stream().await.unwrap(), limit.take_for_stream().await.unwrap()];
        streams[0].identified(&ann);
        other.activity.identified(&ann);
        let _other = other.activity.serve();
        let (_, since, principal) = busy.activity.snapshot();
        assert_eq!(principal, Some(ann), "the connection is told");
        assert!(streams[1].principal().is_none(), "another stream is not");
        assert_eq!(
            closed_for_another(&limit, &places).await,
            [true, false],
            "three of four places are one principal's"
        );
        assert!(limit.take_for_stream().await.is_none());
        drop(permits);
        assert!(limit.take_for_stream().await.is_some());
        drop(serving);
        let (still, idle_since, _) = busy.activity.snapshot();
        assert!(still == 0 && idle_since > since);
    }

    #[tokio::test(start_paused = true)]
    async fn a_place_is_free_again_when_its_connection_ends() {
        let limit = ConnectionLimit::new(1);
        let place = take(&limit).await;
        place.activity.identified(&Principal::local());
        let serving = place.activity.serve();
        let waiting = tokio::spawn({
            let limit = limit.clone();
            async move { limit.take(&CancellationToken::new()).await.is_some() }
        });
        tokio::time::sleep(10 * LOOK_AGAIN).await;
        assert!(!waiting.is_finished() && !place.close.is_cancelled());
        drop((serving, place));
        assert!(waiting.await.unwrap());
    }
}
