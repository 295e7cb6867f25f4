//! Runs long work on blocking threads.
//!
//! The work gets a [`Progress`]: it counts what it has done there and asks it whether to stop. The async side reports
//! the count to the client and cancels the work when the call is cancelled or dropped, so that no thread keeps working
//! for a client that has gone.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mainstay_core::{CancellationToken, Context, Error, Kind, Result};

/// How often a client is told how far the work is.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// The longest that work without a progress report may take.
const MAX_UNREPORTED: Duration = Duration::from_secs(30);

/// Counters and the cancellation of one piece of work, shared by all threads that do it.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    cancel: CancellationToken,
    done: Arc<AtomicU64>,
    /// 0 as long as the total is not known.
    total: Arc<AtomicU64>,
}

impl Progress {
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Counters of their own for a part of the work, which stops with the whole.
    pub(crate) fn part(&self) -> Self {
        Self { cancel: self.cancel.child_token(), ..Self::default() }
    }

    /// Resolves once the work is cancelled.
    pub(crate) async fn cancelled(&self) {
        self.cancel.cancelled().await;
    }

    /// Fails with [`Kind::Cancelled`] once the work is cancelled: for the `?` in a long loop.
    pub(crate) fn check(&self) -> Result<()> {
        check_cancelled(&self.cancel)
    }

    pub(crate) fn cancel(&self) {
        self.cancel.cancel();
    }

    pub(crate) fn add(&self, done: usize) {
        self.done.fetch_add(done as u64, Ordering::Relaxed);
    }

    pub(crate) fn expect(&self, total: usize) {
        self.total.store(total as u64, Ordering::Relaxed);
    }

    /// How much is done, and out of how much if that is known.
    pub fn so_far(&self) -> (u64, Option<u64>) {
        let total = self.total.load(Ordering::Relaxed);
        (self.done.load(Ordering::Relaxed), Some(total).filter(|total| *total > 0))
    }
}

/// Runs work that waits for the disk on a blocking thread: a thread of the async runtime would hold up other calls.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(Error::internal)?
}

/// Fails once the token is cancelled: for loops that have only the token of their call.
pub(crate) fn check_cancelled(cancel: &CancellationToken) -> Result<()> {
    if cancel.is_cancelled() { Err(Error::new(Kind::Cancelled, "The call was cancelled.")) } else { Ok(()) }
}

/// Runs long work on a blocking thread and reports its progress every second, counted in `unit`. The work is told to
/// stop when the call is cancelled or its future is dropped.
pub(crate) async fn run_with_progress<T: Send + 'static>(
    context: &Context,
    unit: &str,
    work: impl FnOnce(Progress) -> Result<T> + Send + 'static,
) -> Result<T> {
    run_reporting(context, unit, |progress| blocking(move || work(progress))).await
}

/// The same for work that waits for something else than the disk, such as a program's output.
pub(crate) async fn run_reporting<T, W: Future<Output = Result<T>>>(
    context: &Context,
    unit: &str,
    work: impl FnOnce(Progress) -> W,
) -> Result<T> {
    let progress = Progress { cancel: context.cancel.child_token(), ..Progress::default() };
    let _cancel_on_drop = progress.cancel.clone().drop_guard();
    let inner = progress.clone();
    let report = || {
        let (done, total) = progress.so_far();
        context.progress(number(done), total.map(number), format!("{done} {unit}"))
    };
    report_while(work(inner), REPORT_INTERVAL, report).await
}

/// Calls `report` regularly until the work is done. The work goes on while a report waits for a slow client.
pub(crate) async fn report_while<T, R: Future<Output = ()>>(
    work: impl Future<Output = T>,
    interval: Duration,
    report: impl Fn() -> R,
) -> T {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep(interval) => {}
        }
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = report() => {}
        }
    }
}

/// Runs work that reports no progress, for at most 30 seconds. It is told to stop when its future is dropped.
pub(crate) async fn run_with_timeout<T: Send + 'static>(
    work: impl FnOnce(Progress) -> Result<T> + Send + 'static,
) -> Result<T> {
    let progress = Progress::default();
    let _cancel_on_drop = progress.cancel.clone().drop_guard();
    let work = blocking(move || work(progress));
    let timed_out = |_| Error::new(Kind::TimedOut, "The request took too long.");
    tokio::time::timeout(MAX_UNREPORTED, work).await.map_err(timed_out)?
}

/// A count as the protocol's floating-point progress; past 2^32 its exact value tells nobody anything.
fn number(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
