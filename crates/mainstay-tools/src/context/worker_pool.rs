//! Work on many documents, spread over all cores.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use mainstay_core::{Error, Result};

use crate::progress::Progress;

/// Documents that a thread takes at once.
const PIECE: usize = 32;

pub(crate) fn hands() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Does something for every number below `count` and gives what came of it, in order; or the first failure there was.
pub(crate) fn for_each<T: Send>(
    count: usize,
    progress: &Progress,
    work: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let failed: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    let one_after_the_other = || {
        let mut done: Vec<(usize, Vec<T>)> = Vec::new();
        loop {
            let from = next.fetch_add(PIECE, Ordering::Relaxed);
            if from >= count {
                return done;
            }
            let mut piece = Vec::with_capacity(PIECE);
            for nth in from..count.min(from + PIECE) {
                match progress.check().and_then(|()| work(nth)) {
                    Ok(value) => piece.push(value),
                    Err(error) => {
                        next.store(count, Ordering::Relaxed);
                        let mut failed = failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                        if failed.as_ref().is_none_or(|(earlier, _)| nth < *earlier) {
                            *failed = Some((nth, error));
                        }
                        return done;
                    }
                }
            }
            progress.add(piece.len());
            done.push((from, piece));
        }
    };
    let threads = hands().min(count.div_ceil(PIECE));
    let mut done = if threads <= 1 {
        one_after_the_other()
    } else {
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(one_after_the_other)).collect();
            let mut done = one_after_the_other();
            for other in others {
                done.extend(other.join().map_err(|_| panicked())?);
            }
            Ok::<_, Error>(done)
        })?
    };
    if let Some((_, error)) = failed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        return Err(error);
    }
    done.sort_unstable_by_key(|(from, _)| *from);
    Ok(done.into_iter().flat_map(|(_, piece)| piece).collect())
}

/// Does something for every number below `count`, each on a thread of its own.
pub(crate) fn on_threads<T: Send>(count: usize, work: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|nth| scope.spawn(move || work(nth))).collect();
        threads.into_iter().map(|thread| thread.join().map_err(|_| panicked())?).collect()
    })
}

/// Whether something holds for every number below `count`.
pub(crate) fn all(count: usize, holds: impl Fn(usize) -> bool + Sync) -> bool {
    /// Below this a second thread costs more than it saves.
    const WORTH: usize = 2048;
    let threads = if count < WORTH { 1 } else { hands() };
    let part = count.div_ceil(threads).max(1);
    let holds_in = |nth: usize| (nth * part..count.min((nth + 1) * part)).all(&holds);
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|nth| scope.spawn(move || holds_in(nth))).collect();
        holds_in(0) & others.into_iter().all(|other| other.join().unwrap_or(false))
    })
}

fn panicked() -> Error {
    Error::internal("a thread that worked on documents panicked")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_done_once_and_stays_in_order() {
        for count in [0, 1, PIECE, PIECE + 1, 1000] {
            let progress = Progress::default();
            let done = for_each(count, &progress, Ok).unwrap();
            assert_eq!(done, (0..count).collect::<Vec<_>>());
            assert_eq!(progress.so_far().0, count as u64);
        }
    }

    #[test]
    fn what_holds_for_all_but_one_does_not_hold_for_all() {
        for count in [0, 1, 5000] {
            assert!(all(count, |_| true));
            for exception in [0, count / 2, count.saturating_sub(1)].into_iter().filter(|nth| *nth < count) {
                assert!(!all(count, |nth| nth != exception), "{exception} of {count}");
            }
        }
    }

    #[test]
    fn a_failure_ends_it() {
        let work = |nth| if nth == 700 { Err(Error::invalid("seven hundred")) } else { Ok(nth) };
        assert_eq!(for_each(100_000, &Progress::default(), work).unwrap_err().public, "seven hundred");
    }

    #[test]
    fn nothing_is_done_for_nobody() {
        let progress = Progress::default();
        progress.cancel();
        assert!(for_each(10, &progress, Ok).is_err());
    }
}
