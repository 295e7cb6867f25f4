//! How far long work is, on standard error: for a person at a terminal, and for nobody else.

use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mainstay_tools::code::Progress;

/// Does long work; on a terminal, shows its progress on standard error, counted in `unit`.
pub(super) fn with_progress<T>(doing: &str, unit: &str, work: impl FnOnce(&Progress) -> T) -> T {
    let progress = Progress::default();
    if !std::io::stderr().is_terminal() {
        return work(&progress);
    }
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let display = scope.spawn(|| show_progress(doing, unit, &progress, &is_done));
        let result = work(&progress);
        is_done.store(true, Ordering::Relaxed);
        display.thread().unpark();
        result
    })
}

/// Rewrites one line until the work is done, and clears it at the end.
fn show_progress(doing: &str, unit: &str, progress: &Progress, is_done: &AtomicBool) {
    const INTERVAL: Duration = Duration::from_millis(100);
    let mut is_shown = false;
    loop {
        std::thread::park_timeout(INTERVAL);
        if is_done.load(Ordering::Relaxed) {
            break;
        }
        let shown = match progress.so_far() {
            // Nothing is worth a line yet.
            (0, None) => continue,
            (done, None) => format!("{done} {unit}"),
            (done, Some(total)) => format!("{} {done} of {total} {unit}", bar(done, total)),
        };
        let _ = write!(std::io::stderr(), "\r{doing}: {shown}");
        is_shown = true;
    }
    if is_shown {
        let _ = write!(std::io::stderr(), "\r\u{1b}[K");
    }
}

/// A bar of fixed width.
fn bar(done: u64, total: u64) -> String {
    const CELLS: u64 = 24;
    let full = (done.min(total) * CELLS).checked_div(total).unwrap_or(0);
    let cells: String = (0..CELLS).map(|cell| if cell < full { '#' } else { '.' }).collect();
    format!("[{cells}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_fills_with_the_work_and_not_beyond() {
        assert_eq!(bar(0, 4), "[........................]");
        assert_eq!(bar(1, 4), "[######..................]");
        assert_eq!((bar(4, 4), bar(9, 4), bar(0, 0).len()), (format!("[{}]", "#".repeat(24)), bar(4, 4), 26));
    }
}
