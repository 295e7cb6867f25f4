//! kill -9 during a build, and concurrent builds: the old cache or the new one exists, never half of one.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Mutex;

use crate::testing::context_caches::{COMMANDS, Caches, tree};
use crate::testing::program::wait_until;

/// So many that a build can be hit at many moments.
const DOCUMENTS: usize = 400;

fn caches() -> Caches {
    let caches = Caches::new();
    for (name, count) in [("old", 3), ("new", DOCUMENTS)] {
        let documents: Vec<(String, String)> =
            (0..count).map(|nth| (format!("{nth:04}.md"), format!("{name} {nth}"))).collect();
        let documents: Vec<(&str, &str)> =
            documents.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        caches.write(name, &documents);
    }
    caches
}

fn start(caches: &Caches, sources: &str, force: bool) -> Child {
    let mut command = caches.command(&COMMANDS[0]);
    command.args(["build", "--sources", &format!("sources/{sources}"), "--cache", "caches/guide"]);
    command.args(force.then_some("--force"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// How many files are in a directory and beneath it, while somebody is busy there.
fn files(directory: &Path) -> usize {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    let each = entries.flatten().map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => files(&entry.path()),
        Ok(_) | Err(_) => 1,
    });
    each.sum()
}

/// Kills a build once it has written so many files. Whether it was still at it.
fn kill_after(caches: &Caches, force: bool, written: usize) -> bool {
    let child = Mutex::new(start(caches, "new", force));
    let ended = || child.lock().unwrap().try_wait().unwrap().is_some();
    let staged = || caches.left_over().iter().map(|staging| files(staging)).sum::<usize>() >= written;
    wait_until(|| (!caches.left_over().is_empty() && staged()) || ended());
    let mut child = child.into_inner().unwrap();
    // No handler runs and nothing is flushed.
    let _ = child.kill();
    !child.wait().unwrap().success()
}

#[test]
fn after_kill_9_the_old_cache_is_complete_or_there_is_none() {
    let caches = caches();
    caches.build_as("old", "other");
    caches.build_as("new", "whole");
    let (old, new) = (tree(&caches.root().join("other")), tree(&caches.root().join("whole")));
    let mut killed = 0;
    for force in [false, true] {
        for round in 0..8 {
            let guide = caches.root().join("guide");
            if force {
                caches.build_as("old", "guide");
            }
            killed += usize::from(kill_after(&caches, force, round * DOCUMENTS / 7));
            let left = tree(&guide);
            let whole = if force { left == old || left == new } else { !guide.exists() || left == new };
            assert!(whole, "round {round}, force {force}: {} files", left.len());
            assert!(!guide.exists() || caches.verify("guide").0 == 0);
            caches.build_as("old", "guide");
            assert!(tree(&guide) == old && caches.left_over().is_empty(), "round {round}: {:?}", caches.left_over());
            fs::remove_dir_all(&guide).unwrap();
        }
    }
    assert!(killed > 7, "only {killed} builds were hit: the test tested little");
}

#[test]
fn leftovers_of_a_killed_build_are_no_cache_and_the_next_build_removes_them() {
    let caches = caches();
    caches.build_as("old", "other");
    let mut server = caches.server();
    let mut seen = false;
    for round in 0..20 {
        seen |= kill_after(&caches, false, round * 20 + 1) && !caches.left_over().is_empty();
        let listed: Vec<String> = server.list().into_iter().map(|(name, _)| name).collect();
        assert!(listed.iter().all(|name| ["guide", "other"].contains(&name.as_str())), "{listed:?}");
        if seen {
            break;
        }
        let _ = fs::remove_dir_all(caches.root().join("guide"));
    }
    assert!(seen, "no build was hit: the test tested nothing");
    caches.build_as("old", "guide");
    assert_eq!(caches.left_over(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn concurrent_builds_of_one_cache_leave_one_complete_result() {
    let caches = caches();
    caches.build_as("old", "other");
    caches.build_as("new", "whole");
    let (old, new) = (tree(&caches.root().join("other")), tree(&caches.root().join("whole")));
    for force in [true, false] {
        let _ = fs::remove_dir_all(caches.root().join("guide"));
        let builds: Vec<Child> = ["old", "new", "old", "new"].map(|sources| start(&caches, sources, force)).into();
        let codes: Vec<i32> = builds.into_iter().map(|mut build| build.wait().unwrap().code().unwrap()).collect();
        assert!(codes.contains(&0) && codes.iter().all(|code| [0, 6].contains(code)), "{codes:?}");
        assert!(
            force || codes.iter().filter(|code| **code == 0).count() == 1,
            "without force the first stays: {codes:?}"
        );
        let left = tree(&caches.root().join("guide"));
        assert!(left == old || left == new, "force {force}: {} files", left.len());
        assert_eq!(caches.left_over(), Vec::<std::path::PathBuf>::new(), "force {force}");
    }
}
