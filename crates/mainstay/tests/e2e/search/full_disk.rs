//! No space for the index, or no permission to write it.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::sources::{Sources, best, mira, ok};
use crate::PROGRAM;
use crate::testing::program::Server;

/// A file system of this size for the indexes, in bytes.
const SIZE: usize = 2 << 20;

/// Starts the server with a small file system of its own for indexes, after `prepare` ran in it. Without namespaces of the
/// kernel there is none: then the test is skipped on a developer's machine, and fails in CI.
fn server_on_small_disk(sources: &Sources, prepare: &str) -> Option<(Server, PathBuf)> {
    let search = sources.data().join("search");
    std::fs::create_dir_all(&search).unwrap();
    let script = format!(
        "mount -t tmpfs -o size={SIZE} tmpfs . && {{ {prepare}; }} && echo $$ > ../../pid && cd / && exec \"$@\""
    );
    let unshared = || {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c"]).current_dir(&search);
        command
    };
    let is_possible = unshared().arg("mount -t tmpfs tmpfs .").status().is_ok_and(|status| status.success());
    if !is_possible {
        assert!(std::env::var_os("CI").is_none(), "unshare cannot mount a file system");
        return None;
    }
    let mut command = unshared();
    command.arg(script).arg("sh").arg(PROGRAM);
    let server = Server::from(sources.command_with(command, &["serve", "--listen", "127.0.0.1:0"], &sources.data()));
    let pid = std::fs::read_to_string(sources.around().join("pid")).unwrap();
    let seen = PathBuf::from(format!("/proc/{}/root{}", pid.trim(), search.display()));
    Some((server, seen))
}

fn fill(seen: &std::path::Path, left: usize) {
    let used: u64 = walk(seen).iter().map(|path| path.metadata().unwrap().len().next_multiple_of(4096)).sum();
    let ballast = SIZE - usize::try_from(used).unwrap() - left;
    std::fs::write(seen.join("ballast"), vec![1; ballast]).unwrap();
}

fn walk(directory: &std::path::Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() { files.extend(walk(&entry)) } else { files.push(entry) }
    }
    files
}

#[test]
fn a_full_disk_is_error_1010_and_the_server_goes_on_once_there_is_space() {
    let sources = Sources::many(30);
    let Some((server, seen)) = server_on_small_disk(&sources, "true") else { return };
    let mut http = server.connect();

    // In the first build.
    fill(&seen, 32 << 10);
    let (code, error) = mira(&mut http, "vector/search", &json!({"query": "mix_colours"}));
    assert_eq!(code, 1010, "{error}");
    assert!(error["data"]["detail"].as_str().unwrap().contains("No space"), "{error}");
    // The rest of the server works.
    ok(&mut http, "files_read", &json!({"path": "src/colour.rs"}));
    // Nothing half done takes the little space that is left.
    assert!(walk(&seen).iter().all(|path| path.extension().is_none_or(|extension| extension != "new")));
    std::fs::remove_file(seen.join("ballast")).unwrap();
    assert_eq!(best(&mut http, "mix_colours"), "src/colour.rs");

    // When a change is indexed. It is not lost.
    fill(&seen, 0);
    sources.write("src/colour.rs", "/// Feeds a dragon with coal.\npub fn feed_dragon() {}\n");
    let (code, error) = mira(&mut http, "vector/search", &json!({"query": "feed a dragon"}));
    assert_eq!(code, 1010, "{error}");
    assert!(error["data"]["detail"].as_str().unwrap().contains("No space"), "{error}");
    std::fs::remove_file(seen.join("ballast")).unwrap();
    assert_eq!(best(&mut http, "feed a dragon"), "src/colour.rs");
}

#[test]
fn an_index_directory_that_cannot_be_written_is_error_1010() {
    let sources = Sources::sample();
    let Some((server, _)) = server_on_small_disk(&sources, "mount -o remount,ro .") else { return };
    let mut http = server.connect();
    let (code, error) = mira(&mut http, "vector/search", &json!({"query": "mix_colours"}));
    assert_eq!(code, 1010, "{error}");
    assert!(error["data"]["detail"].as_str().unwrap().contains("permissions"), "{error}");
    ok(&mut http, "files_read", &json!({"path": "src/colour.rs"}));
}
