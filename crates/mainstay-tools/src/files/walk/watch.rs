//! A walk seen from outside: how far it is, and whether anybody still waits for it.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mainstay_core::{CancellationToken, Context, Result};

use crate::files::blocking;

#[derive(Debug, Clone, Default)]
pub(crate) struct Watch {
    cancel: CancellationToken,
    seen: Arc<AtomicU64>,
}

impl Watch {
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    #[cfg(test)]
    pub(crate) fn cancel(&self) {
        self.cancel.cancel();
    }

    pub(crate) fn add(&self, entries: usize) {
        self.seen.fetch_add(entries as u64, Ordering::Relaxed);
    }

    fn seen(&self) -> u32 {
        u32::try_from(self.seen.load(Ordering::Relaxed)).unwrap_or(u32::MAX)
    }
}

/// Does long work where waiting hurts nobody, and tells the caller how far it is. It stops when the call is cancelled
/// or nobody waits for it any more.
pub(crate) async fn watched<T: Send + 'static>(
    context: &Context,
    work: impl FnOnce(Watch) -> Result<T> + Send + 'static,
) -> Result<T> {
    let watch = Watch { cancel: context.cancel.child_token(), seen: Arc::default() };
    let _stops_with_this_call = watch.cancel.clone().drop_guard();
    let inner = watch.clone();
    let mut work = pin!(blocking(move || work(inner)));
    loop {
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep(Duration::from_secs(1)) => {
                let seen = watch.seen();
                context.progress(f64::from(seen), None, format!("{seen} entries seen")).await;
            }
        }
    }
}
