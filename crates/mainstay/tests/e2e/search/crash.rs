//! kill -9 while an index is built: the next start gives the results of an undisturbed build.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;

use super::sources::{Sources, all_hits};
use crate::testing::program::wait_until;

/// So many that a build writes several segments, with the least memory that may be configured.
const FILES: usize = 500;
const SETTINGS: &str = "[search]\nmemory_bytes = 1048576\n";

/// What the index directory has when the process is killed, and how long after that.
const MOMENTS: [(&str, u64); 5] = [("lock", 0), ("new", 0), ("segment", 0), ("manifest", 10), ("manifest", 150)];

/// Waits for a file of this name or extension in the index directory. False if the process was faster.
fn wait_for(sources: &Sources, what: &str, child: &Mutex<Child>) -> bool {
    let search = sources.data().join("search");
    let is_there = || {
        let indexes = fs::read_dir(&search).into_iter().flatten().flatten().map(|entry| entry.path());
        let files = indexes.flat_map(|index| fs::read_dir(index).into_iter().flatten().flatten());
        let fits = |path: PathBuf| {
            path.file_name().is_some_and(|name| name == what)
                || path.extension().is_some_and(|extension| extension == what)
        };
        files.map(|entry| entry.path()).any(fits)
    };
    let ended = || child.lock().unwrap().try_wait().unwrap().is_some();
    wait_until(|| is_there() || ended());
    !ended()
}

/// Starts the command, kills it at the moment, and says whether it was still at it.
fn kill_at(sources: &Sources, args: &[&str], (what, millis): (&str, u64)) -> bool {
    let mut command = sources.command(args);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let child = Mutex::new(child);
    let was_running = wait_for(sources, what, &child);
    std::thread::sleep(Duration::from_millis(millis));
    let mut child = child.into_inner().unwrap();
    let _ = child.kill();
    !child.wait().unwrap().success() && was_running
}

#[test]
fn a_build_by_mainstay_index_that_was_killed_leaves_no_trace_in_results() {
    let sources = Sources::many(FILES);
    sources.configure(SETTINGS);
    let expected = sources.undisturbed();
    assert!(expected.iter().all(|hits| !hits.is_empty()));
    let mut killed = 0;
    for moment in MOMENTS {
        let _ = fs::remove_dir_all(sources.data().join("search"));
        killed += usize::from(kill_at(&sources, &["index"], moment));
        // Again, now in what the first one has left.
        killed += usize::from(kill_at(&sources, &["index", "--rebuild"], moment));
        assert_eq!(all_hits(&mut sources.stdio()), expected, "{moment:?}");
        // Parts of files are gone, and every segment that is left is named by the manifest.
        assert_eq!(sources.index_files("new"), Vec::<PathBuf>::new(), "{moment:?}");
        let manifest = fs::read_to_string(sources.index().join("manifest")).unwrap();
        for segment in sources.index_files("segment") {
            assert!(manifest.contains(segment.file_name().unwrap().to_str().unwrap()), "{moment:?}: {segment:?}");
        }
    }
    assert!(killed >= 4, "only {killed} builds were hit: the test tested little");
}

#[test]
fn a_server_that_was_killed_in_its_first_search_leaves_no_trace_in_results() {
    let sources = Sources::many(FILES);
    sources.configure(SETTINGS);
    let expected = sources.undisturbed();
    for moment in [MOMENTS[1], MOMENTS[3], MOMENTS[4]] {
        let _ = fs::remove_dir_all(sources.data().join("search"));
        let mut client = sources.stdio();
        client.send("vector_search", &json!({"query": "verify the signature of a token"}));
        let search = sources.data().join("search");
        let indexes = || fs::read_dir(&search).into_iter().flatten().flatten().map(|entry| entry.path());
        wait_until(|| indexes().any(|index| index.join("build.lock").exists()));
        if moment.0 == "manifest" {
            wait_until(|| indexes().any(|index| index.join("manifest").exists()));
        }
        std::thread::sleep(Duration::from_millis(moment.1));
        // Its `Drop` kills it with -9.
        drop(client);
        assert_eq!(all_hits(&mut sources.stdio()), expected, "{moment:?}");
    }
}
