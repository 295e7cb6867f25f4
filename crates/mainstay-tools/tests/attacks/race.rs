//! A directory is replaced by a link out of the workspace, again and again, while files in it are read and written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mainstay_core::Kind;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

use crate::{Fixture, SECRET, call};

/// The variable that sets a longer run (`cargo xtask soak files`).
const OPERATIONS: &str = "MAINSTAY_SOAK_OPERATIONS";
const WORKERS: usize = 4;

#[derive(Default)]
struct Counts {
    inside: AtomicUsize,
    rejected: AtomicUsize,
    exchanged: AtomicUsize,
    over: AtomicBool,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_leaks_and_nothing_is_written_outside_while_a_directory_is_exchanged_for_a_link() {
    let operations: usize = std::env::var(OPERATIONS).ok().map_or(20_000, |count| count.parse().unwrap());
    let fixture = Arc::new(Fixture::in_memory().await);
    let (directory, link) = (fixture.inside.join("d"), fixture.inside.join("link"));
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("secret"), "inside").unwrap();
    std::os::unix::fs::symlink("../ws-evil", &link).unwrap();
    let counts = Arc::new(Counts::default());
    let swapper = std::thread::spawn({
        let counts = counts.clone();
        move || {
            while !counts.over.load(Ordering::Relaxed) {
                renameat_with(CWD, &directory, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                counts.exchanged.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let workers: Vec<_> =
        (0..WORKERS).map(|_| tokio::spawn(work(fixture.clone(), counts.clone(), operations / WORKERS))).collect();
    for worker in workers {
        worker.await.unwrap();
    }
    counts.over.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    fixture.assert_outside_unchanged();
    let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    println!(
        "{operations} operations, {} exchanges: {} inside, {} rejected, 0 leaks, 0 outside writes",
        count(&counts.exchanged),
        count(&counts.inside),
        count(&counts.rejected)
    );
    assert!(count(&counts.inside) > 0 && count(&counts.rejected) > 0, "there was no race");
}

async fn work(fixture: Arc<Fixture>, counts: Arc<Counts>, operations: usize) {
    let (read, write) = (fixture.tool("files_read"), fixture.tool("files_write"));
    for n in 0..operations {
        let result = if n % 4 == 3 {
            call(&*write, json!({"path": "d/written", "content": "x", "overwrite": true})).await
        } else {
            call(&*read, json!({"path": "d/secret"})).await
        };
        match result {
            Ok(reply) => {
                let text = reply.structured.unwrap().to_string();
                assert!(!text.contains(SECRET), "a read leaked");
                counts.inside.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => {
                // Found to be outside, or replaced too often; never an internal error.
                assert!(
                    matches!(error.kind, Kind::Invalid | Kind::Conflict | Kind::NotFound),
                    "{error} {:?}",
                    error.detail
                );
                counts.rejected.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}
