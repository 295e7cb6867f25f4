//! Long work seen from outside: how far it is, and whether anybody still waits for it.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mainstay_core::{CancellationToken, Context, Error, Kind, Result};

use crate::files::blocking;

#[derive(Debug, Clone, Default)]
pub struct Progress {
    cancel: CancellationToken,
    done: Arc<AtomicU64>,
    /// Nothing as long as it is not known.
    total: Arc<AtomicU64>,
}

impl Progress {
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::new(Kind::Cancelled, "The call was cancelled.")) } else { Ok(()) }
    }

    #[cfg(test)]
    pub(crate) fn cancel(&self) {
        self.cancel.cancel();
    }

    pub(crate) fn add(&self, done: usize) {
        self.done.fetch_add(done as u64, Ordering::Relaxed);
    }

    pub(crate) fn expect(&self, total: usize) {
        self.total.store(total as u64, Ordering::Relaxed);
    }

    /// How much is done, and of how much if that is known.
    pub fn so_far(&self) -> (u64, Option<u64>) {
        let total = self.total.load(Ordering::Relaxed);
        (self.done.load(Ordering::Relaxed), Some(total).filter(|total| *total > 0))
    }
}

/// Does long work where waiting hurts nobody, and tells the caller every second how far it is, counting in `unit`. It
/// stops when the call is cancelled or nobody waits for it any more.
pub(crate) async fn watched<T: Send + 'static>(
    context: &Context,
    unit: &str,
    work: impl FnOnce(Progress) -> Result<T> + Send + 'static,
) -> Result<T> {
    let progress = Progress { cancel: context.cancel.child_token(), ..Progress::default() };
    let _stops_with_this_call = progress.cancel.clone().drop_guard();
    let inner = progress.clone();
    let mut work = pin!(blocking(move || work(inner)));
    loop {
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep(Duration::from_secs(1)) => {
                let (done, total) = progress.so_far();
                context.progress(number(done), total.map(number), format!("{done} {unit}")).await;
            }
        }
    }
}

/// Does work that nobody is told the progress of. It stops when nobody waits for it any more, or at last by itself.
pub(crate) async fn unattended<T: Send + 'static>(
    work: impl FnOnce(Progress) -> Result<T> + Send + 'static,
) -> Result<T> {
    const LONGEST: Duration = Duration::from_secs(30);
    let progress = Progress::default();
    let _stops_with_this_call = progress.cancel.clone().drop_guard();
    let work = blocking(move || work(progress));
    let late = |_| Error::new(Kind::TimedOut, "It took too long to look.");
    tokio::time::timeout(LONGEST, work).await.map_err(late)?
}

fn number(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
