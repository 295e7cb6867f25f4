//! Equal reads at the same time share one request.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::OnceCell;

/// Requests under way by key.
#[derive(Debug)]
pub(super) struct SingleFlight<T> {
    flights: Mutex<HashMap<String, Arc<OnceCell<T>>>>,
}

impl<T: Clone> SingleFlight<T> {
    pub(super) fn new() -> Self {
        Self { flights: Mutex::new(HashMap::new()) }
    }

    /// Does the work, or waits for the equal work of another caller. If that caller goes away, a waiting one takes over.
    pub(super) async fn run(&self, key: String, work: impl Future<Output = T>) -> T {
        let cell = Arc::clone(self.flights.lock().entry(key.clone()).or_default());
        let participant = Participant { flights: self, key, cell };
        participant.cell.get_or_init(|| work).await.clone()
    }
}

/// A caller that works or waits.
struct Participant<'a, T> {
    flights: &'a SingleFlight<T>,
    key: String,
    cell: Arc<OnceCell<T>>,
}

/// The first to leave after the work is done removes it, so that the next caller asks anew; so does the last of callers
/// that were all cancelled.
impl<T> Drop for Participant<'_, T> {
    fn drop(&mut self) {
        let mut flights = self.flights.flights.lock();
        let is_current = flights.get(&self.key).is_some_and(|cell| Arc::ptr_eq(cell, &self.cell));
        // Two references: the map's and this one. No other can appear while the map is locked.
        if is_current && (self.cell.initialized() || Arc::strong_count(&self.cell) <= 2) {
            flights.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test]
    async fn equal_work_at_the_same_time_is_done_once_and_later_work_again() {
        let (flight, runs) = (SingleFlight::new(), AtomicU32::new(0));
        let work = || async {
            tokio::task::yield_now().await;
            runs.fetch_add(1, Ordering::Relaxed)
        };
        let all = futures::future::join_all((0..10).map(|_| flight.run("a".to_owned(), work()))).await;
        assert_eq!(all, vec![0; 10]);
        assert_eq!(flight.run("a".to_owned(), work()).await, 1);
        assert!(flight.flights.lock().is_empty());
    }

    #[tokio::test]
    async fn if_the_working_caller_goes_away_a_waiting_one_takes_over() {
        let flight = SingleFlight::new();
        let first = flight.run("a".to_owned(), std::future::pending::<u32>());
        let second = flight.run("a".to_owned(), std::future::ready(2));
        tokio::pin!(second);
        {
            tokio::pin!(first);
            assert!(futures::poll!(&mut first).is_pending());
            assert!(futures::poll!(&mut second).is_pending());
        }
        assert_eq!(second.await, 2);
        assert!(flight.flights.lock().is_empty());
    }
}
