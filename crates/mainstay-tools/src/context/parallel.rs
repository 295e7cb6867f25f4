//! Work on many documents, spread over all cores. rayon's pool belongs to the whole process, so however many calls work
//! on caches at once, no more threads than cores do.

use mainstay_core::Result;
use rayon::iter::{IndexedParallelIterator as _, IntoParallelIterator as _, ParallelIterator as _};

use crate::progress::Progress;

/// The number of threads that work at once.
pub(crate) use rayon::current_num_threads as threads;
/// Runs two closures, at the same time if a thread is free.
pub(crate) use rayon::join;

/// Documents that one thread takes at a time. Work on fewer than twice as many stays on the calling thread.
const CHUNK: usize = 32;

/// Calls `work` with every number below `count` and returns the results in order, or one of the errors there were.
/// Reports progress, and stops early when the call is cancelled.
pub(crate) fn map_documents<T: Send>(
    count: usize,
    progress: &Progress,
    work: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let work = |nth: usize| {
        progress.check()?;
        let result = work(nth)?;
        progress.add(1);
        Ok(result)
    };
    (0..count).into_par_iter().with_min_len(CHUNK).map(work).collect()
}

/// Runs `work` on a thread of the pool, for one that spreads several parts of itself over all threads: from outside of the
/// pool, each part would wake threads and put them to sleep again.
pub(crate) fn in_pool<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    rayon::scope(|_| work())
}

/// The same for a few large parts of the work, which report their progress and check for cancellation themselves.
pub(crate) fn map_parts<T: Send>(count: usize, work: impl Fn(usize) -> Result<T> + Sync + Send) -> Result<Vec<T>> {
    (0..count).into_par_iter().map(work).collect()
}

/// Whether `holds` is true for every number below `count`.
pub(crate) fn all(count: usize, holds: impl Fn(usize) -> bool + Sync + Send) -> bool {
    /// A call of `holds` is one `stat`; below twice this number a second thread costs more than it saves.
    const MIN_CHECKS: usize = 1024;
    (0..count).into_par_iter().with_min_len(MIN_CHECKS).all(holds)
}

#[cfg(test)]
mod tests {
    use mainstay_core::Error;

    use super::*;

    #[test]
    fn every_number_is_processed_once_and_results_are_in_order() {
        for count in [0, 1, CHUNK, CHUNK + 1, 1000] {
            let progress = Progress::default();
            let results = map_documents(count, &progress, Ok).unwrap();
            assert_eq!(results, (0..count).collect::<Vec<_>>());
            assert_eq!(progress.so_far().0, count as u64);
        }
    }

    #[test]
    fn one_exception_anywhere_is_found() {
        for count in [0, 1, 5000] {
            assert!(all(count, |_| true));
            for exception in [0, count / 2, count.saturating_sub(1)].into_iter().filter(|nth| *nth < count) {
                assert!(!all(count, |nth| nth != exception), "{exception} of {count}");
            }
        }
    }

    #[test]
    fn an_error_ends_the_work() {
        let work = |nth| if nth == 700 { Err(Error::invalid("seven hundred")) } else { Ok(nth) };
        assert_eq!(map_documents(100_000, &Progress::default(), work).unwrap_err().public, "seven hundred");
    }

    #[test]
    fn cancelled_work_is_not_done() {
        let progress = Progress::default();
        progress.cancel();
        assert!(map_documents(10, &progress, Ok).is_err());
    }
}
